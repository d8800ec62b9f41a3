"""`tdd off --why WHY`: a person switches the laws off."""

from __future__ import annotations

import click

from verdigris.cli import on as view
from verdigris.cli.context import persons_only, project
from verdigris.cli.output import deny, show


@click.command("off")
@click.option("--why", required=True, help="The reason; recorded in the log.")
def command(why: str) -> int:
    """Switch the laws off in this worktree. An open turn ends without a verdict; its edits stay."""
    from verdigris.turns.switches import switch_off

    if denial := persons_only("off"):
        return deny(denial)
    opened = project()
    if denial := switch_off(opened, why):
        return deny(denial)
    show(view.switched_lines(opened.state()))
    return 0
