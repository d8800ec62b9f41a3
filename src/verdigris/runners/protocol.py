"""What a runner is: it says how a test tool is called, and reads what the tool answers."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any, Protocol

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.confinement.needs import FindNeeds
    from verdigris.core.settings import Stack
    from verdigris.languages.folders import Folder, FoundStacks

    FindTool = Callable[[Stack, Path, Mapping[str, str]], "Toolset"]
    ReadLog = Callable[[str], Iterator[tuple[str, str]]]
    DetectStacks = Callable[[Path, Sequence[Folder]], FoundStacks]


class Progress(Protocol):
    """Watches runs."""

    def began(self, step: str) -> None:
        """What the next runs are for, in words."""
        ...

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


def announce(progress: Progress | None, step: str) -> None:
    if progress is not None:
        progress.began(step)


@value
class RequestedRuns:
    """A set of runs that each have other texts of some files.

    Nothing in it says which texts are the true ones.
    """

    texts: tuple[Mapping[str, str], ...]
    """For each run, the text of each file by its path."""
    seconds: float = 60
    """The time for all runs together."""
    each: float = 60
    """The time for one run."""
    bare: bool = False
    """Each run loads the test tool itself."""
    until_failure: bool = False
    """A run ends with its first failing test."""
    names: tuple[tuple[str, ...], ...] = ()
    """For each run, the ids of the tests that it runs; none: all that are asked for."""
    preload: tuple[str, ...] = ()
    """Installed modules that are loaded before all runs."""


@value
class TestRequest:
    """Which tests of a stack are to run, and how. The caller names the tests; the kernel adds the place.

    Ids and paths are relative to the worktree. A runner that cannot trace, or cannot try variants, leaves
    these fields alone: its report then has no lines and no outcomes.
    """

    __test__ = False

    names: tuple[str, ...] = ()
    """Ids, files and folders; no name means all of the stack."""
    worktree: str = ""
    stack_root: str = ""
    report_folder: str = ""
    """An empty folder outside the tree that only the run may write."""
    extra: tuple[str, ...] = ()
    """Arguments for the tool: the configuration's, and those of this run."""
    collect_only: bool = False
    withheld: tuple[str, ...] = ()
    """Test files that the project's code must not read: they are emptied as soon as they are compiled."""
    trace: tuple[str, ...] = ()
    """Files whose executed lines the report shall contain."""
    runs: RequestedRuns | None = None
    """A set of runs instead of one.

    Each is a process that starts with nothing of the project loaded. The texts of a run are written into the
    tree. Lines are traced in one more run.
    """
    sources: tuple[str, ...] | None = None
    """The folders from which the project's modules are imported.

    If it is not None, the run is for a verdict: no cached byte code of the project is used, and the report
    says where modules were loaded from.
    """
    command: tuple[str, ...] = ()
    """The command that runs instead of the tool; see `Stack.test_command_for`."""
    timeout: float | None = None
    """Seconds for the whole run; None: as configured."""
    limit: float | None = None
    """Seconds after which a test that has not ended is stopped, and fails where it is."""
    watch: Mapping[str, Collection[int]] = field(default_factory=dict)
    """By traced file, lines of which the report says what they leave changed for the whole process."""
    uses: bool = False
    """Whether the report shall contain the project's functions that each test runs.

    A traced run reports those of the traced files in any case.
    """
    learn: bool = False
    """Whether the report shall list the installed modules that were loaded, for a resident to load them."""
    private: tuple[str, ...] | None = None
    """Folders whose contents are thrown away after the run, with the tree. None: the tree is kept."""
    nonce: str = ""
    """The first word of every line that a reporter writes on its channel."""

    @property
    def folder(self) -> str:
        """The absolute path of the stack's folder."""
        return posixpath.normpath(posixpath.join(self.worktree, self.stack_root))

    def in_stack(self, path: str) -> str:
        """The path relative to the stack's folder."""
        return posixpath.relpath(f"/{path}", posixpath.join("/", self.stack_root))

    def for_wrapper(self) -> dict[str, Any]:
        """The settings of our wrapper around a test binary."""
        return {
            "folder": self.report_folder,
            "worktree": self.worktree,
            "list": self.collect_only,
            "withheld": self.withheld,
            "limit": self.limit,
        }


