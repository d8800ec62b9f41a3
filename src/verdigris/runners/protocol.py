"""What every runner gives the kernel: how a test tool is called, and what its answer means."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import Status, TestReport


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
