"""`tdd on`: a person switches the laws on again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import persons_only, project
from verdigris.cli.output import deny, show
from verdigris.core.policy.next_move import next_move
from verdigris.core.state import Phase
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState


@click.command("on")
def command() -> int:
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
