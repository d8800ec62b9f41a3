"""Proves what a person wrote in any order: without the change its tests are red, and with it they pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import implied_claim
from verdigris.core.records import AGENT
from verdigris.core.state import Phase
from verdigris.turns.claim_check import ALL_SOURCE, claim_within, own_view, provable
from verdigris.turns.implied_reds import find_changed_tests, see_reds

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

_NO_TEST = Deny(
    "no-test",
    "No test changed with this change, so nothing asks for it.",
    "write a test that fails without the change, then `tdd settle`; where behaviour stays as it is, "
    "`tdd aside`, `tdd refactor begin`, `tdd restore`",
)


def is_late(project: Project, state: WorktreeState) -> bool:
    """Whether a person asks for a verdict on edits of source that no claim was made for."""
    if project.actor.role == AGENT or state.phase is not Phase.RED or state.open_cycle is not None:
        return False
    tree = project.workspace.snapshot()
    return bool(difference(project, state.ground or tree, tree).source)


def claim_late(project: Project, state: WorktreeState) -> Deny | None:
    """Runs the changed tests on the ground's source, and claims those that are red there.

    The turn that it opens begins with the tree without the change. The caller holds the operation.
    """
    tree = project.workspace.snapshot()
    ground = state.ground or tree
    edits = difference(project, ground, tree)
    paths = tuple(change.path for change in (*edits.source, *edits.other))
    start = project.workspace.graft(tree, ground, paths)
    if not find_changed_tests(project, state, start):
        return _NO_TEST
    if denial := see_reds(project, state, start, tree, paths, then="`tdd settle`"):
        return denial
    state = own_view(project, project.state())
    decision = implied_claim(state)
    if isinstance(decision, Deny):
        return decision
    reds = provable(project, decision.claims, start)
    ids = [red.test_id for red in reds]
    claimed = claim_within(project, project.state(), ids, (ALL_SOURCE,), manner="late", tree=start)
    return claimed if isinstance(claimed, Deny) else None
