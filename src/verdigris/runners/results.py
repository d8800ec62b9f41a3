"""What the adapters of several tools share: paths of a worktree, selections, and results that contradict."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from verdigris.core.report import Ended, Failure, RunPhase, Status, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.runners.protocol import Answered

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
