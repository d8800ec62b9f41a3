"""Folds events into the state; there is no other state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verdigris.core import events as e
from verdigris.core.events import Event, decode
from verdigris.core.records import Actor, Record, from_json, to_json
from verdigris.core.report import Status
from verdigris.core.state import (
    BLOCKER,
    PASS,
    Baseline,
    Configuration,
    Cycle,
    Intent,
    LaidAside,
    MachineState,
    OpenStep,
    OpenTestBug,
    PassedStep,
    Phase,
    Refactor,
    Refusal,
    SeenHead,
    SessionStart,
    Stage,
    State,
    WorktreeState,
)
from verdigris.core.suite_health import SuiteCounts
from verdigris.core.turn_events import close_turn, earn, fold_reds, fold_turn, head_of, without_keys
from verdigris.core.value import replace, take_fields
from verdigris.core.verdict import STRIKES, Kind

REMEMBERED_ASIDES = 100
REMEMBERED_GROUNDS = 100
REMEMBERED_UNEARNED = 1000
GROUNDS_OF_ONE = 4
_STAGES = {Stage.PLAN: Phase.PLAN, Stage.RED: Phase.RED}
"""Stages of a cycle with a phase of their own; all others are held."""
REMEMBERED_VIOLATIONS = 20
REMEMBERED_DEBTS = 200
REMEMBERED_STEPS = 50
REMEMBERED_SESSIONS = 20
REMEMBERED_SUITES = 8
ACCEPTED, REPAIRED = Kind.ACCEPTED, "repaired"


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
            configuration = take_fields(Configuration, event)
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
    w = _outdate_refusal(_cycle(_machine(_intents(w, event), event), event, seq), event)
    match event:
        case e.Ground():
            after = replace(_at_head(w), head=SeenHead(event.commit, event.on))
            return _at_head(replace(after, ground=event.tree) if event.follows else earn(after, event.tree))
        case e.HeadSeen():
            unearned = dict(list({**w.unearned, **event.unearned}.items())[-REMEMBERED_UNEARNED:])
            after = replace(_at_head(w), head=SeenHead(event.commit, event.on), unearned=unearned)
            return _at_head(after)
        case e.TestRun():
            blocked = w.blocked if event.status is Status.SKIP else without_keys(w.blocked, {event.test_id})
            return replace(w, reds=fold_reds(w, event, seq), blocked=blocked)
        case (
            e.SuiteRun()
            | e.SuiteHindered()
            | e.SuiteCollected()
            | e.SessionStarted()
            | e.LogRepaired()
            | e.Owed()
        ):
            return _remember(w, event, seq)
        case e.TestBug():
            bug = take_fields(OpenTestBug, event, id=event.bug)
            return replace(w, bugs=w.bugs + 1, test_bugs={**w.test_bugs, event.bug: bug})
        case e.TestBugClosed():
            closed = w.test_bugs.get(event.bug)
            # A report that a revision ended goes on to excuse it, until the next acceptance.
            excused = closed.tests if closed is not None and event.test_id else ()
            reported = tuple(dict.fromkeys((*w.reported, *excused)))
            return replace(w, test_bugs=without_keys(w.test_bugs, {event.bug}), reported=reported)
        case e.Violation():
            return replace(w, violations=(*w.violations, event.path)[-REMEMBERED_VIOLATIONS:])
        case e.SwitchedOff():
            return replace(close_turn(w), phase=Phase.OFF, off_why=event.why, refactor=None)
        case e.SwitchedOn():
            on = replace(close_turn(w), phase=Phase.RED, off_why="", reds={}, strikes={})
            return earn(on, event.tree)
        case e.RefactorBegun():
            refactor = take_fields(Refactor, event, commit=head_of(w))
            return replace(w, phase=Phase.REFACTOR, refactor=refactor, reds={})
        case e.RefactorEnded():
            return _refactor_ended(w, event)
        case _:
            return fold_turn(w, event)


def _remember(
    w: WorktreeState,
    event: e.SuiteRun | e.SuiteHindered | e.SuiteCollected | e.SessionStarted | e.LogRepaired | e.Owed,
    seq: int,
) -> WorktreeState:
    """What later trees are compared with, what keeps the suite from running, and what is owed."""
    match event:
        case e.LogRepaired():
            from verdigris.core.lost_objects import without_lost

            return without_lost(w, frozenset(event.objects))
        case e.Owed():
            new = {debt.id: replace(debt, seq=seq) for debt in event.debts if debt.id not in w.owed}
            owed = {**w.owed, **new}
            return replace(w, owed=dict(list(owed.items())[-REMEMBERED_DEBTS:]))
        case e.SuiteRun():
            baseline = take_fields(Baseline, event, counts=take_fields(SuiteCounts, event))
            return replace(w, baseline=baseline, hindrance=event.hindrance)
        case e.SuiteHindered():
            return replace(w, hindrance=event.hindrance)
        case e.SuiteCollected():
            collected = {**w.collected, event.tree: event.record}
            return replace(w, collected=dict(list(collected.items())[-REMEMBERED_SUITES:]))
        case e.SessionStarted():
            started = {**w.sessions, event.session: take_fields(SessionStart, event, seq=seq)}
            return replace(w, sessions=dict(list(started.items())[-REMEMBERED_SESSIONS:]))


def _machine(w: WorktreeState, event: Event) -> WorktreeState:
    before = w.machine.step
    after = machine_after(w.machine, event, w.asides)
    if isinstance(event, e.Committed) and before is not None:
        # Edits that earlier attempts of this step set aside are not wanted any more.
        since = frozenset(f"a{number}" for number in range(before.asides + 1, w.asides + 1))
        w = replace(w, aside={name: laid for name, laid in w.aside.items() if name not in since})
    return w if after is w.machine else replace(w, machine=after)


def _cycle(w: WorktreeState, event: Event, seq: int) -> WorktreeState:
    """Each stage of a cycle has a phase; the coder's phase begins with the turn that the freezing opens."""
    if w.cycle is None and not isinstance(event, e.CycleStarted):
        return w
    after = cycle_after(w.cycle, event, seq)
    w = w if after is w.cycle else replace(w, cycle=after)
    match event:
        case e.CycleStarted():
            return replace(w, phase=Phase.PLAN, cycles=w.cycles + 1, reds={})
        case e.CycleAdvanced():
            return replace(w, phase=_STAGES.get(Stage(event.stage), Phase.HELD))
        case e.CycleEnded():
            ended = replace(close_turn(w), phase=Phase.RED, refactor=None)
            return earn(ended, event.tree) if event.tree else ended
        case _:
            return w


