"""Folds events into the state; there is no other state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from verdigris.core import events as e
from verdigris.core.events import Event, decode
from verdigris.core.records import from_json, to_json
from verdigris.core.report import Status
from verdigris.core.state import (
    Baseline,
    Claim,
    Configuration,
    Intent,
    LaidAside,
    MachineState,
    OpenStep,
    OpenTestBug,
    PassedStep,
    Phase,
    Red,
    Refactor,
    SeenHead,
    Stage,
    State,
    Turn,
    WorktreeState,
)
from verdigris.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.records import Record


V = TypeVar("V")

REMEMBERED_REDS = 200
"""A suite with thousands of failures must not bloat every checkpoint; the newest are kept."""
REMEMBERED_ASIDES = 100
REMEMBERED_GROUNDS = 100
GROUNDS_OF_ONE = 4
_STAGES = {Stage.PLAN: Phase.PLAN, Stage.RED: Phase.RED}
"""Of a cycle, with a phase of their own."""
REMEMBERED_VIOLATIONS = 20


def fold(records: Iterable[Record], state: State | None = None) -> State:
    state = State() if state is None else state
    for record in records:
        state = step(state, record)
    return state


def step(state: State, record: Record) -> State:
    event = decode(record.type, record.data)
    match event:
        case None:
            return state
        case e.Configured():
            configuration = Configuration(event.tdd_yaml, event.settings, event.classes)
            here = replace(state.of(record.worktree), configuration=configuration)
            worktrees = {**state.worktrees, record.worktree: here}
            return replace(state, configuration=configuration, worktrees=worktrees)
        case e.Unconfigured():
            worktrees = {name: replace(w, configuration=None) for name, w in state.worktrees.items()}
            return replace(state, configuration=None, worktrees=worktrees)
        case _:
            after = advance(state.of(record.worktree), event, record.seq)
            return replace(state, worktrees={**state.worktrees, record.worktree: after})


def advance(w: WorktreeState, event: Event, seq: int) -> WorktreeState:
    """One worktree, one event."""
    w = _cycle(_machine(_intents(w, event), event), event, seq)
    match event:
        case e.Ground():
            after = replace(_at_head(w), ground=event.tree, head=SeenHead(event.commit, event.on))
            return _at_head(after)
        case e.HeadSeen():
            return _at_head(replace(_at_head(w), head=SeenHead(event.commit, event.on)))
        case e.TestRun():
            blocked = w.blocked if event.status is Status.SKIP else _without(w.blocked, {event.test_id})
            return replace(w, reds=_reds(w, event, seq), blocked=blocked)
        case e.SuiteRun():
            return replace(w, baseline=Baseline(event.tree, event.record, event.duration_ms))
        case e.TestBug():
            bug = OpenTestBug(event.bug, event.places, event.why, event.tree, event.tests)
            return replace(w, bugs=w.bugs + 1, test_bugs={**w.test_bugs, event.bug: bug})
        case e.TestBugClosed():
            return replace(w, test_bugs=_without(w.test_bugs, {event.bug}))
        case e.Violation():
            return replace(w, violations=(*w.violations, event.path)[-REMEMBERED_VIOLATIONS:])
        case e.SwitchedOff():
            return replace(_close_turn(w), phase=Phase.OFF, off_why=event.why, refactor=None)
        case e.SwitchedOn():
            return replace(
                _close_turn(w), phase=Phase.RED, off_why="", ground=event.tree, reds={}, strikes={}
            )
        case e.RefactorBegun():
            refactor = Refactor(event.tree, event.record, event.uncovered)
            refactor = replace(
                refactor,
                foundation=event.foundation,
                founded=event.founded,
                optimizes=event.optimizes,
            )
            return replace(w, phase=Phase.REFACTOR, refactor=refactor, reds={})
        case e.RefactorEnded():
            return _refactor_ended(w, event)
        case _:
            return _turn(w, event)


def _machine(w: WorktreeState, event: Event) -> WorktreeState:
    before = w.machine.step
    after = machine_after(w.machine, event, w.asides)
    if isinstance(event, e.Committed) and before is not None:
        # What the attempts before the one that is committed left is nobody's any more.
        since = frozenset(f"a{number}" for number in range(before.asides + 1, w.asides + 1))
        w = replace(w, aside={name: laid for name, laid in w.aside.items() if name not in since})
    return w if after is w.machine else replace(w, machine=after)


def _cycle(w: WorktreeState, event: Event, seq: int) -> WorktreeState:
    """Each stage of a cycle has a phase; the coder's is opened by the turn that the freezing begins."""
    if w.cycle is None and not isinstance(event, e.CycleStarted):
        return w
    from verdigris.core.cycle import cycle_after  # most logs have none

    after = cycle_after(w.cycle, event, seq)
    w = w if after is w.cycle else replace(w, cycle=after)
    match event:
        case e.CycleStarted():
            return replace(w, phase=Phase.PLAN, cycles=w.cycles + 1, reds={})
        case e.CycleAdvanced():
            return replace(w, phase=_STAGES.get(Stage(event.stage), Phase.HELD))
        case e.CycleEnded():
            ended = replace(_close_turn(w), phase=Phase.RED, refactor=None)
            return replace(ended, ground=event.tree) if event.tree else ended
        case _:
            return w


