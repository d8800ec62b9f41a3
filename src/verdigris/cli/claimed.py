"""A claim that was made, and what came back with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.policy import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.turns.claim import Claimed

_LISTED = 5


def lines(claimed: Claimed, state: WorktreeState) -> list[Line]:
    targets = ", ".join(_target(claimed, path) for path in claimed.targets)
    first, *others = claimed.test_ids
    if others:
        found = [Line(f"claimed {len(claimed.test_ids)} tests → {targets}; phase {state.phase}", "red")]
        found += [Line(f"  {test_id}") for test_id in claimed.test_ids[:_LISTED]]
        rest = len(claimed.test_ids) - _LISTED
        found += [Line(f"  and {rest} more")] if rest > 0 else []
    else:
        found = [Line(f"claimed {first} → {targets}; phase {state.phase}", "red")]
    if claimed.restored:
        found.append(Line(f"your edits are back: {', '.join(claimed.restored)}"))
    found += [
        Line(f"still set aside: {i} conflicts with the tree; merge it by hand (`tdd restore {i} --show`)")
        for i in claimed.held_back
    ]
    found += [Line(f"  concern: {concern}") for concern in claimed.concerns]
    return [*found, Line(f"next: {next_move(state)}")]


def _target(claimed: Claimed, path: str) -> str:
    if path == ".":
        return "all source"
    if path not in claimed.new:
        return path
    alike = claimed.alike.get(path)
    return f"{path} (new; did you mean {alike}?)" if alike else f"{path} (new)"


def document(claimed: Claimed, state: WorktreeState) -> dict[str, Any]:
    return {
        "claimed": claimed.test_ids[0],
        "tests": list(claimed.test_ids),
        "targets": list(claimed.targets),
        "new": list(claimed.new),
        "restored": list(claimed.restored),
        "held_back": list(claimed.held_back),
        "concerns": list(claimed.concerns),
        "phase": state.phase.value,
        "next": next_move(state),
    }
