"""A reported test-bug, and where the turn's edits went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.policy import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.turns.test_bug import Reported


def lines(reported: Reported, state: WorktreeState) -> list[Line]:
    found = [Line(f"test-bug {reported.bug} recorded at {', '.join(reported.places)}; phase {state.phase}")]
    if reported.aside and reported.paths:
        paths = ", ".join(reported.paths)
        found.append(Line(f"set aside as {reported.aside}, comes back with the next claim: {paths}"))
    return [*found, Line(f"next: {next_move(state)}")]
