"""`tdd init`: show what will be written, ask, write it."""

from __future__ import annotations

import sys

import click

from verdigris.cli.opening import PERSON, here
from verdigris.cli.output import say, show
from verdigris.core.errors import UserError


@click.command("init")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Put a gate before a coding agent.")
@click.option("--lang", metavar="NAME", help="The language, where it cannot be told: python.")
@click.option("--kata", metavar="PATH", help="Scaffold a kata.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def command(agents: tuple[str, ...], lang: str | None, kata: str | None, *, yes: bool) -> int:
    """Set Verdigris up in this repository.

    Writes tdd.yaml, and records it with the tree as it stands in the log inside the git folder. `tdd uninit`
    undoes it.
    """
    from verdigris.kernel.setup import carry_out, plan
    from verdigris.views import setup as view

    _refuse_later(agents, lang, kata)
    planned = plan(here(), lang=lang)
    show(view.plan_lines(planned), err=True)
    asks = planned.content is not None and not yes and sys.stdin.isatty()
    if asks and not click.confirm("write this?", default=True, err=True):
        say("nothing was written")
        return 1
    show(view.done_lines(carry_out(planned, PERSON)))
    return 0


def _refuse_later(agents: tuple[str, ...], lang: str | None, kata: str | None) -> None:
    if agents:
        raise UserError(
            f"gates before agents ({', '.join(agents)}) are not in this version yet.",
            hint="`tdd init` without --agent; the agent then uses `tdd test`, `tdd claim`, `tdd settle`",
        )
    if kata is not None:
        raise UserError("katas are not in this version yet.", hint="`tdd init` without --kata")
    if lang not in {None, "python"}:
        raise UserError(f"{lang} is not supported by this version yet.", hint="`tdd init --lang python`")
