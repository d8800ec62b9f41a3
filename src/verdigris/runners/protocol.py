"""What a runner is: how a test tool is called, and what its answer means."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any, Protocol

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestResult
from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.confinement.needs import FindNeeds
    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.languages.folders import Folder, FoundStacks

    FindTool = Callable[[Stack, Path, Mapping[str, str]], "Toolset"]
    ReadLog = Callable[[str], Iterator[tuple[str, str]]]
    DetectStacks = Callable[[Path, Sequence[Folder]], FoundStacks]


class Progress(Protocol):
    """Watches a run."""

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


@value
class RequestedRuns:
    """A set of runs of which each has other texts; nothing in it says which has the true ones."""

    texts: tuple[Mapping[str, str], ...]
    """For each run the texts, by path."""
    seconds: float = 60
    """For all runs together."""
    each: float = 60
    """For one run."""
    bare: bool = False
    """Each run loads the test tool itself."""
    preload: tuple[str, ...] = ()
    """Installed modules that are loaded before all runs."""
    watched: tuple[str, ...] = ()
    """Native ids of the tests whose lines one more run traces; empty: all."""


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
    """Files whose executed lines the report is to have."""
    runs: RequestedRuns | None = None
    """Instead of one run a set of them, each in a process that has loaded nothing of the project; their texts
    are written into the tree. What is traced is traced in one more run."""
    sources: tuple[str, ...] | None = None
    """Not None: the run is for a verdict. The folders from which the project's modules are imported: no
    cached bytecode of the project is used, and the report tells where modules were loaded from."""
    command: tuple[str, ...] = ()
    """What runs instead of the tool; see `Stack.test_command_for`."""
    timeout: float | None = None
    """Seconds for the whole run; None: as configured."""
    limit: float | None = None
    """Seconds after which a test that has not ended is stopped, and fails where it is."""
    uses: bool = False
    """Whether the report is to have the project's functions that each test runs."""
    learn: bool = False
    """Whether the report is to have the installed modules that were loaded, for a resident to preload."""
    private: tuple[str, ...] | None = None
    """Not None: the tree is thrown away after the run, and so is what these folders hold."""
    nonce: str = ""
    """Begins every line that a reporter writes on its channel."""

    @property
    def folder(self) -> str:
        """The stack's, absolute."""
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
    """A descriptor that the tool is given to report on, apart from what it prints."""

    env: str
    """The variable in which the process finds the descriptor."""
    hello: bytes
    """What the process reads from it first."""
    nonce: str


@value
class RunnerCall:
    """A command for the kernel to execute."""

    argv: tuple[str, ...]
    """If there is a channel, the same for every run of a stack, so that the process can start early."""
    cwd: str
    command: str
    """As a person would type it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the run."""
    channel: ReportChannel | None = None


@value
class RunnerAnswer:
    """The result of a command."""

    call: RunnerCall
    exit_code: int | None
    """None after a signal."""
    timed_out: bool
    duration_ms: int
    output: bytes
    """Standard output and standard error, as they came."""
    reports: Mapping[str, bytes] = field(default_factory=dict)
    """The files of the report folder, by relative name."""
    lines: tuple[bytes, ...] = ()
    """The lines that came over the channel."""


class Runner(Protocol):
    """One test tool: makes commands of a request, and a report of their results. It executes nothing."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        """One command if possible; a tool with several kinds of tests may need more."""

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        """`answers`: one for each command; only the first if the build failed."""


@value
class Toolset:
    """A runner with the tool that was found for it on this machine."""

    runner: Runner
    programs: tuple[str, ...]
    """Absolute paths: what is started, and what is read beside it."""
    lead: int = 1
    """How many words of a call name the program; the others are its arguments."""
    env: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    """Folders of the user that a run reads; nothing that it writes into them is kept."""
    package: str = ""
    """The script of an installed package that the program runs, absolute."""


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
    """As `runner:` names it in tdd.yaml."""
    languages: tuple[str, ...] = ()
    """The languages that it tests, besides those whose facts name it."""
    in_interpreter: bool = False
    """The user's Python interpreter runs it, with our reporter in it."""
    has_marks: bool = False
    """It can select tests by a mark (`-m MARK`)."""
    can_collect: bool = True
    """It can list its tests without running them."""
    takes: str = ""
    """Which files it takes for tests; shown to a person who wrote one that it does not take."""
    loads_modules: bool = True
    """Of Node: what a test imports may be an ES module, whatever its own form."""
    has_templates: bool = False
    """The stack's `junit` keys describe its tool."""
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
    """What the tool prints when it would have to download something (a regex), and the command that does."""
    missing: tuple[tuple[str, str], ...] = ()
    """The same for what the project installs itself: the command is the user's own."""
    find_needs: FindNeeds | None = None
    """Reads from a failure which settings of the room the tool lacked."""
    refusals: str = ""
    """What the tool prints when a plugin is missing that the project's configuration names (a regex)."""
    is_doc_test: Callable[[str], bool] | None = None
    """Whether an id is of a test that stands in the documentation of source."""
    harness: Harness | None = None
    detect: DetectStacks | None = None
    """Finds stacks that only this tool tests, whatever their language."""
    find: FindTool | None = None
    """Of a third party's runner: finds its tool. Ours are found in `verdigris.execution.tools`."""
    tool: object = None
    """Instead of `find`: a `verdigris.execution.tools.registry.TestTool`, which can do more."""


TAIL = 4_000
"""Characters of a tool's output that a report keeps."""
OUTPUT = 20_000
"""Characters of a test's own output that a result keeps."""
RANK = {Status.PASS: 0, Status.SKIP: 1, Status.FAIL: 2, Status.ERROR: 3}

TWICE = Failure("ReportedTwice", assertion=False, message="it was reported twice: one of them is forged")
CONTRADICTION = Failure(
    "Contradiction", assertion=False, message="its report and the end of its process contradict each other"
)


def relative(path: str, worktree: str, folder: str = "") -> str:
    """Writes a `Place.path`: below the worktree with `/`, else absolute; `folder`: where `path` starts."""
    full = posixpath.normpath(posixpath.join(worktree, folder, path))
    top = posixpath.normpath(worktree)
    return posixpath.relpath(full, top) if full.startswith(top + "/") else full


def is_asked(test_id: str, path: str, names: Sequence[str]) -> bool:
    """No names mean all; a name is an id, a file, or a folder of files."""
    return not names or any(
        name in {test_id, path, ".", ""} or path.startswith(name.rstrip("/") + "/") for name in names
    )


def split_arguments(extra: Sequence[str], mark: str) -> tuple[list[str], list[str]]:
    """The tool's own arguments, and those after the mark, which are for the test binaries."""
    at = extra.index(mark) if mark in extra else len(extra)
    return [*extra[:at]], [*extra[at + 1 :]]


def read_record(data: bytes | str) -> Mapping[str, Any]:
    """A JSON object; empty if there is none, or if it was cut short."""
    try:
        record = json.loads(data)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def end_of_answer(answer: RunnerAnswer, *, started: bool) -> RunEnd:
    """How a tool ended that builds first; `started`: whether a test binary was started."""
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
    """The worst result of one test that several binaries hold."""
    return max(results, key=lambda result: RANK[result.status])


def tail(answers: Iterable[RunnerAnswer]) -> str:
    return b"".join(answer.output for answer in answers)[-TAIL:].decode("utf-8", "replace")
