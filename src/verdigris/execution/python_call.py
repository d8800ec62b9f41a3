"""Runs pytest or unittest once in the user's interpreter, and reads its reporter's channel."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris import sandbox
from verdigris.core.errors import HarnessError
from verdigris.core.report import Status, TestReport
from verdigris.core.value import value
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, Finished, run
from verdigris.execution.resident import headstart
from verdigris.execution.room.opening import insist, notes_of, room, terms_of
from verdigris.execution.room.room import Room
from verdigris.runners.commands import IN_PYTHON, filled, reports
from verdigris.runners.pytest_report import parse, read_line
from verdigris.runners.python import BOOTSTRAP, PYTEST, UNITTEST, invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from verdigris.core.settings import Stack
    from verdigris.execution.children import Started
    from verdigris.execution.room.layers import Layer
    from verdigris.languages.python.probes import Runs
    from verdigris.runners.protocol import Invocation, Progress
    from verdigris.runners.python import PythonTool
    from verdigris.sandbox.folders import Folders
    from verdigris.storage.project import Project

LATE = 4
"""Messages at the end of a run among which those about the run itself are."""


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
    runs: Runs | None
    timeout: float
    interpreter: str
    sources: Sequence[str] | None = None
    packages: tuple[str, ...] = ()
    """Where installed modules are."""
    feedback: bool = False
    """No verdict, on the tree as it is: a process that has loaded things before may make it."""

    command: tuple[str, ...] = ()
    """What is run instead, where the configuration says so."""
    withheld: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        return self.command or (self.interpreter, str(BOOTSTRAP), *self.tool.argv)

    @property
    def tool(self) -> PythonTool:
        return UNITTEST if self.stack.runner == UNITTEST.name else PYTEST

    @property
    def cwd(self) -> str:
        return os.path.normpath(self.project.root / self.stack.root)

    def invoked(self, folders: Folders, *, disposable: bool) -> Invocation:
        named = self.project.settings.room_plugins if self.tool is PYTEST else ()
        plugins = (word for name in named or () for word in ("-p", name))
        return invocation(
            self.tool,
            self.interpreter,
            self.names,
            worktree=str(self.project.root),
            stack_root=self.stack.root,
            nonce=os.urandom(16).hex(),
            extra=(*plugins, *self.stack.test_command, *self.extra),
            trace=self.trace,
            collect_only=self.collect_only,
            cache_dir=folders.cache,
            runs=self.runs,
            disposable=disposable,
            private=(folders.home, folders.tmp, folders.cache) if disposable else (),
            sources=self.sources,
            learn=self.feedback or self.sources is not None,
            withheld=self.withheld,
            # What is traced or tried in many texts takes longer, and has limits of its own.
            limit=None if self.trace or self.runs else self.project.settings.test_timeout,
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
    runs: Runs | None = None,
    timeout: float | None = None,
    bare: bool = False,
    sources: Sequence[str] | None = None,
    command: tuple[str, ...] = (),
    withheld: tuple[str, ...] = (),
) -> TestReport:
    """In a room, on the tree of `layer` where one is given; `bare`: as the user would run it, to compare.

    `sources`, for a verdict: see `invocation`. `command`: one of `Stack.test_command_for`, to be run instead.
    `withheld`: see `Request`.
    """
    limit = timeout or project.settings.timeout
    if stack.test_command_for:
        from verdigris.execution.tools.call import by_command

        again = partial(
            call,
            project,
            extra=extra,
            trace=trace,
            collect_only=collect_only,
            progress=progress,
            layer=layer,
            runs=runs,
            timeout=timeout,
            bare=bare,
            sources=sources,
            withheld=withheld,
        )
        return by_command(project, stack, names, again)
    if stack.runner not in IN_PYTHON or (command and reports(command)):
        from verdigris.execution.tools.call import Asked, call_tool

        feedback = project.settings.warm and not (layer or bare or trace) and sources is None
        asked = Asked(
            project,
            stack,
            tuple(names),
            limit,
            layer,
            collect_only,
            progress,
            bare,
            command,
            feedback,
            withheld,
        )
        return call_tool(asked)
    known = project.repo.private / "interpreters.json"
    interpreter = find_interpreter(project.root / stack.root, project.root, stack.python, os.environ, known)
    python = str(interpreter.path)
    job = _Job(project, stack, names, extra, trace, collect_only, progress, runs, limit, python, sources)
    job = replace(job, withheld=withheld)
    if command:
        job = replace(job, command=filled(command, job.argv[1:]))
        return _bare(job) if bare else _in_a_room(job, layer)
    if bare:
        return _bare(job)
    if project.settings.warm and interpreter.places and not (layer or runs or trace) and sources is None:
        job = replace(job, packages=interpreter.places.packages, feedback=True)
    return _early(job, layer) or _warm(job) or _in_a_room(job, layer)


def _early(job: _Job, layer: Layer | None) -> TestReport | None:
    """By the process that had a head start, unless it finds that it began with the wrong modules.

    Its room is mounted already, and folders in it were looked at: a layer laid under it now would not show.
    """
    if layer is not None:
        return None
    early = headstart.take(terms_of(job.project), job.argv, job.cwd)
    if early is None:
        return None
    if early.warm and not job.feedback:
        early.end()
        return None
    with closing(early.room):
        report = _carried_out(job, early.room, early.started)
    return None if isinstance(report, str) else report


def _warm(job: _Job) -> TestReport | None:
    """By a process of the stack's resident, where there is one and it is in no doubt."""
    if not job.feedback:
        return None
    from verdigris.execution.resident.forkserver import take

    taken = take(str(job.project.repo.private), terms_of(job.project), job.argv, job.cwd)
    if taken is None:
        return None
    started, made = taken
    with closing(made):
        report = _carried_out(job, made, started)
    return None if isinstance(report, str) else report


