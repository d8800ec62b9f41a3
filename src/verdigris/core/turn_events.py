"""The events of a turn: makes those that open, extend and end it, and folds them into the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from verdigris.core import events as e
from verdigris.core.events import Accepted, Denied, EditClaim, Event, OracleFrozen, Settled, TurnOpened
from verdigris.core.report import Status
from verdigris.core.state import Claim, Earned, Phase, Red, Refusal, SeenHead, Turn, WorktreeState
from verdigris.core.value import field, replace, take_fields, value
from verdigris.core.verdict import STRIKES, Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.actions import Deny
    from verdigris.core.debts import Debt


@value
class OracleFacts:
    """The facts that a claim freezes."""

    tree: str
    findings: tuple[str, ...] = ()
    foundation: str = ""
    """The blob with the foundation."""
    founded: int = 0
    """When that was recorded, in nanoseconds."""
    reads: tuple[str, ...] = ()
    """Other files that the claimed tests read."""
    weak: Mapping[str, tuple[Debt, ...]] = field(default_factory=dict)
    """By test: bodies that know nothing and with which its red passes."""


ClaimManner = Literal["named", "implied", "late"]
"""Somebody names the reds; an edit implies them; or a person made the edit before the red was seen."""


def denial_event(decision: Deny, action: str) -> Denied:
    return Denied(rule=decision.rule, reason=decision.reason, next=decision.next, action=action)


def claim_events(
    state: WorktreeState,
    test_ids: Sequence[str],
    paths: Sequence[str],
    oracle: OracleFacts,
    *,
    manner: ClaimManner = "named",
    by: str = "",
) -> tuple[Event, ...]:
    """The first claim of a turn freezes the oracle; each claim freezes other files that its tests read."""
    claims = tuple(
        EditClaim(
            test_id=name,
            edit_target=path,
            red=_cited_red(state, name),
            implied=manner != "named",
            by=by,
            weak=oracle.weak.get(name, ()) if path == paths[0] else (),
        )
        for name in test_ids
        for path in paths
    )
    if claims and oracle.reads:
        claims = (replace(claims[0], reads=oracle.reads), *claims[1:])
    if state.turn is not None:
        return claims
    turn = f"t{state.turns + 1}"
    frozen = take_fields(OracleFrozen, oracle, turn=turn)
    return (TurnOpened(turn=turn, tree=oracle.tree, late=manner == "late"), frozen, *claims)


def _cited_red(state: WorktreeState, test_id: str) -> int:
    """An open claim keeps the red that it cites, even if its test passes by now."""
    claim = state.claims.get(test_id)
    return state.reds[test_id].seq if claim is None else claim.red


def joining_events(claims: Iterable[Claim], paths: Sequence[str]) -> tuple[EditClaim, ...]:
    """Paths outside the targets join these open claims, as implied."""
    return tuple(
        EditClaim(test_id=claim.test_id, edit_target=path, red=claim.red, implied=True)
        for claim in claims
        for path in paths
    )


def accepted_events(
    state: WorktreeState,
    turn: Turn,
    after: str,
    paths: Sequence[str],
    green: Mapping[str, int],
) -> tuple[Accepted, ...]:
    """One triple for each claim; `green`: native id → the event that records its pass."""
    return tuple(
        Accepted(
            test_id=claim.test_id,
            red=claim.red,
            before=turn.tree,
            after=after,
            paths=tuple(paths),
            green=green[claim.native_id],
            proven="after" if turn.late else "before",
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


def is_struck_out(state: WorktreeState, settled: Settled, limit: int) -> bool:
    return any(state.strikes.get(test_id, 0) + 1 >= limit for test_id in settled.struck)


def next_aside(state: WorktreeState) -> str:
    """The id of the next edits that are set aside."""
    return f"a{state.asides + 1}"


V = TypeVar("V")
REMEMBERED_REDS = 200
"""A suite with thousands of failures must not bloat every checkpoint; the newest are kept."""


def fold_turn(w: WorktreeState, event: Event) -> WorktreeState:
    match event:
        case e.TurnOpened():
            return replace(
                w,
                phase=Phase.GREEN,
                turns=w.turns + 1,
                turn=Turn(event.turn, event.tree, late=event.late, commit=head_of(w)),
                violations=(),
            )
        case e.OracleFrozen() if w.turn:
            return replace(w, turn=replace(w.turn, foundation=event.foundation, founded=event.founded))
        case e.EditClaim():
            turn = _with_reads(w.turn, event.reads)
            turn = turn if turn is None else replace(turn, refused=None)
            return replace(w, turn=turn, claims={**w.claims, event.test_id: _claim_after(w, event)})
        case e.Settled():
            return _after_settlement(w, event)
        case e.Accepted():
            return _after_acceptance(w, event)
        case e.Reverted():
            return _after_revert(w, event)
        case e.TurnClosed():
            return close_turn(w, Phase.RED)
        case e.Restored() | e.Dropped():
            w = replace(w, aside=without_keys(w.aside, {event.aside}))
            if w.turn is None or isinstance(event, e.Dropped):
                return w
            return replace(w, turn=replace(w.turn, returned=event.tree))
        case e.Suspended() if w.turn:
            turn = replace(w.turn, tree=event.tree, suspended=True, why=event.why)
            return replace(w, turn=turn, head=SeenHead(event.commit, event.on))
        case e.Resumed() if w.turn:
            claims = {i: replace(w.claims[i], red=red) for i, red in event.reds.items() if i in w.claims}
            foundation = event.foundation or w.turn.foundation
            founded = event.founded or w.turn.founded
            turn = replace(w.turn, suspended=False, why="", foundation=foundation, founded=founded)
            return replace(w, turn=turn, claims=claims)
        case _:
            return _beside_turns(w, event)


def _beside_turns(w: WorktreeState, event: Event) -> WorktreeState:
    match event:
        case e.RedsEnded():
            return replace(w, reds=without_keys(w.reds, set(event.test_ids)))
        case e.FilesUnloaded():
            return replace(w, unloaded=event.files)
        case e.Characterized():
            return replace(w, characterized=tuple(dict.fromkeys((*w.characterized, *event.test_ids))))
        case e.TestsBlocked():
            return _after_blocking(w, event)
        case e.Paid():
            noticed = {i: replace(w.owed[i], tests=event.tests) for i in event.debts if event.tests}
            return replace(w, owed={**without_keys(w.owed, set(event.debts)), **noticed})
        case e.Revised():
            return replace(w, revised=tuple(dict.fromkeys((*w.revised, *event.names))), overfits={})
        case e.HeldOut():
            return replace(w, held_out={**w.held_out, **event.files})
        case e.Released():
            return replace(w, held_out=without_keys(w.held_out, set(event.paths)))
        case e.ToolAllowed():
            return replace(w, tools=tuple(dict.fromkeys((*w.tools, event.source))))
        case e.LeftOpen():
            return replace(w, left_open=event.what)
        case e.SentBack():
            return replace(w, sent_back=event.nth)
        case _:
            return w


def _after_blocking(w: WorktreeState, event: e.TestsBlocked) -> WorktreeState:
    gone = set(event.tests)
    return replace(
        earn(w, event.ground) if event.ground else w,
        reds=without_keys(w.reds, gone),
        strikes=without_keys(w.strikes, gone),
        blocked={**w.blocked, **dict.fromkeys(event.tests, event.why)},
    )


def fold_reds(w: WorktreeState, event: e.TestRun, seq: int) -> Mapping[str, Red]:
    others = without_keys(w.reds, {event.test_id})
    if event.status is Status.PASS or event.status is Status.SKIP:
        return others
    red = take_fields(Red, event, source=event.test_id_source, seq=seq, why=event.red or "unknown")
    reds = {**others, event.test_id: red}
    surplus = [i for i in reds if i not in w.claims][: max(0, len(reds) - REMEMBERED_REDS)]
    return without_keys(reds, set(surplus))


def _with_reads(turn: Turn | None, reads: tuple[str, ...]) -> Turn | None:
    if turn is None or not reads:
        return turn
    return replace(turn, reads=tuple(dict.fromkeys((*turn.reads, *reads))))


def _claim_after(w: WorktreeState, event: e.EditClaim) -> Claim:
    earlier = w.claims.get(event.test_id)
    if earlier is not None:
        targets = tuple(dict.fromkeys((*earlier.targets, event.edit_target)))
        by = earlier.by if event.implied else event.by  # who names it takes it over
        implied = earlier.implied and event.implied
        return replace(earlier, targets=targets, red=event.red, implied=implied, by=by)
    red = w.reds.get(event.test_id)
    native = event.test_id if red is None else red.native_id
    claim = Claim(
        event.test_id, native, event.red, (event.edit_target,), event.implied, event.by, weak=event.weak
    )
    return claim if red is None else replace(claim, place=red.place, duration_ms=red.duration_ms)


def _after_settlement(w: WorktreeState, event: e.Settled) -> WorktreeState:
    strikes = {**w.strikes, **{i: w.strikes.get(i, 0) + 1 for i in event.struck}}
    if event.verdict == Kind.OVERFIT:
        w = replace(w, overfits={**w.overfits, **{i: w.overfits.get(i, 0) + 1 for i in event.struck}})
    if w.turn is None or event.verdict == Kind.TAMPERED:
        return replace(w, strikes=strikes)  # nothing was judged
    refused = None if event.verdict == Kind.ACCEPTED else take_fields(Refusal, event)
    return replace(w, turn=replace(w.turn, judged=event.tree, refused=refused), strikes=strikes)


def _after_acceptance(w: WorktreeState, event: e.Accepted) -> WorktreeState:
    """The last claim that is accepted closes the turn: the edited tree is the new ground.

    The claims of other agents stay, and start from it.
    """
    gone = {event.test_id}
    w = replace(
        earn(w, event.after),
        claims=without_keys(w.claims, gone),
        reds=without_keys(w.reds, gone),
        strikes=without_keys(w.strikes, gone),
        overfits=without_keys(w.overfits, gone),
    )
    if w.claims:
        return replace(w, turn=None if w.turn is None else replace(w.turn, tree=event.after))
    return replace(close_turn(w, _rest(w)), revised=(), reported=())


def _after_revert(w: WorktreeState, event: e.Reverted) -> WorktreeState:
    """Reds that were seen with the edits in place prove nothing without them, so they end."""
    laid = w.aside.get(event.aside)
    if laid is not None and not laid.paths:
        w = replace(w, aside=without_keys(w.aside, {event.aside}))
    if w.phase is Phase.REFACTOR:
        return replace(w, phase=Phase.RED, refactor=None)
    if w.phase is not Phase.GREEN or laid is None:
        return w
    gone = set(laid.test_ids or w.claims)
    w = replace(w, claims=without_keys(w.claims, gone), strikes=without_keys(w.strikes, gone), reds={})
    return w if w.claims else close_turn(w, _rest(w))


def _rest(w: WorktreeState) -> Phase:
    """The phase between two turns; in a cycle the tests stay frozen."""
    return Phase.HELD if w.open_cycle is not None else Phase.RED


def earn(w: WorktreeState, tree: str) -> WorktreeState:
    """This tree is ground now, whatever of it is committed."""
    return replace(w, ground=tree, earned=Earned(tree, head_of(w)), unearned={})


def head_of(w: WorktreeState) -> str | None:
    """HEAD as it was seen last."""
    return None if w.head is None else w.head.commit


def close_turn(w: WorktreeState, phase: Phase | None = None) -> WorktreeState:
    return replace(w, phase=phase or w.phase, turn=None, claims={}, violations=())


def without_keys(mapping: Mapping[str, V], gone: set[str]) -> Mapping[str, V]:
    return {k: v for k, v in mapping.items() if k not in gone}
