"""Makes the events that open, join and end a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import Accepted, Denied, EditClaim, Event, OracleFrozen, Settled, TurnOpened
from verdigris.core.value import replace, value
from verdigris.core.verdict import STRIKES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.actions import Deny
    from verdigris.core.state import Turn, WorktreeState
    from verdigris.core.verdict import Verdict


@value
class OracleFacts:
    """What a claim freezes, as it was found."""

    tree: str
    findings: tuple[str, ...] = ()
    foundation: str = ""
    """What runs below the tests."""
    founded: int = 0
    """When that was taken down, in nanoseconds."""
    reads: tuple[str, ...] = ()
    """What the claimed tests read besides."""


def denial_event(decision: Deny, action: str) -> Denied:
    return Denied(rule=decision.rule, reason=decision.reason, next=decision.next, action=action)


def claim_events(
    state: WorktreeState,
    test_ids: Sequence[str],
    paths: Sequence[str],
    oracle: OracleFacts,
    *,
    implied: bool = False,
    by: str = "",
) -> tuple[Event, ...]:
    """The first claim of a turn freezes the oracle; what the claimed tests read besides is frozen by each."""
    claims = tuple(
        EditClaim(test_id=name, edit_target=path, red=_cited_red(state, name), implied=implied, by=by)
        for name in test_ids
        for path in paths
    )
    if claims and oracle.reads:
        claims = (replace(claims[0], reads=oracle.reads), *claims[1:])
    if state.turn is not None:
        return claims
    turn = f"t{state.turns + 1}"
    frozen = OracleFrozen(
        turn=turn,
        tree=oracle.tree,
        findings=oracle.findings,
        foundation=oracle.foundation,
        founded=oracle.founded,
    )
    return (TurnOpened(turn=turn, tree=oracle.tree), frozen, *claims)


def _cited_red(state: WorktreeState, test_id: str) -> int:
    """The red that an open claim cites stands for it, also where its test passes by now."""
    claim = state.claims.get(test_id)
    return state.reds[test_id].seq if claim is None else claim.red


def joining_events(state: WorktreeState, paths: Sequence[str]) -> tuple[EditClaim, ...]:
    """Paths outside the targets join every open claim, as implied."""
    return tuple(
        EditClaim(test_id=claim.test_id, edit_target=path, red=claim.red, implied=True)
        for claim in state.claims.values()
        for path in paths
    )


def accepted_events(
    state: WorktreeState, turn: Turn, after: str, paths: Sequence[str], green: Mapping[str, int]
) -> tuple[Accepted, ...]:
    """One triple a claim; `green` maps native ids to the events that record their passing."""
    return tuple(
        Accepted(
            test_id=claim.test_id,
            red=claim.red,
            before=turn.tree,
            after=after,
            paths=tuple(paths),
            green=green[claim.native_id],
        )
        for claim in state.claims.values()
    )


def settled_event(state: WorktreeState, turn: Turn, verdict: Verdict, tree: str, *, edited: bool) -> Settled:
    """`edited`: source changed since the last settlement; without that no strike counts."""
    counts = verdict.kind in STRIKES and edited
    return Settled(
        turn=turn.id,
        verdict=verdict.kind,
        tree=tree,
        reasons=verdict.reasons,
        concerns=verdict.concerns,
        struck=(verdict.failing or tuple(state.claims)) if counts else (),
    )


def struck_out(state: WorktreeState, settled: Settled, limit: int) -> bool:
    return any(state.strikes.get(test_id, 0) + 1 >= limit for test_id in settled.struck)


def next_aside(state: WorktreeState) -> str:
    """The id of what is laid aside next."""
    return f"a{state.asides + 1}"