def _in_a_room(job: _Job, layer: Layer | None) -> TestReport:
    def attempt() -> TestReport | str:
        with room(job.project, job.argv, layer=layer) as made:
            return _carried_out(job, made)

    return insist(job.project, attempt)


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
    call = job.invoked(made.folders, disposable=made.confine is not None)
    env = {**made.env, **call.env}
    command = Command(job.argv, Path(call.cwd), env, call.channel_env, call.hello, made.confine)
    lines: list[bytes] = []
    on_line = _watched(lines, call.nonce, job.progress)
    finished = run(command, timeout=job.timeout, on_line=on_line, started=started)
    why = sandbox.refusal(finished.exit_code, finished.output) if made.confine and not lines else None
    if why is not None:
        return why
    if started is not None and started.lost:
        return "nobody said how it ended"
    declined = _told(lines, call.nonce, "declined") if started is not None else None
    if job.feedback:
        resident = started is not None and started.resident
        _learn(job, made, _told(lines, call.nonce, "installed"), declined if resident else None)
    if declined is not None:
        return "it had begun with modules that the project has itself"
    if not job.command:
        headstart.remember(job.project.repo.private, made.terms, call.argv, call.cwd)
    opened = made.opened()
    return replace(
        _parsed(call, lines, finished),
        sandbox=made.sandbox,
        wrote=made.wrote(job.project.classify),
        opened=opened,
        notes=(*notes_of(job.project, made.terms), *made.notes()),
    )


def _learn(
    job: _Job, made: Room, installed: Mapping[str, Any] | None, declined: Mapping[str, Any] | None
) -> None:
    from verdigris.execution.resident.learning import learn_from

    learn_from(
        job.project,
        job.stack,
        made.terms,
        job.argv,
        job.cwd,
        packages=job.packages,
        installed=installed,
        declined=declined,
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


def _told(lines: Sequence[bytes], nonce: str, kind: str) -> Mapping[str, Any] | None:
    """The last message of a kind; it is among the last lines, or it is the last."""
    for line in reversed(lines[-LATE:]):
        message = read_line(line, nonce)
        if message is not None and message.get("kind") == kind:
            return message
    return None


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
