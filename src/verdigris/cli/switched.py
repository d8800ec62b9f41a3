"""The phase after a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.policy import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState


def lines(state: WorktreeState) -> list[Line]:
    why = f": {state.off_why}" if state.off_why else ""
    return [Line(f"phase {state.phase}{why}"), Line(f"next: {next_move(state)}")]
