"""One call of the test tool in the user's interpreter, watched as it goes."""

from __future__ import annotations

import os
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from verdigris.core.report import Status, TestReport
from verdigris.kernel import headstart
from verdigris.kernel.interpreter import find_interpreter
from verdigris.kernel.process import Command, Finished, run
from verdigris.runners.pytest import invocation
from verdigris.runners.pytest_report import parse, read_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.liveness import Variant
    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project
    from verdigris.kernel.sandbox import Confinement
    from verdigris.runners.invocation import Invocation


class Progress(Protocol):
    """Who watches a run."""

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


def call(
    project: Project,
    stack: Stack,
    names: Sequence[str],
    *,
    extra: Sequence[str] = (),
    trace: Sequence[str] = (),
    collect_only: bool = False,
    progress: Progress | None = None,
    confine: Confinement | None = None,
    variants: Sequence[Variant] = (),
    timeout: float | None = None,
) -> TestReport:
    """`confine` makes the tree disposable, which `variants` of the tests need."""
    known = project.repo.private / "interpreters.json"
    interpreter = find_interpreter(project.root / stack.root, project.root, stack.python, os.environ, known)
    with tempfile.TemporaryDirectory(prefix="cache.", dir=project.repo.private) as cache:
        made = invocation(
            str(interpreter.path),
            names,
            worktree=str(project.root),
            stack_root=stack.root,
            nonce=secrets.token_hex(16),
            extra=(*stack.test_command, *extra),
            trace=trace,
            collect_only=collect_only,
            cache_dir=cache,
            variants=variants,
            variant_seconds=project.settings.liveness_seconds,
            disposable=confine is not None,
        )
        limit = timeout or project.settings.timeout
        lines, finished = _carried_out(project, made, progress, confine, limit)
    return parse(
        lines,
        nonce=made.nonce,
        command=made.command,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
    )


def _carried_out(
    project: Project,
    made: Invocation,
    progress: Progress | None,
    confine: Confinement | None,
    timeout: float,
) -> tuple[list[bytes], Finished]:
    """By the process that had a head start, unless it finds that it began with the wrong modules."""
    env = {**os.environ, **made.env}
    confining = None if confine is None else _confining(confine, made)
    command = Command(made.argv, Path(made.cwd), env, made.channel_env, made.hello, confining)
    early = None if made.env or confine else headstart.take(made.argv, made.cwd)
    while True:
        lines: list[bytes] = []
        on_line = _watched(lines, made.nonce, progress)
        finished = run(command, timeout=timeout, on_line=on_line, started=early)
        if early is None or not _declined(lines, made.nonce):
            headstart.remember(project.repo.private, made.argv, made.cwd)
            return lines, finished
        early = None


def _confining(confine: Confinement, made: Invocation) -> Callable[[], None]:
    from verdigris.kernel.sandbox import preexec

    interpreter, bootstrap = (Path(word) for word in made.argv)
    return preexec(replace(confine, needed=(str(interpreter.parent.parent), str(bootstrap.parent))))


def _declined(lines: Sequence[bytes], nonce: str) -> bool:
    return any((read_line(line, nonce) or {}).get("kind") == "declined" for line in lines)


def _watched(lines: list[bytes], nonce: str, progress: Progress | None) -> Callable[[bytes], None]:
    if progress is None:
        return lines.append

    def on_line(line: bytes) -> None:
        lines.append(line)
        match read_line(line, nonce):
            case {"kind": "collected", "ids": ids}:
                progress.collected(len(ids))
            case {"kind": "test", "id": str(test_id), "phase": "teardown" | "setup", "outcome": "failed"}:
                progress.finished(test_id, Status.ERROR)
            case {"kind": "test", "id": str(test_id), "phase": "call", "outcome": outcome}:
                progress.finished(test_id, Status.PASS if outcome == "passed" else Status.FAIL)

    return on_line
