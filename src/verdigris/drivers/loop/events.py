"""What the log records of programs: what each iteration pinned, tried, measured and left.

These events change no state of the kernel, so that nothing but the loop has to know them.
"""

from __future__ import annotations

from verdigris.core.records import Event
from verdigris.core.value import value


@value
class IterationBegun(Event):
    program: str
    number: int
    commit: str
    tree: str
    """Where a rejected iteration goes back to."""
    at: int
    """Milliseconds since the epoch, as in every event here."""
    choice: str = "new"
    """`new`, `failing` (a red that was left) or `rethink` (three errors in a row)."""


@value
class BehaviourPinned(Event):
    """A test that is red for the right reason; its entry in the harness is `failing`."""

    program: str
    iteration: int
    tests: tuple[str, ...]
    target: str
    behaviour: str
    source: str
    """The source of truth that it follows."""
    tree: str
    assertions: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    """Edge cases that it has."""
    excluded: tuple[str, ...] = ()
    """Edge cases that it leaves to other tests."""


@value
class AlreadyPassing(Event):
    """The test that was written passed at once: something else is picked."""

    program: str
    iteration: int
    target: str


@value
class GreenFailed(Event):
    """An attempt to make the pinned test pass came to nothing."""

    program: str
    iteration: int
    attempt: int
    reasons: tuple[str, ...]


@value
class TestRethought(Event):
    """The source of truth was read again: the test was revised, or stands."""

    __test__ = False

    program: str
    iteration: int
    tests: tuple[str, ...]
    why: str
    tree: str
    before: str = ""
    """The test's text; empty where it stands as it was."""
    after: str = ""


@value
class BehaviourMade(Event):
    """Its test passes, with every other one."""

    program: str
    iteration: int
    tests: tuple[str, ...]
    tree: str
    lines: int
    """Lines of source that the green edit added and took away."""
    subject: str = ""
    rationale: str = ""


@value
class BehaviourBlocked(Event):
    """The attempts are used up: a person has to look. Its test stays, skipped where that can be said."""

    program: str
    iteration: int
    tests: tuple[str, ...]
    why: str
    skipped: bool = False


@value
class RefactorChosen(Event):
    """The improver's choice; of a ratchet, its one change."""

    program: str
    iteration: int
    tree: str
    improvement: str = ""
    """Empty: none was needed."""
    why: str = ""
    lesson: str = ""


@value
class Measured(Event):
    program: str
    iteration: int
    tree: str
    metric: float
    passing: int | None = None
    failing: int | None = None
    held_out: float | None = None
    said: str = ""
    """What the evaluator printed besides, where tests fail by it."""
    noise: float = 0.0
    base: str = ""
    """The commit of the base branch below it."""
    oracle: str = ""
    """A hash of the evaluator, its data and its commands."""
    name: str = ""
    """What the evaluator calls the number."""
    samples: tuple[float, ...] = ()


@value
class CheckedByCi(Event):
    program: str
    iteration: int
    commit: str
    outcome: str
    """`passed`, `failed`, `unreachable` or `timeout`."""
    signature: str = ""
    attempt: int = 0


@value
class IterationEnded(Event):
    program: str
    number: int
    status: str
    """`accepted`, `rejected`, `error`, `blocked` or `ci-fix-exhausted`."""
    at: int
    change: str = ""
    target: str = ""
    phase: str = ""
    """The last one: red, green, refactor or rethink-test."""
    commit: str = ""
    metric: float | None = None
    previous: float | None = None
    """The best before it."""
    new_tests: int = 0
    notes: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    ci_attempts: int = 0
    run: str = ""
    """The address of the run that it was part of, where there is one."""
    regression: bool = False
    """An attempt broke a test that had passed, and that was mended."""


@value
class ProgramPaused(Event):
    program: str
    reason: str
    at: int


@value
class ProgramResumed(Event):
    """Counts begin anew: errors, rejections, attempts at what was blocked."""

    program: str
    why: str
    at: int


@value
class ProgramCompleted(Event):
    program: str
    reason: str
    at: int


@value
class StatusSet(Event):
    """A person changed an entry of the harness."""

    program: str
    test: str
    status: str


@value
class StateFileEdited(Event):
    """A person changed the state file; what it means for the loop stands in events of its own."""

    program: str
    what: tuple[str, ...]