def _at_head(w: WorktreeState) -> WorktreeState:
    """Remembers the ground at HEAD; not while off, since the tree may hold anything then."""
    if w.ground is None or w.head is None or w.head.commit is None:
        return w
    grounds = dict(w.grounds)
    trees = grounds.pop(w.head.commit, ())
    if w.phase is not Phase.OFF:
        grounds[w.head.commit] = (*(tree for tree in trees if tree != w.ground), w.ground)[-GROUNDS_OF_ONE:]
    return replace(w, grounds=dict(list(grounds.items())[-REMEMBERED_GROUNDS:]))


def _refactor_ended(w: WorktreeState, event: e.RefactorEnded) -> WorktreeState:
    if event.verdict == Kind.ACCEPTED:
        return earn(replace(w, phase=Phase.RED, refactor=None, revised=(), reported=()), event.tree)
    if event.verdict == "aborted" or w.refactor is None:
        return replace(w, phase=Phase.RED, refactor=None)
    counts = event.verdict in STRIKES and event.tree not in {w.refactor.judged, w.refactor.tree}
    refused = take_fields(Refusal, event)
    refactor = replace(w.refactor, strikes=w.refactor.strikes + counts, judged=event.tree, refused=refused)
    return replace(w, refactor=refactor)


def _outdate_refusal(w: WorktreeState, event: Event) -> WorktreeState:
    if not isinstance(event, e.TestRun | e.SuiteRun | e.Revised):
        return w
    if w.turn is not None and w.turn.refused is not None and not w.turn.refused.outdated:
        w = replace(w, turn=replace(w.turn, refused=replace(w.turn.refused, outdated=True)))
    refactor = w.refactor
    if refactor is None or refactor.refused is None or refactor.refused.outdated:
        return w
    return replace(w, refactor=replace(refactor, refused=replace(refactor.refused, outdated=True)))


def _intents(w: WorktreeState, event: Event) -> WorktreeState:
    if isinstance(event, e.Outcome):
        return replace(w, intent=None)
    if not isinstance(event, e.Announcement):
        return w
    w = replace(w, intent=Intent(event.kind(), to_json(event)))
    if not isinstance(event, e.LayingAside):
        return w
    laid = take_fields(LaidAside, event, id=event.aside)
    kept = dict(list({**w.aside, event.aside: laid}.items())[-REMEMBERED_ASIDES:])
    return replace(w, aside=kept, asides=w.asides + 1)


class StateFolding:
    """The fold that `storage.log` uses: it knows no events itself."""

    def initial(self) -> State:
        return State()

    def step(self, state: State, record: Record) -> State:
        return step(state, record)

    def dump(self, state: State) -> Any:
        return to_json(state)

    def load(self, data: Any) -> State:
        return from_json(State, data)


def machine_after(m: MachineState, event: Event, asides: int = 0) -> MachineState:
    """`asides`: how often edits were set aside in the worktree so far."""
    match event:
        case e.MachineStarted():
            return replace(m, runs=m.runs + 1, first=event.first, last=event.last, stopped=None)
        case e.MachineEnded():
            return replace(m, first=0, last=0)
        case e.StepBegun():
            return replace(m, step=take_fields(OpenStep, event, asides=asides))
        case e.StepPassed():
            done = take_fields(PassedStep, event)
            return replace(m, step=None, passed=(*m.passed, done)[-REMEMBERED_STEPS:], stopped=None)
        case e.StepStopped():
            return replace(m, step=None, stopped=take_fields(PassedStep, event, after=""))
        case e.Committed():
            return replace(m, step=None, stopped=None)
        case _ if m.step is not None:
            step = _fold_step(m.step, event)
            return m if step is m.step else replace(m, step=step)
        case _:
            return m


