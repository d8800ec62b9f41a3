"""Runs pytest or unittest once in the user's interpreter, and reads its reporter's channel."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from verdigris.core.errors import HarnessError
from verdigris.core.report import Status, TestReport
from verdigris.core.value import replace, value
from verdigris.execution.children import Started
from verdigris.execution.process import Command, run
from verdigris.execution.resident import headstart
from verdigris.execution.room import Room
from verdigris.execution.rooms import RoomEquipment, attempt_confined, bare_room, room, terms_of, traces_of
from verdigris.execution.test_selection import TestCall, answer_of
from verdigris.execution.tools.foundation_files import code_folders
from verdigris.execution.tools.interpreter import InterpreterPlaces, find_interpreter
from verdigris.runners.protocol import Progress, RunnerCall
from verdigris.runners.python import BOOTSTRAP, PYTEST, PYTHON_TOOLS, PythonRunner
from verdigris.runners.python.report import read_line
from verdigris.runners.registry import fill_command
from verdigris.sandbox.child import refusal
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.folders import Folders
from verdigris.storage.project import Project

LATE = 4
"""How many messages at the end of a run are searched for those about the run itself."""


@value
class _PythonCall:
    """One call, without its room."""

    call: TestCall
    runner: PythonRunner
    argv: tuple[str, ...]
    """The command: the interpreter with our bootstrap, or the configured one."""
    packages: tuple[str, ...] = ()
    """The folders of installed modules."""
    feedback: bool = False
    places: InterpreterPlaces | None = None

    def equip(self, confinement: Confinement, folders: Folders) -> Confinement:
        """Shows the folders of modules, where they lie in hidden places."""
        needed = code_folders(self.places) if self.places and confinement.hidden else ()
        return RoomEquipment(needed=tuple(needed)).add_to(confinement, folders)

    @property
    def project(self) -> Project:
        return self.call.project

    @property
    def cwd(self) -> str:
        return os.path.normpath(self.project.root / self.call.stack.root)

    def runner_call(self, made: Room) -> RunnerCall:
        request = self.call.place_request(made.folders.cache)
        named = self.project.settings.room_plugins if self.runner.tool is PYTEST else ()
        plugins = (word for name in named or () for word in ("-p", name))
        request = replace(
            request,
            nonce=os.urandom(16).hex(),
            extra=(*plugins, *request.extra),
            # Without a sandbox the tree is kept.
            private=made.private if made.confine is not None else None,
            learn=request.sources is not None,
            # A set of runs has limits of its own.
            limit=None if request.runs else self.project.settings.test_timeout,
        )
        [call] = self.runner.commands(request)
        return call


def call_interpreter(call: TestCall) -> TestReport:
    project, stack, request = call.project, call.stack, call.request
    known = project.repo.private / "interpreters.json"
    interpreter = find_interpreter(
        project.root / stack.root, project.root, stack.python, os.environ, known, stack.runner
    )
    runner = PythonRunner(PYTHON_TOOLS[stack.runner], str(interpreter.path))
    words = (str(BOOTSTRAP), *runner.tool.argv)
    if request.command:
        job = _PythonCall(call, runner, fill_command(request.command, words), places=interpreter.places)
        return _run_bare(job) if call.bare else _run_in_room(job)
    job = _PythonCall(call, runner, (runner.interpreter, *words), places=interpreter.places)
    if call.bare:
        return _run_bare(job)
    if call.feedback and interpreter.places and not request.runs:
        job = replace(job, packages=interpreter.places.packages, feedback=True)
    return _run_early(job) or _run_warm(job) or _run_in_room(job)


def _run_early(job: _PythonCall) -> TestReport | None:
    """Runs in the process that had a head start; None if there is none, or if it has loaded wrong modules.

    A run with a layer cannot: the room is mounted already, and the kernel has cached folders of it, so that a
    layer that is written now would not show.
    """
    if job.call.layer is not None:
        return None
    early = headstart.take(terms_of(job.project), job.argv, job.cwd)
    if early is None:
        return None
    if early.warm and not job.feedback:
        early.end()
        return None
    with closing(early.room):
        report = _carry_out(job, early.room, early.started)
    return None if isinstance(report, str) else report


def _run_warm(job: _PythonCall) -> TestReport | None:
    """Runs in a process of the stack's resident; None if there is none, or if it is in doubt."""
    if not job.feedback:
        return None
    from verdigris.execution.resident.forkserver import take

    taken = take(str(job.project.repo.private), terms_of(job.project), job.argv, job.cwd)
    if taken is None:
        return None
    started, made = taken
    with closing(made):
        report = _carry_out(job, made, started)
    return None if isinstance(report, str) else report


