"""`tdd off --why WHY`: a person switches the laws off."""

from __future__ import annotations

import click

from verdigris.cli import on as view
from verdigris.cli.context import persons_only, project
from verdigris.cli.output import deny, show
from verdigris.views.lines import Line


@click.command("off")
@click.option("--why", required=True, help="The reason; recorded in the log.")
def command(why: str) -> int:
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
    show(view.switched_lines(opened.state()))
    if cycle is not None:
        show([Line(f"the cycle {cycle.id} on {cycle.spec_id} ended with that; start it anew after `tdd on`")])
    return 0