def _at_head(w: WorktreeState) -> WorktreeState:
    """Remember the ground where HEAD is; not while off, when what is no ground is allowed all the same."""
    if w.ground is None or w.head is None or w.head.commit is None:
        return w
    grounds = dict(w.grounds)
    known = grounds.pop(w.head.commit, ())
    if w.phase is not Phase.OFF:
        grounds[w.head.commit] = (*(tree for tree in known if tree != w.ground), w.ground)[-GROUNDS_OF_ONE:]
    return replace(w, grounds=dict(list(grounds.items())[-REMEMBERED_GROUNDS:]))


def _turn(w: WorktreeState, event: Event) -> WorktreeState:
    match event:
        case e.TurnOpened():
            return replace(
                w, phase=Phase.GREEN, turns=w.turns + 1, turn=Turn(event.turn, event.tree), violations=()
            )
        case e.OracleFrozen() if w.turn:
            return replace(w, turn=replace(w.turn, foundation=event.foundation, founded=event.founded))
        case e.EditClaim():
            turn = _with_reads(w.turn, event.reads)
            return replace(w, turn=turn, claims={**w.claims, event.test_id: _claim_after(w, event)})
        case e.Settled():
            return _after_settlement(w, event)
        case e.Accepted():
            return _after_acceptance(w, event)
        case e.Reverted():
            return _after_revert(w, event)
        case e.Restored():
            return replace(w, aside=_without(w.aside, {event.aside}))
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
            return replace(w, reds=_without(w.reds, set(event.test_ids)))
        case e.TestsBlocked():
            return _after_blocking(w, event)
        case e.Revised():
            return replace(w, revised=tuple(dict.fromkeys((*w.revised, *event.names))))
        case e.HeldOut():
            return replace(w, held_out={**w.held_out, **event.files})
        case e.Released():
            return replace(w, held_out=_without(w.held_out, set(event.paths)))
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
        w,
        reds=_without(w.reds, gone),
        strikes=_without(w.strikes, gone),
        blocked={**w.blocked, **dict.fromkeys(event.tests, event.why)},
        ground=event.ground or w.ground,
    )


def _reds(w: WorktreeState, event: e.TestRun, seq: int) -> Mapping[str, Red]:
    others = _without(w.reds, {event.test_id})
    if event.status is Status.PASS or event.status is Status.SKIP:
        return others
    red = Red(
        event.test_id,
        event.native_id,
        event.test_id_source,
        seq,
        event.tree,
        event.command,
        event.status,
        event.red or "unknown",
        event.failure,
        event.place,
        event.duration_ms,
        event.reads,
    )
    reds = {**others, event.test_id: red}
    surplus = [i for i in reds if i not in w.claims][: max(0, len(reds) - REMEMBERED_REDS)]
    return _without(reds, set(surplus))


def _with_reads(turn: Turn | None, reads: tuple[str, ...]) -> Turn | None:
    if turn is None or not reads:
        return turn
    return replace(turn, reads=tuple(dict.fromkeys((*turn.reads, *reads))))


def _claim_after(w: WorktreeState, event: e.EditClaim) -> Claim:
    known = w.claims.get(event.test_id)
    if known is not None:
        targets = tuple(dict.fromkeys((*known.targets, event.edit_target)))
        return replace(known, targets=targets, red=event.red, implied=known.implied and event.implied)
    red = w.reds.get(event.test_id)
    native = event.test_id if red is None else red.native_id
    claim = Claim(event.test_id, native, event.red, (event.edit_target,), event.implied, event.by)
    return claim if red is None else replace(claim, place=red.place, duration_ms=red.duration_ms)


def _after_settlement(w: WorktreeState, event: e.Settled) -> WorktreeState:
    strikes = {**w.strikes, **{i: w.strikes.get(i, 0) + 1 for i in event.struck}}
    turn = None if w.turn is None else replace(w.turn, judged=event.tree)
    return replace(w, turn=turn, strikes=strikes)


def _after_acceptance(w: WorktreeState, event: e.Accepted) -> WorktreeState:
    """The last claim that is accepted closes the turn: the edited tree is the new ground."""
    gone = {event.test_id}
    w = replace(
        w,
        ground=event.after,
        claims=_without(w.claims, gone),
        reds=_without(w.reds, gone),
        strikes=_without(w.strikes, gone),
    )
    return w if w.claims else replace(_close_turn(w, _rest(w)), revised=())


