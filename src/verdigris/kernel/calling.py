"""One call of the test tool in the user's interpreter, watched as it goes."""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from verdigris.core.errors import HarnessError
from verdigris.core.report import Status, TestReport
from verdigris.core.value import value
from verdigris.kernel import headstart, sandbox
from verdigris.kernel.interpreter import find_interpreter
from verdigris.kernel.process import Command, Finished, run
from verdigris.kernel.room.layers import furnish
from verdigris.kernel.room.opening import forget, notes_of, room, terms_of
from verdigris.kernel.room.room import Room
from verdigris.runners.pytest import BOOTSTRAP, invocation
from verdigris.runners.pytest_report import parse, read_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.liveness import Variant
    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project
    from verdigris.kernel.room.layers import Layer
    from verdigris.kernel.starting import Started
    from verdigris.runners.invocation import Invocation

TRIES = 2
"""To confine a run: how it is done is remembered, and may have to be found out anew."""


class Progress(Protocol):
    """Who watches a run."""

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


@value
class _Job:
    """One call, but for the room it is made in."""

    project: Project
    stack: Stack
    names: Sequence[str]
    extra: Sequence[str]
    trace: Sequence[str]
    collect_only: bool
    progress: Progress | None
    variants: Sequence[Variant]
    timeout: float
    interpreter: str
    sources: Sequence[str] | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.interpreter, str(BOOTSTRAP))

    @property
    def cwd(self) -> str:
        return os.path.normpath(self.project.root / self.stack.root)

    def invoked(self, cache: str, *, disposable: bool) -> Invocation:
        plugins = (word for name in self.project.settings.room_plugins or () for word in ("-p", name))
        return invocation(
            self.interpreter,
            self.names,
            worktree=str(self.project.root),
            stack_root=self.stack.root,
            nonce=secrets.token_hex(16),
            extra=(*plugins, *self.stack.test_command, *self.extra),
            trace=self.trace,
            collect_only=self.collect_only,
            cache_dir=cache,
            variants=self.variants,
            variant_seconds=self.project.settings.liveness_seconds,
            disposable=disposable,
            sources=self.sources,
        )


def call(
    project: Project,
    stack: Stack,
    names: Sequence[str],
    *,
    extra: Sequence[str] = (),
    trace: Sequence[str] = (),
    collect_only: bool = False,
    progress: Progress | None = None,
    layer: Layer | None = None,
    variants: Sequence[Variant] = (),
    timeout: float | None = None,
    bare: bool = False,
    sources: Sequence[str] | None = None,
) -> TestReport:
    """In a room, on the tree of `layer` where one is given; `bare`: as the user would run it, to compare.

    `sources`, for a verdict: see `invocation`.
    """
    known = project.repo.private / "interpreters.json"
    interpreter = find_interpreter(project.root / stack.root, project.root, stack.python, os.environ, known)
    limit = timeout or project.settings.timeout
    python = str(interpreter.path)
    job = _Job(project, stack, names, extra, trace, collect_only, progress, variants, limit, python, sources)
    return _bare(job) if bare else _early(job, layer) or _in_a_room(job, layer)


def _early(job: _Job, layer: Layer | None) -> TestReport | None:
    """By the process that had a head start, unless it finds that it began with the wrong modules."""
    if layer is not None and not layer.only_holds:
        return None
    early = headstart.take(terms_of(job.project), job.argv, job.cwd)
    if early is None:
        return None
    with closing(early.room):
        if layer is not None and early.room.confine is not None:
            furnish(job.project, layer, early.room.folders)
        report = _carried_out(job, early.room, early.started)
    return None if isinstance(report, str) else report


def _in_a_room(job: _Job, layer: Layer | None) -> TestReport:
    report: TestReport | str = ""
    for _ in range(TRIES):
        with room(job.project, job.argv, layer=layer) as made:
            report = _carried_out(job, made)
        if isinstance(report, TestReport):
            return report
        forget(job.project)
    raise HarnessError(f"the run could not be confined, so it was not made: {report}", hint="`tdd doctor`")


def _bare(job: _Job) -> TestReport:
    made = Room(terms_of(job.project).unconfined(), job.argv)
    with closing(made):
        made.env = dict(os.environ)
        report = _carried_out(job, made)
    if isinstance(report, str):
        raise HarnessError(report)
    return report


def _carried_out(job: _Job, made: Room, started: Started | None = None) -> TestReport | str:
    """The report; or why nothing of the project was run."""
    call = job.invoked(made.folders.cache, disposable=made.confine is not None)
    env = {**made.env, **call.env}
    command = Command(call.argv, Path(call.cwd), env, call.channel_env, call.hello, made.confine)
    lines: list[bytes] = []
    on_line = _watched(lines, call.nonce, job.progress)
    finished = run(command, timeout=job.timeout, on_line=on_line, started=started)
    why = sandbox.refusal(finished.exit_code, finished.output) if made.confine and not lines else None
    if why is not None:
        return why
    if started is not None and _declined(lines, call.nonce):
        return "it had begun with modules that the project has itself"
    headstart.remember(job.project.repo.private, made.terms, call.argv, call.cwd)
    return replace(
        _parsed(call, lines, finished),
        sandbox=made.sandbox,
        wrote=made.wrote(job.project.classify),
        notes=notes_of(job.project, made.terms),
    )


def _parsed(call: Invocation, lines: Sequence[bytes], finished: Finished) -> TestReport:
    return parse(
        lines,
        nonce=call.nonce,
        command=call.command,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
    )


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
