"""Drops from a worktree's state what refers to objects that the store has lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from verdigris.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verdigris.core.state import WorktreeState

    V = TypeVar("V")


def without_lost(w: WorktreeState, lost: frozenset[str]) -> WorktreeState:
    """The phase stays: whoever lost its snapshots ends it by an event of its own."""
    if not lost:
        return w

    def kept(mapping: Mapping[str, V], names: Callable[[V], tuple[str, ...]]) -> dict[str, V]:
        return {key: part for key, part in mapping.items() if lost.isdisjoint((key, *names(part)))}

    is_known = w.baseline is not None and lost.isdisjoint((w.baseline.tree, w.baseline.record))
    reds = {test: red for test, red in w.reds.items() if test in w.claims or red.tree not in lost}
    return replace(
        w,
        baseline=w.baseline if is_known else None,
        reds=reds,
        collected=kept(w.collected, lambda blob: (blob,)),
        unloaded=kept(w.unloaded, lambda tree: (tree,)),
        sessions=kept(w.sessions, lambda session: (session.tree, session.suite)),
        aside=kept(w.aside, lambda aside: (aside.edited, aside.start)),
        test_bugs=kept(w.test_bugs, lambda bug: (bug.tree,)),
        held_out=kept(w.held_out, lambda entry: tuple(entry.split())),
        grounds={
            commit: left
            for commit, trees in w.grounds.items()
            if (left := tuple(tree for tree in trees if tree not in lost))
        },
    )
