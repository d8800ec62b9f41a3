"""What a runner is: how a test tool is called, and what its answer means."""

from __future__ import annotations

import posixpath
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from verdigris.core.report import Ended, Failure, RunPhase, Status, TestResult
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.report import TestReport


class Progress(Protocol):
    """Who watches a run."""

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


@value
class Request:
    """Which tests, where. Ids and paths are relative to the worktree; no name means all of the stack."""

    names: tuple[str, ...]
    worktree: str
    stack_root: str
    report_folder: str
    """Empty, outside the tree, writable for the run alone."""
    extra: tuple[str, ...] = ()
    """Arguments that the configuration adds to every run."""
    collect_only: bool = False
    withheld: tuple[str, ...] = ()
    """Test files that code of the project is not to read: emptied as soon as they are compiled."""


@value
class Called:
    """A command for the kernel to execute; nothing of it is looked up here."""

    argv: tuple[str, ...]
    cwd: str
    command: str
    """As a person would type it."""
    env: Mapping[str, str] = field(default_factory=dict)


@value
class Answered:
    """What came of a command."""

    called: Called
    exit_code: int | None
    timed_out: bool
    duration_ms: int
    output: bytes
    """Standard output and standard error, as they came."""
    reports: Mapping[str, bytes] = field(default_factory=dict)
    """What lay in the report folder afterwards, by relative name."""


class Runner(Protocol):
    def called(self, request: Request) -> tuple[Called, ...]:
        """One command where that can be; a tool with several kinds of tests may need more."""

    def parsed(self, request: Request, answers: tuple[Answered, ...]) -> TestReport: ...


@value
class Invocation:
    argv: tuple[str, ...]
    """The same for every run of a stack, so that the process may be started before the rest is known."""
    arguments: tuple[str, ...]
    """The tool's own, given over the channel."""
    cwd: str
    channel_env: str
    """The variable in which the process finds the descriptor of its channel."""
    hello: bytes
    """What the process reads from the channel first."""
    nonce: str
    """Opens every line that the reporter writes."""
    command: str
    """As a person would type it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the run."""


_TAIL = 4_000
OUTPUT = 20_000
"""Characters of a test's own output that a result keeps."""
_RANK = {Status.PASS: 0, Status.SKIP: 1, Status.FAIL: 2, Status.ERROR: 3}

TWICE = Failure("ReportedTwice", assertion=False, message="it was reported twice: one of them is forged")
CONTRADICTION = Failure(
    "Contradiction", assertion=False, message="its report and the end of its process contradict each other"
)


def relative(path: str, worktree: str, folder: str = "") -> str:
    """As Place.path: below the worktree with `/`, else absolute. `folder` is where a relative path starts."""
    full = posixpath.normpath(posixpath.join(worktree, folder, path))
    top = posixpath.normpath(worktree)
    return posixpath.relpath(full, top) if full.startswith(top + "/") else full


def is_asked(test_id: str, path: str, names: Sequence[str]) -> bool:
    """No names mean all; a name is an id, a file, or a folder of files."""
    return not names or any(
        name in {test_id, path, ".", ""} or path.startswith(name.rstrip("/") + "/") for name in names
    )


def ended_by(answer: Answered, *, started: bool) -> Ended:
    """Of a tool that builds first: `started` when a test binary was."""
    if answer.timed_out:
        return Ended.TIMEOUT
    if answer.exit_code is None:
        return Ended.DIED
    return Ended.FINISHED if started or answer.exit_code == 0 else Ended.NO_START


def unfinished(ended: Ended) -> Failure:
    kind = "Timeout" if ended is Ended.TIMEOUT else "Crash"
    return Failure(kind, assertion=False, message=f"the run ended in this test ({ended})")


def untrusted(test_id: str, failure: Failure, *, output: str = "") -> TestResult:
    return TestResult(test_id, test_id, "native", Status.ERROR, RunPhase.CALL, 0, failure, output)


def worst(results: Iterable[TestResult]) -> TestResult:
    """Of one test that several binaries hold."""
    return max(results, key=lambda result: _RANK[result.status])


def tail(answers: Iterable[Answered]) -> str:
    return b"".join(answer.output for answer in answers)[-_TAIL:].decode("utf-8", "replace")
