"""A claim that was made, and what came back with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.policy import next_move
from verdigris.views.line import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.kernel.claiming import Claimed


def lines(claimed: Claimed, state: WorktreeState) -> list[Line]:
    found = [Line(f"claimed {claimed.test_id} → {', '.join(claimed.targets)}; phase {state.phase}", "red")]
    if claimed.restored:
        found.append(Line(f"laid on again: {', '.join(claimed.restored)}"))
    found += [
        Line(f"still aside: {i} conflicts with the tree (`tdd restore {i}`)") for i in claimed.held_back
    ]
    return [*found, Line(f"next: {next_move(state)}")]


def document(claimed: Claimed, state: WorktreeState) -> dict[str, Any]:
    return {
        "claimed": claimed.test_id,
        "targets": list(claimed.targets),
        "restored": list(claimed.restored),
        "held_back": list(claimed.held_back),
        "phase": state.phase.value,
        "next": next_move(state),
    }
