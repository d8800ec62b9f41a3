"""`tdd init`: show what will be written, ask, write it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from verdigris.cli.opening import PERSON, here, persons_only, project
from verdigris.cli.output import deny, say, show
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from verdigris.views.line import Line

AGENTS = ("claude",)


@click.command("init")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Put a gate before a coding agent.")
@click.option("--lang", metavar="NAME", help="The language, where it cannot be told: python.")
@click.option("--kata", metavar="PATH", help="Scaffold a kata.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def command(agents: tuple[str, ...], lang: str | None, kata: str | None, *, yes: bool) -> int:
    """Set Verdigris up in this repository, and with --agent a gate before that coding agent (claude).

    Writes tdd.yaml, and records it with the tree as it stands in the log inside the git folder. `tdd uninit`
    undoes it.
    """
    from verdigris.kernel.setup import carry_out, plan
    from verdigris.views import setup as view

    _refuse_later(agents, lang, kata)
    if denial := persons_only("init"):
        return deny(denial)
    planned = plan(here(), lang=lang)
    show([*view.plan_lines(planned), *view.gate_plan_lines(agents)], err=True)
    asks = bool(planned.content is not None or agents) and not yes and sys.stdin.isatty()
    if asks and not click.confirm("write this?", default=True, err=True):
        say("nothing was written")
        return 1
    done = carry_out(planned, PERSON)
    show([*view.done_lines(done), *_installed(agents)])
    return 0


def _installed(agents: tuple[str, ...]) -> list[Line]:
    if not agents:
        return []
    from verdigris.gates.claude.install import install
    from verdigris.views import setup as view

    return view.gate_lines(install(project()))


def _refuse_later(agents: tuple[str, ...], lang: str | None, kata: str | None) -> None:
    if later := [agent for agent in agents if agent not in AGENTS]:
        raise UserError(
            f"a gate before {', '.join(later)} is not in this version yet.",
            hint="`tdd init --agent claude`, or without --agent: `tdd test` and `tdd settle` serve any agent",
        )
    if kata is not None:
        raise UserError("katas are not in this version yet.", hint="`tdd init` without --kata")
    if lang not in {None, "python"}:
        raise UserError(f"{lang} is not supported by this version yet.", hint="`tdd init --lang python`")