def _run_in_room(job: _PythonCall) -> TestReport:
    def attempt() -> TestReport | str:
        with room(job.project, job.argv, layer=job.call.layer, equip=job.equip) as made:
            return _carry_out(job, made)

    return attempt_confined(job.project, attempt)


def _run_bare(job: _PythonCall) -> TestReport:
    with bare_room(job.project, job.argv) as made:
        report = _carry_out(job, made)
    if isinstance(report, str):
        raise HarnessError(report)
    return report


def _carry_out(job: _PythonCall, made: Room, started: Started | None = None) -> TestReport | str:
    """Makes the run. Returns the report, or why no code of the project was run."""
    call = job.runner_call(made)
    if call.channel is None:
        raise HarnessError(f"{job.runner.tool.name} was given no channel to report on")
    nonce = call.channel.nonce
    env = {**made.env, **call.env}
    command = Command(job.argv, Path(call.cwd), env, call.channel.env, call.channel.hello, made.confine)
    lines: list[bytes] = []
    on_line = _watch_lines(lines, nonce, job.call.progress)
    finished = run(command, timeout=job.call.timeout, on_line=on_line, started=started)
    why = refusal(finished.exit_code, finished.output) if made.confine and not lines else None
    if why is not None:
        return why
    if started is not None and started.lost:
        return "no process said how it ended"
    declined = _last_message(lines, nonce, "declined") if started is not None else None
    is_warm = started is not None and started.resident
    if job.feedback and (not is_warm or declined is not None):
        _keep_resident(job, made, declined=is_warm)
    if declined is not None:
        return "it had begun with modules that the project has itself"
    if not job.call.request.command:
        headstart.remember(job.project.repo.private, made.terms, call.argv, call.cwd)
    answer = replace(answer_of(call, finished), lines=tuple(lines))
    traces = traces_of(job.project, made)
    return replace(
        job.runner.report(job.call.request, (answer,)),
        sandbox=traces.sandbox,
        wrote=traces.wrote,
        opened=traces.opened,
        notes=traces.notes,
    )


def _keep_resident(job: _PythonCall, made: Room, *, declined: bool) -> None:
    from verdigris.execution.resident.forkserver import keep
    from verdigris.execution.resident.resident import ResidentProgram

    program = ResidentProgram(made.terms, job.argv, job.cwd)
    keep(str(job.project.repo.private), program, places=job.packages, declined=declined)


def _last_message(lines: Sequence[bytes], nonce: str, kind: str) -> Mapping[str, Any] | None:
    """The last message of a kind, searched among the last lines."""
    for line in reversed(lines[-LATE:]):
        message = read_line(line, nonce)
        if message.get("kind") == kind:
            return message
    return None


def _watch_lines(lines: list[bytes], nonce: str, progress: Progress | None) -> Callable[[bytes], None]:
    if progress is None:
        return lines.append

    total = 0

    def on_line(line: bytes) -> None:
        nonlocal total
        lines.append(line)
        match read_line(line, nonce):
            case {"kind": "collected", "ids": ids}:
                total += len(ids)
                progress.collected(total)
            case {"kind": "test", "id": str(test_id), "phase": "teardown" | "setup", "outcome": "failed"}:
                progress.finished(test_id, Status.ERROR)
            case {"kind": "test", "id": str(test_id), "phase": "call", "outcome": outcome}:
                progress.finished(test_id, Status.PASS if outcome == "passed" else Status.FAIL)

    return on_line