def _fold_step(step: OpenStep, event: Event) -> OpenStep:
    """Once accepted, its message stays: later repairs are not its subject.

    If only some claims were accepted, they stay, and the step goes on for the others.
    """
    match event:
        case e.StepProposed() if step.verdict != Kind.ACCEPTED:
            return replace(step, proposal=event.proposal, verdict="")
        case e.Repair() if step.verdict != Kind.ACCEPTED:
            return replace(step, verdict=REPAIRED)
        case e.Settled(verdict=Kind.ACCEPTED) | e.RefactorEnded(verdict=Kind.ACCEPTED):
            whole = step.verdict != REPAIRED
            verdict = Kind.ACCEPTED if whole else REPAIRED
            return replace(step, verdict=verdict, rest=event.tree, concerns=event.concerns)
        case e.Accepted():
            return replace(step, tests=(*step.tests, event.test_id))
        case _:
            return step


def cycle_after(cycle: Cycle | None, event: Event, seq: int) -> Cycle | None:
    if isinstance(event, e.CycleStarted):
        times = {"started": event.at, "entered": event.at, "first": seq, "since": seq}
        return take_fields(Cycle, event, id=event.cycle, **times)
    if cycle is None or not cycle.open:
        return cycle
    match event:
        case e.CycleAdvanced():
            return _advance(cycle, event, seq)
        case e.CycleValidated():
            return _validate(cycle, event)
        case e.CycleFrozen():
            return _freeze(cycle, event, seq)
        case e.CycleEnded(outcome="done"):
            commits = {**cycle.commits, Stage.GREEN: event.commit}
            ended = replace(cycle, stage=Stage.DONE, entered=event.at, since=seq)
            workers = _join_workers(cycle, Stage.GREEN, event.workers)
            return replace(ended, commits=commits, evidence=event.evidence, workers=workers)
        case e.CycleEnded() | e.SwitchedOff():
            return None
        case _:
            return _within_stage(cycle, event, seq)


def _within_stage(cycle: Cycle, event: Event, seq: int) -> Cycle:
    match event:
        case e.CycleMoved():
            return replace(cycle, tree=event.tree)
        case e.CycleStopped():
            return replace(cycle, stopped=event.why)
        case e.CycleResumed():
            return replace(cycle, stopped="", bug="")
        case e.TestBug() if cycle.stage is Stage.GREEN:
            why = f"the coder says that a test is wrong: {', '.join(event.places)} — {event.why}"
            return replace(cycle, bugs=cycle.bugs + 1, bug=event.bug, stopped=why)
        case e.Accepted() if cycle.stage is Stage.GREEN:
            green = (*cycle.green, event.test_id)
            return replace(cycle, green=green, settled=seq, accepted=event.after, tree=event.after)
        case _:
            return cycle


def _advance(cycle: Cycle, event: e.CycleAdvanced, seq: int) -> Cycle:
    left = cycle.stage
    commits = {**cycle.commits, left: event.commit} if event.commit else cycle.commits
    again = event.stage == Stage.RED
    return replace(
        cycle,
        stage=Stage(event.stage),
        tree=event.tree,
        entered=event.at,
        since=seq,
        plan_hash=event.plan_hash or cycle.plan_hash,
        planned=event.tree if left is Stage.PLAN else cycle.planned,
        workers=_join_workers(cycle, left, event.workers),
        commits=commits,
        verdict="" if again else cycle.verdict,
        stopped="",
        bug="",
        green=() if again else cycle.green,
    )


def _freeze(cycle: Cycle, event: e.CycleFrozen, seq: int) -> Cycle:
    return replace(
        cycle,
        stage=Stage.GREEN,
        entered=event.at,
        since=seq,
        tree=event.tree,
        frozen=event.tree,
        frozen_hash=event.spec_hash,
        tests=event.tests,
        commits={**cycle.commits, Stage.RED: event.commit},
    )


def _validate(cycle: Cycle, event: e.CycleValidated) -> Cycle:
    return replace(
        cycle,
        verdict=event.verdict,
        record=event.record,
        judged=event.tree,
        findings=event.findings,
        rounds=cycle.rounds + (event.verdict != PASS),
        workers=_join_workers(cycle, Stage.VALIDATE, (event.by,), anew=True),
        stopped=event.findings[0] if event.verdict == BLOCKER and event.findings else "",
    )


def _join_workers(
    cycle: Cycle, stage: str, workers: tuple[Actor, ...], *, anew: bool = False
) -> Mapping[str, tuple[Actor, ...]]:
    earlier = () if anew else cycle.workers.get(stage, ())
    return {**cycle.workers, stage: tuple(dict.fromkeys((*earlier, *workers)))}
