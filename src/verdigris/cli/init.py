"""`tdd init`: show what will be written, ask, write it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from verdigris.cli.opening import PERSON, here, persons_only, project
from verdigris.cli.output import deny, say, show
from verdigris.core.errors import NotARepository, UserError

if TYPE_CHECKING:
    from verdigris.core.actions import Deny
    from verdigris.setup.plan import Scaffold
    from verdigris.views.lines import Line

AGENTS = ("claude",)


@click.command("init")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Connect a coding agent (claude).")
@click.option("--lang", metavar="NAME", help="Only the stacks of this language: python, node, rust, go, …")
@click.option(
    "--kata", metavar="PATH", help="The text that says what is to be built; scaffolds a project for it."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def command(agents: tuple[str, ...], lang: str | None, kata: str | None, *, yes: bool) -> int:
    """Set Verdigris up in this repository, and with --agent connect that coding agent (claude).

    Writes tdd.yaml, and records it with the tree as it stands in the log inside the git folder. With --kata,
    or with --lang python, rust or node in an empty folder, it makes what is missing of a project too: a git
    repository, a test that runs, formatter and linter, the kata. `tdd uninit` undoes it.
    """
    from verdigris.setup.plan import plan_scaffold

    _refuse_later(agents)
    if denial := _refusal():
        return deny(denial)
    if (scaffold := plan_scaffold(here(), lang, kata)) is not None:
        return _scaffolded(scaffold, agents, yes=yes)
    return _set_up(lang, agents, yes=yes)


def _refusal() -> Deny | None:
    try:
        return persons_only("init")
    except NotARepository:
        return None


def _set_up(lang: str | None, agents: tuple[str, ...], *, yes: bool) -> int:
    from verdigris.cli import setup as view
    from verdigris.setup.initialisation import carry_out, plan

    try:
        planned = plan(here(), lang=lang)
    except NotARepository as error:
        if any(here().iterdir()):
            raise
        hint = "`tdd init --lang NAME` (python, rust, node) makes a project here; or `git init` first"
        raise NotARepository(error.message, hint=hint) from None
    show([*view.plan_lines(planned), *view.gate_plan_lines(agents)], err=True)
    if not _agreed(yes=yes or not (planned.content is not None or agents)):
        return 1
    done = carry_out(planned, PERSON)
    show([*view.done_lines(done), *_installed(agents)])
    return 0


def _scaffolded(scaffold: Scaffold, agents: tuple[str, ...], *, yes: bool) -> int:
    from verdigris.cli import scaffold as view
    from verdigris.cli.setup import gate_plan_lines
    from verdigris.setup.making import make

    show([*view.plan_lines(scaffold), *gate_plan_lines(agents)], err=True)
    if not _agreed(yes=yes or not (scaffold.changes or agents)):
        return 1
    made = make(scaffold, PERSON)
    show([*view.done_lines(made, scaffold), *_installed(agents)])
    return 0


def _agreed(*, yes: bool) -> bool:
    if yes or not sys.stdin.isatty() or click.confirm("write this?", default=True, err=True):
        return True
    say("nothing was written")
    return False


def _installed(agents: tuple[str, ...]) -> list[Line]:
    if not agents:
        return []
    from verdigris.cli import setup as view
    from verdigris.gates.clients.claude.install import install

    return view.gate_lines(install(project()))


def _refuse_later(agents: tuple[str, ...]) -> None:
    if later := [agent for agent in agents if agent not in AGENTS]:
        raise UserError(
            f"this version cannot connect {', '.join(later)} yet.",
            hint="`tdd init --agent claude`, or without --agent: `tdd test` and `tdd settle` serve any agent",
        )
