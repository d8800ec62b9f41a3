"""`tdd holdout add | release | list`: a person takes tests out of sight, and gives them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import here, persons_only, project
from verdigris.cli.context import paths as complete_paths
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny
from verdigris.views.lines import Line, count_of, visible

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group("holdout")
def command() -> None:
    """Tests that only verdicts run, and whose output nobody sees."""


@command.command("add")
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


@command.command("release")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
def release(paths: tuple[str, ...]) -> int:
    """Bring held-out tests back into the tree. Exit code: 0, or 3 denied."""
    from verdigris.turns.person import release

    if denial := persons_only("holdout"):
        return deny(denial)
    answer = release(project(), paths, cwd=here())
    return deny(answer) if isinstance(answer, Deny) else _show_paths("released", answer)


@command.command("list")
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