@value
class ReportChannel:
    """A descriptor on which our reporter in the tool writes, apart from the tool's output."""

    env: str
    """The variable that gives the process the number of the descriptor."""
    hello: bytes
    """The bytes that the process reads from it first."""
    nonce: str


@value
class RunnerCall:
    """A command for the kernel to execute."""

    argv: tuple[str, ...]
    """If there is a channel, it is the same for every run of a stack, so that the process can start early."""
    cwd: str
    command: str
    """The command as a person would type it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the run."""
    channel: ReportChannel | None = None


@value
class RunnerAnswer:
    """The result of a command."""

    call: RunnerCall
    exit_code: int | None
    """The exit code; None if a signal ended the process."""
    timed_out: bool
    duration_ms: int
    output: bytes
    """Standard output and standard error, interleaved as they came."""
    reports: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of the files in the report folder, by relative name."""
    lines: tuple[bytes, ...] = ()
    """The lines that came over the channel."""


class Runner(Protocol):
    """One test tool: makes commands of a request, and a report of their results. It executes nothing."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        """The commands that run the tests: one if possible.

        A tool with several kinds of tests may need more.
        """

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        """Reads the results. `answers`: one for each command; only the first one if the build failed."""


@value
class Toolset:
    """A runner with the tool that was found for it on this machine."""

    runner: Runner
    programs: tuple[str, ...]
    """Absolute paths of the program that is started, and of those that it reads or starts itself."""
    lead: int = 1
    """How many words of a call name the program; the others are its arguments."""
    env: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    """Folders of the user that a run reads; what it writes into them is thrown away."""
    package: str = ""
    """The absolute path of the script that the program runs, if an installed package brings it."""


@value
class Harness:
    """How the harness of SWE-bench runs the tool and reads its output."""

    parser: str
    """The function of the harness that reads what the tool prints."""
    name: Callable[[str], str]
    """Turns a native id into the name that the parser gives the test."""
    command: Callable[[Collection[str]], str]
    """The command that runs these test files and prints a line for each test."""
    image: str
    """The base image of the Dockerfile."""
    install: tuple[str, ...]
    """Shell lines that install what the tests need; the last step of the Dockerfile."""


@value
class RunnerKind:
    """One test tool; a field that is not given has a default that suits most tools."""

    name: str
    """Its name for `runner:` in tdd.yaml."""
    languages: tuple[str, ...] = ()
    """The languages that it tests, besides those whose facts name it."""
    in_interpreter: bool = False
    """The user's Python interpreter runs it, together with our reporter."""
    has_marks: bool = False
    """It can select tests by a mark (`-m MARK`)."""
    can_collect: bool = True
    """It can list its tests without running them."""
    takes: str = ""
    """Says which files it takes for tests; shown to a person whose test file it does not take."""
    loads_modules: bool = True
    """For Node: a test in any module format can import ES modules."""
    has_templates: bool = False
    """The keys under `junit` of a stack describe its tool."""
    package: str = ""
    """The package that brings it; empty if it comes with the language's own tools."""
    oldest: tuple[int, ...] = ()
    """The oldest version of the package that works."""
    oldest_program: tuple[int, ...] = ()
    """The oldest version that works of the program that is started."""
    version_word: str = "--version"
    """The argument with which the program prints its version."""
    read_log: ReadLog | None = None
    """Reads the failed tests from what the tool prints, in a CI's log for example: id and kind of each."""
    downloads: tuple[tuple[str, str], ...] = ()
    """Pairs: a regex for what the tool prints when it lacks a download, and the command for the download."""
    missing: tuple[tuple[str, str], ...] = ()
    """The same for what the user installs with a command of the project."""
    find_needs: FindNeeds | None = None
    """Reads from a failure which settings of the room the tool needs."""
    refusals: str = ""
    """A regex for what the tool prints when a plugin is missing that the project's configuration names."""
    is_doc_test: Callable[[str], bool] | None = None
    """Says whether an id names a test in the documentation of source."""
    harness: Harness | None = None
    detect: DetectStacks | None = None
    """Finds stacks that only this tool tests, whatever their language."""
    find: FindTool | None = None
    """Finds the tool of a third party's runner.

    Tools of our runners are found in `verdigris.execution.tools`.
    """
    tool: object = None
    """Instead of `find`: a `verdigris.execution.tools.registry.TestTool`, which can do more."""