def _after_revert(w: WorktreeState, event: e.Reverted) -> WorktreeState:
    """What was seen red with the edits in place says nothing without them."""
    laid = w.aside.get(event.aside)
    if w.phase is Phase.REFACTOR:
        return replace(w, phase=Phase.RED, refactor=None)
    if w.phase is not Phase.GREEN or laid is None:
        return w
    gone = set(laid.test_ids or w.claims)
    w = replace(w, claims=_without(w.claims, gone), strikes=_without(w.strikes, gone), reds={})
    return w if w.claims else _close_turn(w, _rest(w))


def _rest(w: WorktreeState) -> Phase:
    """Between two turns; in a cycle the tests stay frozen then, too."""
    return Phase.HELD if w.open_cycle is not None else Phase.RED


def _refactor_ended(w: WorktreeState, event: e.RefactorEnded) -> WorktreeState:
    if event.verdict == "accepted":
        return replace(w, phase=Phase.RED, refactor=None, ground=event.tree, revised=())
    if event.verdict == "aborted" or w.refactor is None:
        return replace(w, phase=Phase.RED, refactor=None)
    counts = event.verdict not in {"broken", "tampered"} and event.tree not in {
        w.refactor.judged,
        w.refactor.tree,
    }
    refactor = replace(w.refactor, strikes=w.refactor.strikes + counts, judged=event.tree)
    return replace(w, refactor=refactor)


def _close_turn(w: WorktreeState, phase: Phase | None = None) -> WorktreeState:
    return replace(w, phase=phase or w.phase, turn=None, claims={}, violations=())


def _intents(w: WorktreeState, event: Event) -> WorktreeState:
    if isinstance(event, e.Outcome):
        return replace(w, intent=None)
    if not isinstance(event, e.Announcement):
        return w
    w = replace(w, intent=Intent(event.kind(), to_json(event)))
    if not isinstance(event, e.LayingAside):
        return w
    laid = LaidAside(
        event.aside, event.paths, event.edited, event.start, event.why, event.test_ids, event.back_at_claim
    )
    kept = dict(list({**w.aside, event.aside: laid}.items())[-REMEMBERED_ASIDES:])
    return replace(w, aside=kept, asides=w.asides + 1)


def _without(mapping: Mapping[str, V], gone: set[str]) -> Mapping[str, V]:
    return {k: v for k, v in mapping.items() if k not in gone}


class StateFolding:
    """How the log folds its records into a State (the seam that `storage.log` takes)."""

    def initial(self) -> State:
        return State()

    def step(self, state: State, record: Record) -> State:
        return step(state, record)

    def dump(self, state: State) -> Any:
        return to_json(state)

    def load(self, data: Any) -> State:
        return from_json(State, data)


REMEMBERED_STEPS = 50
ACCEPTED, REPAIRED = "accepted", "repaired"


def machine_after(m: MachineState, event: Event, asides: int = 0) -> MachineState:
    """`asides`: how many things were set aside in the worktree so far."""
    match event:
        case e.MachineStarted():
            return replace(m, runs=m.runs + 1, first=event.first, last=event.last, stopped=None)
        case e.MachineEnded():
            return replace(m, first=0, last=0)
        case e.StepBegun():
            begun = OpenStep(
                event.step, event.role, event.commit, event.tree, asides=asides, driver=event.driver
            )
            return replace(m, step=begun)
        case e.StepPassed():
            done = PassedStep(event.step, event.role, event.outcome, event.why, event.after, event.driver)
            return replace(m, step=None, passed=(*m.passed, done)[-REMEMBERED_STEPS:], stopped=None)
        case e.StepStopped():
            stopped = PassedStep(event.step, event.role, event.outcome, event.why, "", event.driver)
            return replace(m, step=None, stopped=stopped)
        case e.Committed():
            return replace(m, step=None, stopped=None)
        case _ if m.step is not None:
            step = _open(m.step, event)
            return m if step is m.step else replace(m, step=step)
        case _:
            return m


def _open(step: OpenStep, event: Event) -> OpenStep:
    """Once accepted, its message stands: what is mended after that is not what it is about.

    Where only some claims were accepted, they stay, and the step goes on for the others.
    """
    match event:
        case e.StepProposed() if step.verdict != ACCEPTED:
            return replace(step, proposal=event.proposal, verdict="")
        case e.Repair() if step.verdict != ACCEPTED:
            return replace(step, verdict=REPAIRED)
        case e.Settled(verdict="accepted") | e.RefactorEnded(verdict="accepted"):
            whole = step.verdict != REPAIRED
            verdict = ACCEPTED if whole else REPAIRED
            return replace(step, verdict=verdict, rest=event.tree, concerns=event.concerns)
        case e.Accepted():
            return replace(step, tests=(*step.tests, event.test_id))
        case _:
            return step
