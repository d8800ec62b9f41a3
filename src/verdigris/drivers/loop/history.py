"""Folds the log to the state of a program, and decides its next phase and when it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from itertools import takewhile

from verdigris.core.events import Event, decode
from verdigris.core.records import Record
from verdigris.core.state import State
from verdigris.core.value import value
from verdigris.drivers.loop import events as e
from verdigris.drivers.play import RunEnd
from verdigris.storage.log.log import Log

ACCEPTED, REJECTED, ERROR = "accepted", "rejected", "error"
BLOCKED, CI_EXHAUSTED = "blocked", "ci-fix-exhausted"
FAILING, PASSING = "failing", "passing"
_OF_PROGRAMS = frozenset(name for name, cls in Event.kinds.items() if issubclass(cls, e.ProgramEvent))


@value
class Behaviour:
    """One entry of the harness."""

    tests: tuple[str, ...]
    target: str
    behaviour: str
    source: str
    added: int
    """The iteration that wrote its test."""
    status: str = FAILING
    made: int = 0
    """The iteration that made it pass."""
    blocked: str = ""
    """Why a person has to look."""
    revisions: tuple[str, ...] = ()
    """The reason of each revision of its test."""

    @property
    def name(self) -> str:
        return self.tests[0] if self.tests else self.target


@value
class OpenIteration:
    number: int
    commit: str
    tree: str
    choice: str
    rest: str
    """The tree that the last step left; a refused attempt goes back to it."""
    before: tuple[Behaviour, ...] = ()
    """The harness at its start."""
    pinned: Behaviour | None = None
    attempts: int = 0
    """How many attempts failed to make it pass."""
    reasons: tuple[str, ...] = ()
    """Why the last attempt failed."""
    rethought: bool = False
    picks: int = 0
    """How many new tests passed at once."""
    made: e.BehaviourMade | None = None
    refactor: e.RefactorChosen | None = None
    payments: int = 0
    """How many tests were added because no other noticed what the code decides."""
    measured: e.Measured | None = None
    ci: tuple[e.CheckedByCi, ...] = ()


@value
class ProgramState:
    name: str
    iterations: tuple[e.IterationEnded, ...] = ()
    open: OpenIteration | None = None
    harness: tuple[Behaviour, ...] = ()
    """The oldest first."""
    best: e.Measured | None = None
    """The last accepted measurement."""
    paused: str = ""
    """Why it is paused; empty if it is not."""
    completed: str = ""
    lessons: tuple[str, ...] = ()
    since: int = 0
    """How many iterations had ended when it was resumed last."""

    @property
    def count(self) -> int:
        """The number of the last iteration."""
        return self.open.number if self.open else (self.iterations[-1].number if self.iterations else 0)

    @property
    def last_run(self) -> int:
        return self.iterations[-1].at if self.iterations else 0

    @property
    def recent(self) -> tuple[str, ...]:
        """The statuses since the program was resumed last, the newest last."""
        return tuple(one.status for one in self.iterations[self.since :])

    @property
    def errors(self) -> int:
        """Iterations in a row that ended with an error."""
        return len(tuple(takewhile(lambda status: status == ERROR, reversed(self.recent))))

    @property
    def failing(self) -> tuple[Behaviour, ...]:
        return tuple(one for one in self.harness if one.status == FAILING)


def read_history(records: Iterable[Record], program: str) -> ProgramState:
    return reduce(_step, records, ProgramState(program))


def follow_history(log: Log[State], program: str) -> ProgramState:
    """The same of a log, which reads only what is new to it."""
    return log.fold(f"loop {program}", ProgramState(program), _step)


def _step(state: ProgramState, record: Record) -> ProgramState:
    if record.type not in _OF_PROGRAMS or record.data.get("program") != state.name:
        return state
    event = decode(record.type, record.data)
    return state if event is None else advance(state, event)


def accepted_metrics(state: ProgramState) -> tuple[float, ...]:
    """The metrics of accepted iterations, the oldest first."""
    measured = (one.metric for one in state.iterations if one.status == ACCEPTED)
    return tuple(metric for metric in measured if metric is not None)


def advance(s: ProgramState, event: Event) -> ProgramState:
    match event:
        case e.IterationBegun():
            left = (s.open.pinned if s.open else None) or next(iter(s.failing), None)
            pinned = left if event.choice != "new" else None  # the red that an earlier iteration left
            open_ = OpenIteration(event.number, event.commit, event.tree, event.choice, event.tree, s.harness)
            return replace(s, open=replace(open_, pinned=pinned))
        case e.IterationEnded():
            lessons = tuple(dict.fromkeys((*s.lessons, *event.lessons)))
            best = s.open.measured if s.open and event.status == ACCEPTED else None
            harness = s.open.before if s.open and event.status == REJECTED else s.harness
            return replace(
                s,
                iterations=(*s.iterations, event),
                open=None,
                harness=harness,
                lessons=lessons,
                best=best or s.best,
            )
        case e.ProgramPaused():
            return replace(s, paused=event.reason)
        case e.ProgramResumed():
            return replace(s, paused="", completed="", since=len(s.iterations))
        case e.ProgramCompleted():
            return replace(s, completed=event.reason)
        case e.StatusSet():
            why = "a person says so" if event.status == BLOCKED else ""
            return _with_entry(s, (event.test,), lambda one: replace(one, status=event.status, blocked=why))
        case e.Measured() if event.iteration == 0:
            return replace(s, best=event)  # measured again, on a base that moved
        case _ if s.open is not None:
            return _advance_open(s, s.open, event)
        case _:
            return s


def _advance_open(s: ProgramState, open_: OpenIteration, event: Event) -> ProgramState:
    match event:
        case e.BehaviourPinned() | e.TestRethought() | e.BehaviourMade() | e.RefactorChosen() | e.DebtsPaid():
            open_ = replace(open_, rest=event.tree)
    match event:
        case e.BehaviourPinned():
            pinned = Behaviour(event.tests, event.target, event.behaviour, event.source, event.iteration)
            return replace(s, open=replace(open_, pinned=pinned, attempts=0), harness=(*s.harness, pinned))
        case e.AlreadyPassing():
            return replace(s, open=replace(open_, picks=open_.picks + 1))
        case e.GreenFailed():
            return replace(s, open=replace(open_, attempts=event.attempt, reasons=event.reasons))
        case e.TestRethought():
            revised = (event.why,) if event.after else ()
            return _with_entry(
                replace(s, open=replace(open_, rethought=True)),
                event.tests,
                lambda one: replace(one, tests=event.tests, revisions=(*one.revisions, *revised)),
            )
        case e.BehaviourMade():
            s = replace(s, open=replace(open_, made=event))
            return _with_entry(s, event.tests, lambda one: replace(one, status=PASSING, made=event.iteration))
        case e.BehaviourBlocked():
            return _with_entry(s, event.tests, lambda one: replace(one, status=BLOCKED, blocked=event.why))
        case e.RefactorChosen():
            return replace(s, open=replace(open_, refactor=event))
        case e.DebtsPaid():
            return replace(s, open=replace(open_, payments=open_.payments + 1))
        case e.Measured():
            return replace(s, open=replace(open_, measured=event))
        case e.CheckedByCi():
            return replace(s, open=replace(open_, ci=(*open_.ci, event)))
        case _:
            return s


def _with_entry(
    s: ProgramState, tests: tuple[str, ...], change: Callable[[Behaviour], Behaviour]
) -> ProgramState:
    """Changes the entry that holds one of these tests, or the open one if its test was renamed."""
    open_ = s.open
    known = [one for one in s.harness if not {one.name, *one.tests}.isdisjoint(tests)]
    found = known[-1] if known else (open_.pinned if open_ else None)
    if found is None:
        return s
    after = change(found)
    harness = tuple(after if one is found or one == found else one for one in s.harness)
    if open_ is not None and open_.pinned == found:
        open_ = replace(open_, pinned=after)
    return replace(s, harness=harness, open=open_)


RETRIES = 3
"""Attempts to make a test pass before the test itself is doubted."""
ERRORS = 3
"""After so many iterations in a row with an error the test is rethought; one more pauses the program."""
PLATEAU = 5
"""Rejections in a row that pause the program."""


class LoopPhase(StrEnum):
    RED = "red"
    GREEN = "green"
    RETHINK = "rethink-test"
    BLOCK = "block"
    REFACTOR = "refactor"
    OPTIMIZE = "optimize"
    PAY = "pay"
    COMMIT = "commit"
    EVALUATE = "evaluate"
    ACCEPT = "accept"


def choose_iteration(state: ProgramState) -> str:
    """An open red comes before anything new; after three errors in a row its test is doubted."""
    if state.errors >= ERRORS:
        return "rethink"
    return "failing" if state.failing else "new"


def next_phase(
    now: OpenIteration, *, is_test_driven: bool, committed: bool, owes: bool, attempts: int
) -> LoopPhase:
    """`owes`: no test notices what it decides. `attempts`: how many there may be to make its test pass."""
    if is_test_driven and (phase := _pinning_phase(now, attempts)) is not None:
        return phase
    if now.refactor is None:
        return LoopPhase.REFACTOR if is_test_driven else LoopPhase.OPTIMIZE
    if not committed:
        return LoopPhase.PAY if owes and is_test_driven else LoopPhase.COMMIT
    return LoopPhase.EVALUATE if now.measured is None else LoopPhase.ACCEPT


def _pinning_phase(now: OpenIteration, attempts: int) -> LoopPhase | None:
    if now.pinned is None:
        return LoopPhase.RED
    if now.made is not None:
        return None
    if now.attempts >= attempts:
        return LoopPhase.BLOCK
    doubted = now.attempts >= RETRIES or now.choice == "rethink"
    return LoopPhase.RETHINK if doubted and not now.rethought else LoopPhase.GREEN


def attempts_left(now: OpenIteration, attempts: int) -> int:
    """How many attempts at the code are left before the test is doubted or blocked."""
    return (attempts if now.rethought else min(RETRIES, attempts)) - now.attempts


# -- how a run ends ----------------------------------------------------------------------------


class LoopOutcome(StrEnum):
    """How a run ends."""

    COMPLETED = "completed"
    NOTHING_DUE = "nothing-due"
    LIMIT = "limit"
    STUCK = "stuck"
    BLOCKED = "blocked"
    PAUSED = "paused"
    INFRASTRUCTURE = "infrastructure"
    UNPROVEN = "not-proven"
    """Commits were made, and something is open: the suite lost a test, for instance."""


EXIT_CODES = {
    LoopOutcome.COMPLETED: 0,
    LoopOutcome.LIMIT: 0,
    LoopOutcome.NOTHING_DUE: 1,
    LoopOutcome.STUCK: 5,
    LoopOutcome.BLOCKED: 6,
    LoopOutcome.PAUSED: 7,
    LoopOutcome.UNPROVEN: 8,
    LoopOutcome.INFRASTRUCTURE: 69,
}


def pause_reason(state: ProgramState) -> str:
    """Why the program stops itself after its last iteration; empty: it goes on."""
    last = state.iterations[-1] if state.iterations else None
    if last is None:
        return ""
    if last.status == BLOCKED:
        return f"td-stuck: {last.target}"
    if last.status == CI_EXHAUSTED:
        return last.notes[0] if last.notes else "ci-fix-exhausted"
    if state.errors > ERRORS:
        return f"consecutive errors: {state.errors}, the test was rethought in between"
    recent = state.recent[-PLATEAU:]
    if len(recent) == PLATEAU and set(recent) == {REJECTED}:
        return f"plateau: the last {PLATEAU} iterations were rejected"
    return ""


def end_of_pause(name: str, reason: str) -> RunEnd:
    """The end of a run whose program is paused."""
    following = f"look at `tdd loop status {name}`, then `tdd loop resume {name}`"
    if reason.startswith("td-stuck"):
        return RunEnd(LoopOutcome.BLOCKED, reason, following)
    stuck = ("consecutive errors", "plateau", "ci-", "stuck in CI")
    return RunEnd(LoopOutcome.STUCK if reason.startswith(stuck) else LoopOutcome.PAUSED, reason, following)
