"""`tdd off`, `on`, `revise`, `holdout`: what only a person does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import (
    deny,
    here,
    json_option,
    persons_only,
    project,
    show,
    show_json,
    tests_and_paths,
)
from verdigris.cli.context import paths as complete_paths
from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import next_move
from verdigris.core.state import Phase
from verdigris.views.lines import Line, count_of, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import WorktreeState


@click.command("on")
def on_command() -> int:
    """Switch the laws on again; the tree as it stands is the new baseline."""
    from verdigris.turns.person import switch_on

    if denial := persons_only("on"):
        return deny(denial)
    opened = project()
    if opened.state().phase is not Phase.OFF:
        show([Line("the laws are on already"), *switched_lines(opened.state())])
        return 0
    if denial := switch_on(opened):
        return deny(denial)
    show(switched_lines(opened.state()))
    return 0


def switched_lines(state: WorktreeState) -> list[Line]:
    why = f": {state.off_why}" if state.off_why else ""
    return [Line(f"phase {state.phase}{why}"), Line(f"next: {next_move(state)}")]


@click.command("off")
@click.option("--why", required=True, help="The reason; recorded in the log.")
def off_command(why: str) -> int:
    """Switch the laws off in this worktree. An open turn ends without a verdict; its edits stay.

    An open cycle ends, too.
    """
    from verdigris.turns.person import switch_off

    if denial := persons_only("off"):
        return deny(denial)
    opened = project()
    cycle = opened.state().open_cycle
    if denial := switch_off(opened, why):
        return deny(denial)
    show(switched_lines(opened.state()))
    if cycle is not None:
        show([Line(f"the cycle {cycle.id} on {cycle.spec_id} ended with that; start it anew after `tdd on`")])
    return 0


@click.command("revise")
@click.argument("names", nargs=-1, required=True, metavar="TEST_ID|PATH...", shell_complete=tests_and_paths)
@click.option("--why", required=True, metavar="WHY", help="The reason; it stays in the log.")
def revise_command(names: tuple[str, ...], *, why: str) -> int:
    """Let tests be deleted, skipped or weakened, with a reason (a person's command)."""
    from verdigris.turns.person import revise

    if denial := persons_only("revise"):
        return deny(denial)
    show([Line(f"revised: {visible(name)}") for name in revise(project(), names, why)])
    return 0


@click.group("holdout")
def holdout_command() -> None:
    """Tests that only verdicts run, and whose output nobody sees."""


@holdout_command.command("add")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
def add(paths: tuple[str, ...]) -> int:
    """Take uncommitted test files out of the tree; settlements run them.

    A settlement that they do not pass is `overfit` and says no more than that. Exit code: 0, or 3 denied.
    """
    from verdigris.turns.person import hold_out

    if denial := persons_only("holdout"):
        return deny(denial)
    answer = hold_out(project(), paths, cwd=here())
    return deny(answer) if isinstance(answer, Deny) else _show_paths("held out", answer)


@holdout_command.command("release")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
def release(paths: tuple[str, ...]) -> int:
    """Bring held-out tests back into the tree. Exit code: 0, or 3 denied."""
    from verdigris.turns.person import release

    if denial := persons_only("holdout"):
        return deny(denial)
    answer = release(project(), paths, cwd=here())
    return deny(answer) if isinstance(answer, Deny) else _show_paths("released", answer)


@holdout_command.command("list")
@json_option
def list_(*, as_json: bool) -> int:
    """Name what is held out."""
    paths = list(project().state().held_out)
    if as_json:
        show_json({"held_out": paths})
    else:
        show([Line(visible(path)) for path in paths])
    return 0


def _show_paths(what: str, paths: Sequence[str]) -> int:
    show([Line(f"{what}: {count_of(len(paths), 'file')}"), *(Line(f"  {visible(path)}") for path in paths)])
    return 0
