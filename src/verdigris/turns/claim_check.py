"""Decides on a claim and records it, for a caller that holds the operation."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.core.actions import Allow, ClaimTest, Decision, Deny, Target
from verdigris.core.debts import WeakReds
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.actors import claimers, claims_of, view_of
from verdigris.core.policy.claims import deny_stale
from verdigris.core.policy.next_move import (
    SEES_REDS,
    newest,
    without_parents,
)
from verdigris.core.report import Status
from verdigris.core.state import Claim, Phase, Red, WorktreeState
from verdigris.core.test_ids import nearest, split_id
from verdigris.core.value import field, replace, value
from verdigris.storage.calls.callers import at_work
from verdigris.storage.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.turn_events import ClaimManner, OracleFacts
    from verdigris.storage.project import Project

ALL_SOURCE = Target(".", frozenset({PathClass.SOURCE}), ".")


@value
class Claimed:
    test_ids: tuple[str, ...]
    targets: tuple[str, ...]
    restored: tuple[str, ...] = ()
    """Paths whose set-aside edits came back with this claim."""
    held_back: tuple[str, ...] = ()
    """Ids of set-aside edits that conflict with the tree."""
    new: tuple[str, ...] = ()
    """Targets that do not exist yet."""
    alike: Mapping[str, str] = field(default_factory=dict)
    """New target → the existing source file with the nearest name: it may be a typing error."""
    concerns: tuple[str, ...] = ()
    """Concerns about the claimed tests, for a person."""
    weak: tuple[str, ...] = ()
    """Bodies that know nothing and with which a claimed red passes."""
    untried: int = 0
    """Such bodies for which the time was too short; the settlement tries them."""


def claim_within(
    project: Project,
    state: WorktreeState,
    test_ids: Sequence[str],
    targets: tuple[Target, ...],
    *,
    manner: ClaimManner = "named",
    tree: str | None = None,
) -> Claimed | Deny:
    """Claims, for a caller that holds the operation. `tree`: as it was before the caller's edit.

    Either every test is claimed, or none.
    """
    from verdigris.core.turn_events import claim_events, denial_event
    from verdigris.storage.paths import links_out, refuse

    tree = tree or project.workspace.snapshot()
    if out := refuse(links_out(project, tree)):
        project.record(denial_event(out, f"claim {' '.join(test_ids)}"))
        return out
    noted: dict[str, None] = {}
    for test_id in test_ids:
        action = _observe(project, state, test_id, targets, tree)
        decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
        if isinstance(decision, Deny):
            project.record(denial_event(decision, f"claim {test_id}"))
            return decision
        noted |= dict.fromkeys(action.noted)
    reds = [red for test_id in test_ids if (red := state.reds.get(test_id))]
    doubts = _question_reds(project, state, tree, reds) if manner == "named" else Doubts()
    oracle, shared = _freeze_oracle(project, state, tree, reds, (*noted, *doubts.mocked))
    of = {red.native_id: red.test_id for red in reds}
    oracle = replace(oracle, weak={of[native]: debts for native, debts in doubts.weak.weak.items()})
    paths = tuple(t.path for t in targets if t.path is not None)
    events = claim_events(state, test_ids, paths, oracle, manner=manner, by=project.context)
    project.record(*events, sync=True)
    weak = doubts.weak
    return Claimed(
        tuple(test_ids),
        paths,
        concerns=(*shared, *doubts.mocked),
        weak=weak.lines(),
        untried=weak.untried,
    )


@value
class Doubts:
    """What speaks against the reds of a claim, and refuses nothing."""

    weak: WeakReds = field(default_factory=WeakReds)
    mocked: tuple[str, ...] = ()


def _question_reds(project: Project, state: WorktreeState, tree: str, reds: Sequence[Red]) -> Doubts:
    """The settlement asks of a claim that is implied, and the validator of a cycle has asked before."""
    new = [red for red in reds if red.test_id not in state.claims]
    if not new or state.open_cycle is not None or not project.settings.liveness:
        return Doubts()
    from verdigris.checks.doubles import find_mocked
    from verdigris.checks.weak_reds import find_weak_reds

    return Doubts(find_weak_reds(project, tree, new), find_mocked(project, tree, [r.native_id for r in new]))


def _freeze_oracle(
    project: Project, state: WorktreeState, tree: str, reds: Sequence[Red], noted: tuple[str, ...]
) -> tuple[OracleFacts, tuple[str, ...]]:
    """The oracle to freeze with the reds, and a concern for each source file that they assert with."""
    from verdigris.checks.file_use import reads_of
    from verdigris.checks.foundation import prepare
    from verdigris.checks.weakening import find_shared_oracle
    from verdigris.core.turn_events import OracleFacts

    shared = tuple(str(one) for one in find_shared_oracle(project, tree, [red.native_id for red in reds]))
    foundation = prepare(project) if state.turn is None else ""
    facts = OracleFacts(
        tree,
        findings=(*noted, *shared),
        foundation=foundation,
        founded=time.time_ns() if foundation else 0,
        reads=reads_of(project, reds),
    )
    return facts, shared


def claimable(project: Project, state: WorktreeState, tree: str) -> tuple[Red, ...] | Deny:
    """The reds that a claim of all source without words takes, or its denial.

    Without such reds, the known failure seen last, if a claim may name it.
    """
    reds = without_parents(state.valid_reds)
    if not reds or state.phase is not Phase.RED:
        return ()
    from verdigris.storage.paths import links_out, refuse

    brought = tuple(red for red in reds if not red.known)
    if brought:
        stale = deny_stale([red.test_id for red in brought])
        return refuse(links_out(project, tree)) or _seen_here(project, brought, tree) or stale
    known = newest(_seen_here(project, reds, tree))
    return () if known is None or refuse(links_out(project, tree)) else (known,)


def provable(project: Project, reds: tuple[Red, ...], tree: str) -> tuple[Red, ...]:
    """Those of the reds that a claim may cite on this tree; all, if there are none: the denial says why."""
    return _seen_here(project, reds, tree) or reds


def lacks_red(project: Project, decision: Decision, tree: str) -> bool:
    """Whether an edit would be allowed if a test were red on this tree."""
    match decision:
        case Deny(rule=rule):
            return rule in SEES_REDS
        case Allow(claims=reds) if reds:
            return not _seen_here(project, reds, tree)
    return False


def _seen_here(project: Project, reds: tuple[Red, ...], tree: str) -> tuple[Red, ...]:
    """The reds since which nothing changed that they depend on."""
    runs = {(red.tree, red.reads): red for red in reds}
    fresh = {run for run, red in runs.items() if not _moved_since(project, red, tree)}
    return tuple(red for red in reds if (red.tree, red.reads) in fresh)


def _moved_since(project: Project, red: Red, tree: str, *, source: bool = True) -> tuple[str, ...]:
    """Oracle, source and files that it read, as far as they changed since the red was seen."""
    if red.tree == tree:
        return ()
    from verdigris.checks.file_use import reads_of

    since = difference(project, red.tree, tree)
    read = set(reads_of(project, [red])) if since.other else set()
    data = (change.path for change in since.other if change.path in read)
    return (*(since.protected if source else since.oracle), *data)


def own_view(project: Project, state: WorktreeState, session: str = "") -> WorktreeState:
    """The state without the reds of other agents that are at work here."""
    if not project.context or not any(red.by not in {"", project.context} for red in state.reds.values()):
        return state
    return view_of(state, project.context, fellows(project, session))


def claims_by(project: Project, state: WorktreeState) -> tuple[Claim, ...]:
    """The open claims that the acting agent, or a person, may go on with."""
    every = tuple(state.claims.values())
    if not project.context or not claimers(state):
        return every
    return claims_of(every, (project.context,), fellows(project))


def fellows(project: Project, session: str = "") -> frozenset[str]:
    """The agents at work in this worktree. `session`: of the one that asks, if its environment is silent."""
    from verdigris.core.agents import session_in

    return at_work(str(project.repo.private), session or session_in(os.environ))


def _observe(
    project: Project, state: WorktreeState, test_id: str, targets: tuple[Target, ...], tree: str
) -> ClaimTest:
    if state.turn is not None and test_id in state.claims:
        return ClaimTest(test_id, targets, drift=difference(project, state.turn.tree, tree).oracle)
    red = state.reds.get(test_id)
    if red is None:
        return ClaimTest(
            test_id,
            targets,
            nearest=nearest(test_id, state.reds),
            passing=last_status(project, test_id) == Status.PASS,
            written=(project.root / split_id(test_id).path).exists(),
        )
    if state.turn is not None:
        drift = difference(project, state.turn.tree, tree).oracle
        return ClaimTest(test_id, targets, moved=_moved_since(project, red, tree, source=False), drift=drift)
    from verdigris.checks.weakening import find_losses

    edits = find_unclaimed(project, state.ground or tree, tree, limit=1)
    losses = find_losses(project, state, tree)
    return ClaimTest(
        test_id,
        targets,
        moved=_moved_since(project, red, tree),
        unclaimed=edits,
        weakened=losses.blocking,
        noted=losses.noted,
    )


LOOK_BACK = 2_000
"""Events searched for the last run of a test that is not red: only the denial's text depends on it."""


def last_status(project: Project, test_id: str) -> str | None:
    here = project.repo.worktree
    for record in project.log.records(reverse=True, limit=LOOK_BACK):
        if record.worktree == here and record.type == "test_run" and record.data["test_id"] == test_id:
            return str(record.data["status"])
    return None
