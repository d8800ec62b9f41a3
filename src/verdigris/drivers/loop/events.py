"""The events of programs: what each iteration pinned, tried, measured and decided.

They change no state of the kernel, so only the loop needs to know them.
"""

from __future__ import annotations

from verdigris.core.records import Event
from verdigris.core.value import value


@value
class ProgramEvent(Event):
    program: str


@value
class IterationEvent(ProgramEvent):
    iteration: int


@value
class IterationBegun(ProgramEvent):
    """One round of a program begins on this commit."""

    number: int
    commit: str
    tree: str
    """A rejected iteration goes back to it."""
    at: int
    """Milliseconds since the epoch, as in every event here."""
    choice: str = "new"
    """`new`, `failing` (a red that an earlier iteration left) or `rethink` (after three errors in a row)."""


@value
class BehaviourPinned(IterationEvent):
    """A test that is red for the right reason; its entry in the harness is `failing`."""

    tests: tuple[str, ...]
    target: str
    behaviour: str
    source: str
    """The source of truth that states the behaviour."""
    tree: str
    assertions: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    """Edge cases that the test covers."""
    excluded: tuple[str, ...] = ()
    """Edge cases that it leaves to other tests."""


@value
class AlreadyPassing(IterationEvent):
    """The new test passed at once, so another behaviour is picked."""

    target: str


@value
class GreenFailed(IterationEvent):
    """An attempt to make the pinned test pass was refused."""

    attempt: int
    reasons: tuple[str, ...]


@value
class TestRethought(IterationEvent):
    """The test writer read the source of truth again, and revised the test or kept it."""

    __test__ = False

    tests: tuple[str, ...]
    why: str
    tree: str
    before: str = ""
    """The test's text before the revision; empty if the test was kept."""
    after: str = ""


@value
class BehaviourMade(IterationEvent):
    """The pinned test passes, and so does every other test."""

    tests: tuple[str, ...]
    tree: str
    lines: int
    """Lines of source that the edit added and removed."""
    subject: str = ""
    rationale: str = ""


@value
class BehaviourBlocked(IterationEvent):
    """The attempts are used up, and a person has to look. The test stays, marked as skipped if it can be."""

    tests: tuple[str, ...]
    why: str
    skipped: bool = False


@value
class RefactorChosen(IterationEvent):
    """The change of the improver; in a ratchet, of the optimizer."""

    tree: str
    improvement: str = ""
    """Empty if no change was needed."""
    why: str = ""
    lesson: str = ""


@value
class DebtsPaid(IterationEvent):
    """A test of the test writer passes at once, and notices what no test noticed."""

    tests: tuple[str, ...]
    tree: str


@value
class Measured(IterationEvent):
    """The evaluator's number for the candidate."""

    tree: str
    metric: float
    passing: int | None = None
    failing: int | None = None
    held_out: float | None = None
    said: str = ""
    """The evaluator's other output, if tests failed."""
    noise: float = 0.0
    base: str = ""
    """The commit of the base branch that it builds on."""
    oracle: str = ""
    """A hash of the evaluator, its data and its commands."""
    name: str = ""
    """The evaluator's name for the number."""
    samples: tuple[float, ...] = ()


@value
class CheckedByCi(IterationEvent):
    """What CI said about the commit."""

    commit: str
    outcome: str
    """`passed`, `failed`, `unreachable` or `timeout`."""
    signature: str = ""
    attempt: int = 0


@value
class IterationEnded(ProgramEvent):
    """How a round ended: accepted, rejected or an error."""

    number: int
    status: str
    """`accepted`, `rejected`, `error`, `blocked` or `ci-fix-exhausted`."""
    at: int
    change: str = ""
    target: str = ""
    phase: str = ""
    """The last phase: red, green, refactor or rethink-test."""
    commit: str = ""
    metric: float | None = None
    previous: float | None = None
    """The best metric before it."""
    new_tests: int = 0
    notes: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    ci_attempts: int = 0
    run: str = ""
    """The address of the CI job that it ran in, if there was one."""
    regression: bool = False
    """An attempt broke a passing test, and a later one mended that."""


@value
class ProgramPaused(ProgramEvent):
    """A program stops until a person resumes it."""

    reason: str
    at: int


@value
class ProgramResumed(ProgramEvent):
    """Errors and rejections are counted from zero again."""

    why: str
    at: int


@value
class ProgramCompleted(ProgramEvent):
    """A program reached its goal."""

    reason: str
    at: int


@value
class StatusSet(ProgramEvent):
    """A person changed an entry of the harness."""

    test: str
    status: str


@value
class StateFileEdited(ProgramEvent):
    """A person changed the state file; separate events record what that means for the loop."""

    what: tuple[str, ...]
