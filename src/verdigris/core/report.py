"""What a test run reported, as data: the words in which every runner speaks to the kernel."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

IdSource = Literal["native", "annotation"]


class Status(StrEnum):
    PASS = "pass"  # noqa: S105 - a status
    FAIL = "fail"
    """A failure in the call phase, whatever was raised."""
    ERROR = "error"
    """Collect, setup or teardown went wrong, or the run died in this test."""
    SKIP = "skip"
    """Skipped, xfailed or xpassed: never a pass."""


class RunPhase(StrEnum):
    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class Ended(StrEnum):
    """How the run itself ended, whatever its tests did."""

    FINISHED = "finished"
    TIMEOUT = "timeout"
    DIED = "died"
    """Killed by a signal, or gone without the reporter's farewell."""
    EARLY_EXIT = "early-exit"
    """The process exited (even with 0) before every collected test was reported."""
    NO_START = "no-start"
    """The runner refused to start: bad configuration, missing pytest, usage error."""


@value
class Place:
    path: str
    """Relative to the worktree's root, with `/`; absolute when outside it."""
    line: int


@value
class Failure:
    kind: str
    """The exception's class name, e.g. `AssertionError`, `AttributeError`, `Failed`."""
    assertion: bool
    """An AssertionError or a framework's own failure (`pytest.fail`, "DID NOT RAISE")."""
    message: str
    place: Place | None = None
    """The deepest frame."""
    frames: tuple[Place, ...] = ()
    """From the test's own frame down to `place`."""
    bases: tuple[str, ...] = ()
    """Built-in classes that the exception is of, itself included, nearest first."""
    subject: str | None = None
    """For a missing attribute or argument: the file that defines the object it is missing on."""

    @property
    def own_place(self) -> Place | None:
        """The deepest frame inside the project: a framework's own lines tell a reader nothing."""
        own = [frame for frame in self.frames if not frame.path.startswith("/")]
        return own[-1] if own else self.place


@value
class Property:
    """How a test of a property was tried."""

    settings: str
    ran: int
    """Inputs for which it came to its end."""
    rejecting: tuple[str, ...] = ()
    """Files of the worktree whose code turned inputs down."""


@value
class TestResult:
    __test__ = False

    id: str
    native_id: str
    """`<rel-path>::<full name>`, whatever the annotation says."""
    id_source: IdSource
    status: Status
    phase: RunPhase
    duration_ms: int
    failure: Failure | None = None
    output: str = ""
    """Captured output, capped."""
    line: int = 0
    """Where the test is defined, 1-based; 0 when unknown."""
    defined_in: str | None = None
    """The file of the test's function, as Place.path; differs from the id's for names pulled in by import."""
    note: str = ""
    """The reason of a skip, or `xfail` / `xpass`."""
    property: Property | None = None


@value
class CollectError:
    path: str
    kind: str
    message: str


@value
class VariantOutcome:
    """What the selected tests did in one run of a set."""

    index: int
    outcomes: Mapping[str, Literal["passed", "failed", "skipped"]] = field(default_factory=dict)
    """By native id, of the tests that ended; one that did not come to its call counts as skipped."""
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Of those that failed, by native id: the frames in the changed files."""
    why: str = ""
    """Why tests are missing; empty when none is."""


@value
class FileUse:
    """What a run did with a file of the worktree that is no part of an environment."""

    path: str
    how: Literal["read", "wrote", "executed", "made"]
    """`made`: it ran code that stands in no file of code, such as a pickle's or a text's."""
    by: str = ""
    """The nearest file of the project that asked for it, with the line where code was made."""


@value
class TestReport:
    __test__ = False

    command: str
    """The command as a person would type it: also the key of the red cache."""
    ended: Ended
    exit_code: int | None
    duration_ms: int
    results: tuple[TestResult, ...] = ()
    collected: tuple[str, ...] = ()
    """Native ids, in order, after deselection."""
    others: tuple[str, ...] = ()
    """Native ids that were collected but not selected: what a mistyped id may have meant."""
    errors: tuple[CollectError, ...] = ()
    tail: str = ""
    """The last lines the runner printed, for a person to read when it did not finish."""
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Executed lines per traced file, where tracing was asked for."""

    strays: int = 0
    """Lines on the channel that the reporter did not write."""
    variants: tuple[VariantOutcome, ...] = ()
    """Where a set of runs was asked for: how each of them ended."""
    installed: tuple[str, ...] = ()
    """In a verdict's run: modules of the environment that it loaded, and that later runs may share."""
    loaded: tuple[str, ...] = ()
    """In a verdict's run: the files below the worktree's root of the modules that it loaded."""
    outside: tuple[str, ...] = ()
    """In a verdict's run: `FILE instead of PATH`, of modules that came from elsewhere than they should."""
    files: tuple[FileUse, ...] = ()
    """What the run itself tells of the files it opened, in Python."""
    opened: tuple[str, ...] = ()
    """Files of the worktree, outside of environments, that were opened in the run's room by anybody."""
    below: tuple[str, ...] = ()
    """Files of code outside the project that it loaded: absolute paths."""
    sandbox: Literal["overlay", "none"] = "none"
    """In what the run was made."""
    wrote: tuple[str, ...] = ()
    """Protected paths that it wrote or deleted; in an overlay that has no effect."""
    notes: tuple[str, ...] = ()
    """What the room could not give."""

    def result(self, test_id: str) -> TestResult | None:
        return next((r for r in self.results if test_id in {r.id, r.native_id}), None)
