"""The report of a test run: the values that every runner returns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from verdigris.core.test_ids import split_id
from verdigris.core.value import field, replace, value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.settings import Stack


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


class RunEnd(StrEnum):
    """How the run itself ended, whatever its tests did."""

    FINISHED = "finished"
    TIMEOUT = "timeout"
    DIED = "died"
    """Killed by a signal, or gone without the reporter's farewell."""
    EARLY_EXIT = "early-exit"
    """The process exited (even with 0) before every collected test was reported."""
    NO_START = "no-start"
    """The runner refused to start: bad configuration, a missing package, usage error."""


@value
class Place:
    path: str
    """Relative to the worktree's root, with `/`; absolute when outside it."""
    line: int


_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})


@value
class Failure:
    kind: str
    """The exception's class name, e.g. `AssertionError`, `AttributeError`, `Failed`."""
    assertion: bool
    """An AssertionError, or a failure that the test tool itself raised ("DID NOT RAISE")."""
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
        """The deepest frame in the project's own files; a framework's lines do not help a reader, also if it
        is installed below the project.
        """
        inside = [frame for frame in self.frames if not frame.path.startswith("/")]
        own = [frame for frame in inside if _INSTALLED.isdisjoint(frame.path.split("/"))]
        return own[-1] if own else self.place


@value
class Property:
    """How a property-based test was run."""

    settings: str
    ran: int
    """Inputs for which it came to its end."""
    rejecting: tuple[str, ...] = ()
    """Files of the worktree whose code rejected inputs."""


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
    """The results of the selected tests in one run of a set."""

    index: int
    outcomes: Mapping[str, Literal["passed", "failed", "skipped"]] = field(default_factory=dict)
    """By native id, of the tests that ended; one that never reached its call phase counts as skipped."""
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Of those that failed, by native id: the frames in the changed files."""
    messages: Mapping[str, str | None] = field(default_factory=dict)
    """Of those that failed, by native id: the assertion's message; None if something else failed."""
    why: str = ""
    """Why tests are missing; empty when none is."""


@value
class DoubleCall:
    """Source that was traced called code that stands in its place, by a name of its own."""

    test: str
    """The native id of the test that ran."""
    name: str
    """In the module of the caller; after a dot: in the class of its object."""
    path: str
    """Where the called code stands; empty: it is a mock of the standard library."""
    line: int
    by: str
    by_line: int
    """The call."""

    @property
    def place(self) -> str:
        return f"{self.by}:{self.by_line}"


@value
class FileUse:
    """What a run did with a file of the worktree, environments excluded."""

    path: str
    how: Literal["read", "wrote", "executed", "made"]
    """`made`: it ran code that it built from data, such as a pickle or a text."""
    by: str = ""
    """The nearest file of the project on the stack, with the line where code was made."""


@value
class LeftSetting:
    """What the process is set to, and a watched line of source left changed."""

    name: str
    before: str
    after: str
    at: str
    """`path:line`."""


@value
class TestUse:
    """What one test ran."""

    __test__ = False

    functions: int
    """The number of the set of functions."""
    hits: tuple[int, ...] = ()
    """Numbers of functions with a cache (`lru_cache`) from which it read a result."""
    fills: tuple[int, ...] = ()
    """Numbers of those into whose cache it put a result."""
    unsure: bool = False
    """It did something that is not recorded: it started a process or a thread, or used random inputs."""


@value
class RunUses:
    """What the tests of a run used of the project."""

    places: tuple[tuple[str, int], ...]
    """Functions, by file and first line."""
    sets: tuple[tuple[int, ...], ...]
    """Of numbers of functions."""
    tests: Mapping[str, TestUse]
    """By native id."""
    common: Mapping[str, int]
    """The number of the set that the tests of a file share, by its path; for all tests, the empty path."""
    files: tuple[str, ...] = ()
    """Files of the project whose code was run."""
    read: tuple[str, ...] = ()
    """Files that were opened for another purpose than to load a module."""
    known: tuple[str, ...] = ()
    """Files that were opened to load modules, and by the runner for itself."""
    listed: tuple[str, ...] = ()
    """Folders that were listed."""
    problem: str = ""
    """Why the record is incomplete."""


@value
class TestReport:
    __test__ = False

    command: str
    """The command as a person would type it: also the key of the red cache."""
    ended: RunEnd
    exit_code: int | None
    duration_ms: int
    results: tuple[TestResult, ...] = ()
    collected: tuple[str, ...] = ()
    """Native ids, in order, after deselection."""
    others: tuple[str, ...] = ()
    """Native ids that were collected but not selected: candidates for a mistyped id."""
    errors: tuple[CollectError, ...] = ()
    tail: str = ""
    """The last lines the runner printed, for a person to read when it did not finish."""
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Executed lines per traced file, if the run was traced."""
    cut: bool = False
    """Whether lines that ran are missing: Python drops a tracer where a test recurses too deeply."""
    doubles: tuple[DoubleCall, ...] = ()
    """Calls of code that stands in the place of source, if the run was traced."""

    strays: int = 0
    """Lines on the channel that the reporter did not write."""
    variants: tuple[VariantOutcome, ...] = ()
    """The result of each run, if a set of runs was requested."""
    installed: tuple[str, ...] = ()
    """In a verdict's run: modules of the environment that it loaded, and that later runs may share."""
    loaded: tuple[str, ...] = ()
    """In a verdict's run: the files below the worktree's root of the modules that it loaded."""
    outside: tuple[str, ...] = ()
    """In a verdict's run: `FILE instead of PATH` for each module that was loaded from a wrong place."""
    files: tuple[FileUse, ...] = ()
    """In Python: what the run itself reported about files that it opened."""
    opened: tuple[str, ...] = ()
    """Files of the worktree, outside environments, that any process in the run's room opened."""
    below: tuple[str, ...] = ()
    """Code files outside the project that it loaded: absolute paths."""
    outside_reads: tuple[FileUse, ...] = ()
    """In Python: what the project's code read outside worktree, interpreter and libraries, and where."""
    left: tuple[LeftSetting, ...] = ()
    """In Python: what watched lines left changed for the whole process."""
    sandbox: Literal["overlay", "none"] = "none"
    """What confined the run."""
    wrote: tuple[str, ...] = ()
    """Protected paths that it wrote or deleted; the worktree does not get that from an overlay."""
    notes: tuple[str, ...] = ()
    """What the room could not provide."""
    uses: RunUses | None = None
    """If it was requested."""

    def result(self, test_id: str) -> TestResult | None:
        return next((r for r in self.results if test_id in {r.id, r.native_id}), None)