TAIL = 4_000
"""The most characters of a tool's output that a report keeps."""
OUTPUT = 20_000
"""The most characters of a test's own output that a result keeps."""
RANK = {Status.PASS: 0, Status.SKIP: 1, Status.FAIL: 2, Status.ERROR: 3}

TWICE = Failure("ReportedTwice", assertion=False, message="it was reported twice: one of them is forged")
CONTRADICTION = Failure(
    "Contradiction", assertion=False, message="its report and the end of its process contradict each other"
)


def relative(path: str, worktree: str, folder: str = "") -> str:
    """Makes a `Place.path`: relative to the worktree if it lies there, else absolute.

    `folder`: the folder to which `path` is relative, from the worktree.
    """
    full = posixpath.normpath(posixpath.join(worktree, folder, path))
    top = posixpath.normpath(worktree)
    return posixpath.relpath(full, top) if full.startswith(top + "/") else full


def is_asked(test_id: str, path: str, names: Sequence[str]) -> bool:
    """Whether a test is among the names: ids, files or folders. No names mean all tests."""
    return not names or any(
        name in {test_id, path, ".", ""} or path.startswith(name.rstrip("/") + "/") for name in names
    )


def split_arguments(extra: Sequence[str], mark: str) -> tuple[list[str], list[str]]:
    """The tool's own arguments, and those after the mark, which are for the test binaries."""
    at = extra.index(mark) if mark in extra else len(extra)
    return [*extra[:at]], [*extra[at + 1 :]]


def read_record(data: bytes | str) -> Mapping[str, Any]:
    """Reads a JSON object; it is empty if there is none, or if it was cut short."""
    try:
        record = json.loads(data)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def end_of_answer(answer: RunnerAnswer, *, started: bool) -> RunEnd:
    """How the run of a tool that builds first ended; `started`: whether a test binary was started."""
    if answer.timed_out:
        return RunEnd.TIMEOUT
    if answer.exit_code is None:
        return RunEnd.DIED
    return RunEnd.FINISHED if started or answer.exit_code == 0 else RunEnd.NO_START


def unfinished_failure(ended: RunEnd) -> Failure:
    kind = "Timeout" if ended is RunEnd.TIMEOUT else "Crash"
    return Failure(kind, assertion=False, message=f"the run ended in this test ({ended})")


def stopped_failure(seconds: float, frames: tuple[Place, ...]) -> Failure:
    """The failure of a test that was stopped. `frames`: where it was, beginning with the test's own frame."""
    place = frames[-1] if frames else None
    where = f", while it ran in {place.path}:{place.line}" if place else ""
    message = f"stopped after {seconds:g} s{where}"
    return Failure("Timeout", assertion=False, message=message, place=place, frames=frames)


def stopped_result(
    test_id: str, seconds: float, frames: tuple[Place, ...], *, output: str = ""
) -> TestResult:
    failure, milliseconds = stopped_failure(seconds, frames), round(seconds * 1000)
    return TestResult(test_id, test_id, "native", Status.FAIL, RunPhase.CALL, milliseconds, failure, output)


def untrusted_result(test_id: str, failure: Failure, *, output: str = "") -> TestResult:
    return TestResult(test_id, test_id, "native", Status.ERROR, RunPhase.CALL, 0, failure, output)


def worst(results: Iterable[TestResult]) -> TestResult:
    """The worst of several results of one test, which several binaries may contain."""
    return max(results, key=lambda result: RANK[result.status])


def tail(answers: Iterable[RunnerAnswer]) -> str:
    return b"".join(answer.output for answer in answers)[-TAIL:].decode("utf-8", "replace")
