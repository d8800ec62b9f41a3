"""Decides on a claim and records it, for a caller that holds the operation; names the next move."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.core.actions import ClaimTest, Deny, Target
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.actors import claimers, claims_of, view_of
from verdigris.core.policy.next_move import next_after, next_move, next_red
from verdigris.core.report import Status
from verdigris.core.state import Phase
from verdigris.core.test_ids import nearest, split_id
from verdigris.core.value import field, value
from verdigris.storage.open_calls import at_work
from verdigris.storage.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.actions import Decision
    from verdigris.core.state import Claim, Red, WorktreeState
    from verdigris.core.turn_events import OracleFacts
    from verdigris.storage.project import Project

AGENT = "agent"
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


def claim_within(
    project: Project,
    state: WorktreeState,
    test_ids: Sequence[str],
    targets: tuple[Target, ...],
    *,
    implied: bool = False,
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
    oracle, shared = _freeze_oracle(project, state, tree, reds, tuple(noted))
    paths = tuple(t.path for t in targets if t.path is not None)
    events = claim_events(state, test_ids, paths, oracle, implied=implied, by=project.context)
    project.record(*events, sync=True)
    return Claimed(tuple(test_ids), paths, concerns=shared)


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


def claimable(project: Project, state: WorktreeState, tree: str) -> Red | Deny | None:
    """The red that a claim of all source may cite now, or the denial of such a claim."""
    red = next_red(state, tree)
    if red is None or state.phase is not Phase.RED:
        return None
    from verdigris.storage.paths import links_out, refuse

    decision: Decision | None = refuse(links_out(project, tree))
    if decision is None:
        action = _observe(project, state, red.test_id, (ALL_SOURCE,), tree)
        decision = decide(state, action, project.settings, in_progress=in_progress(project.repo))
    return decision if isinstance(decision, Deny) else red


def own_view(project: Project, state: WorktreeState, session: str = "") -> WorktreeState:
    """The state without the reds of other agents that are at work here."""
    if not project.context or not any(red.by not in {"", project.context} for red in state.reds.values()):
        return state
    return view_of(state, project.context, fellows(project, session))


def claims_by(project: Project, state: WorktreeState) -> tuple[Claim, ...]:
    """The open claims that the acting agent, or a person, may go on with."""
    every = tuple(state.claims.values())
    return claims_of(every, (project.context,), fellows(project)) if claimers(state) else every


def fellows(project: Project, session: str = "") -> frozenset[str]:
    """The agents at work in this worktree. `session`: of the one that asks, if its environment is silent."""
    from verdigris.core.agents import session_in

    return at_work(str(project.repo.private), session or session_in(os.environ))


def following_move(
    project: Project, state: WorktreeState, tree: str | None = None, *, session: str = ""
) -> str:
    """The next move, by the state and by what the tree shows: none that would be refused.

    `session`: of the agent that asks, if its environment does not name it.
    """
    unfinished = in_progress(project.repo)
    # In a cycle `freeze` makes the claims, whoever codes afterwards.
    asks = project.actor.role == AGENT and state.claims and not unfinished and state.open_cycle is None
    if asks and (waiting := next_after(state, project.actor.context, fellows(project, session))):
        return waiting
    state = own_view(project, state, session)
    if unfinished or state.test_bugs or not state.valid_reds or state.phase is not Phase.RED:
        return next_move(state, in_progress=unfinished)
    return next_move(state, claimable=claimable(project, state, tree or project.workspace.snapshot()))


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
            passing=_last_status(project, test_id) == Status.PASS,
            written=(project.root / split_id(test_id).path).exists(),
        )
    from verdigris.checks.file_use import reads_of
    from verdigris.checks.weakening import find_losses

    since_red = difference(project, red.tree, tree)
    read = set(reads_of(project, [red])) if since_red.other else set()
    data = tuple(change.path for change in since_red.other if change.path in read)
    if state.turn is not None:
        drift = difference(project, state.turn.tree, tree).oracle
        return ClaimTest(test_id, targets, moved=(*since_red.oracle, *data), drift=drift)
    edits = find_unclaimed(project, state.ground or tree, tree, limit=1)
    losses = find_losses(project, state, tree)
    return ClaimTest(
        test_id,
        targets,
        moved=(*since_red.protected, *data),
        unclaimed=edits,
        weakened=losses.blocking,
        noted=losses.noted,
    )


LOOK_BACK = 2_000
"""Events searched for the last run of a test that is not red: only the denial's text depends on it."""


def _last_status(project: Project, test_id: str) -> str | None:
    here = project.repo.worktree
    for record in project.log.records(reverse=True, limit=LOOK_BACK):
        if record.worktree == here and record.type == "test_run" and record.data["test_id"] == test_id:
            return str(record.data["status"])
    return None