_UNITED = (
    *(
        "doubles",
        "loaded",
        "outside",
        "files",
        "opened",
        "below",
        "outside_reads",
        "left",
        "installed",
        "notes",
    ),
)
"""Lists without repetitions."""
_WORST = (RunEnd.TIMEOUT, RunEnd.DIED, RunEnd.EARLY_EXIT, RunEnd.NO_START, RunEnd.FINISHED)


def merge_reports(reports: Iterable[TestReport]) -> TestReport:
    """Joins reports: it ended as badly as the worst of them, and was confined if all of them were."""
    first, *rest = reports
    for other in rest:
        worst = min(first, other, key=lambda report: _WORST.index(report.ended))
        united: dict[str, Any] = {
            name: tuple(dict.fromkeys(getattr(first, name) + getattr(other, name))) for name in _UNITED
        }
        first = TestReport(
            command=f"{first.command} && {other.command}",
            ended=worst.ended,
            exit_code=worst.exit_code or first.exit_code or other.exit_code,
            duration_ms=first.duration_ms + other.duration_ms,
            results=first.results + other.results,
            collected=first.collected + other.collected,
            others=first.others + other.others,
            errors=first.errors + other.errors,
            tail=worst.tail,
            lines={**first.lines, **other.lines},
            cut=first.cut or other.cut,
            strays=first.strays + other.strays,
            variants=_variants(first.variants, other.variants),
            sandbox="overlay" if first.sandbox == other.sandbox == "overlay" else "none",
            wrote=tuple(sorted({*first.wrote, *other.wrote})),
            **united,
        )
    return first


def _variants(first: Iterable[VariantOutcome], two: Iterable[VariantOutcome]) -> tuple[VariantOutcome, ...]:
    """The selected tests may be divided among commands; each command makes all runs of the set."""
    outcomes = {outcome.index: outcome for outcome in first}
    for outcome in two:
        earlier = outcomes.get(outcome.index, VariantOutcome(outcome.index))
        outcomes[outcome.index] = VariantOutcome(
            outcome.index,
            {**earlier.outcomes, **outcome.outcomes},
            {**earlier.places, **outcome.places},
            {**earlier.messages, **outcome.messages},
            earlier.why or outcome.why,
        )
    return tuple(outcomes.values())


@value
class SuiteNames:
    names: tuple[str, ...]
    """Ids and paths, relative to the worktree; all tests of the stack where there is none."""
    marks: tuple[str, ...]
    """Arguments for the runner."""


def suite_of(stack: Stack) -> SuiteNames:
    marks = [entry for entry in stack.suite if entry.startswith("-m")]
    names = tuple(_below(stack.root, entry) for entry in stack.suite if entry not in marks)
    return SuiteNames(
        names, tuple(word for mark in marks for word in ("-m", mark.removeprefix("-m").strip()))
    )


def unseen_files(report: TestReport, paths: Iterable[str]) -> tuple[str, ...]:
    """The test files that a run of all tests does not mention."""
    seen_paths = {split_id(native).path for native in (*report.collected, *report.others)}
    seen_paths |= {error.path for error in report.errors}
    return tuple(path for path in paths if path not in seen_paths)


def _below(root: str, entry: str) -> str:
    return entry if root in {".", ""} else f"{root.rstrip('/')}/{entry}"


@value
class RoomDifference:
    test_id: str
    """Or the path of a file that did not load."""
    outside: Status | None
    """None where it was not reported."""
    inside: Status | None
    why: str = ""
    """The message of the one that did not pass."""


def differences(outside: TestReport, inside: TestReport) -> tuple[RoomDifference, ...]:
    """Lists tests whose result differs in the room, in the order of the run outside."""
    first, second = _ends(outside), _ends(inside)
    lines = []
    for test_id in {**first, **second}:
        left, right = first.get(test_id), second.get(test_id)
        if _status(left) != _status(right):
            why = next((end[1] for end in (right, left) if end and end[1]), "")
            lines.append(RoomDifference(test_id, _status(left), _status(right), why))
    return tuple(lines)


def only(report: TestReport, differing: tuple[RoomDifference, ...]) -> TestReport:
    """The part of the room's report about tests that fail only there."""
    names = {difference.test_id for difference in differing if difference.inside is not Status.PASS}
    return replace(
        report,
        results=tuple(result for result in report.results if result.id in names),
        errors=tuple(error for error in report.errors if error.path in names),
    )


def _ends(report: TestReport) -> Mapping[str, tuple[Status, str]]:
    ends = {result.id: (result.status, _describe_end(result)) for result in report.results}
    return ends | {error.path: (Status.ERROR, f"{error.kind}: {error.message}") for error in report.errors}


def _describe_end(result: TestResult) -> str:
    failure = result.failure
    return result.note if failure is None else f"{failure.kind}: {failure.message}"


def _status(end: tuple[Status, str] | None) -> Status | None:
    return None if end is None else end[0]
