"""Runs tests in forks of one process that has pytest loaded, for tests that are not about the run itself.

A cold run spends most of its time on loading pytest. Here each worker of the suite has one process that loads
it: the resident of an empty project, whose children enter the rooms of every other project. A run in doubt is
cold. The digests of installed files, and the facts about interpreters, are remembered once for all projects.
"""

from __future__ import annotations

import _socket
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from verdigris.checks.foundation import DigestMemory
from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.resident.borrowed_child import Lent, LentChild
from verdigris.execution.room import Room, Terms
from verdigris.execution.rooms import room
from verdigris.execution.tools import python_call
from verdigris.execution.tools.interpreter import _InterpreterQuery
from verdigris.runners.python import BOOTSTRAP
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.core.report import TestReport

_COLD = python_call._run_in_room
_ARGV = (sys.executable, str(BOOTSTRAP))
_OURS = frozenset({_ARGV, (str(Path(sys.executable).with_name("python3")), str(BOOTSTRAP))})
"""The same interpreter by the name that a user's environment is asked by."""
_KEY = "the suite's"
_SECONDS = 20.0
_GIVEN_UP = "given-up"
"""A file beside the folder of a process that did not start, so that nobody waits for it again."""
_OFTEN_OTHERWISE = frozenset({"PYTHONHASHSEED"})
"""Variables that would need another process for each value."""
_TAKEN_BY_FORKS = frozenset({"PYTHONPATH", "PYTHONUSERBASE"})
"""Variables that a fork takes over: our environment has no packages from a user's home."""
_INSTALLED = (f"{sys.prefix}/", f"{sys.base_prefix}/")


@contextmanager
def warm_runs(*, verdicts: bool = True) -> Iterator[None]:
    """Forked commands use it too; a caller runs cold while another run goes on.

    `verdicts`: True also for verdicts; False only for runs that the product itself makes in a resident's
    fork.
    """
    read, save = DigestMemory._read, DigestMemory.save
    digests = _base() / "digests.json"

    def read_or_borrow(memory: DigestMemory) -> dict[str, Any]:
        return read(memory) or (json.loads(digests.read_bytes()) if digests.exists() else {})

    def save_and_share(memory: DigestMemory) -> None:
        save(memory)
        if memory.changed and not digests.exists():
            files = {path: row for path, row in memory.part("files").items() if path.startswith(_INSTALLED)}
            _write(digests, {"files": files})

    asked = _InterpreterQuery._read, _InterpreterQuery._write
    interpreters = _base() / "interpreters.json"

    def read_or_borrow_interpreters(query: _InterpreterQuery) -> dict[str, str]:
        return asked[0](query) or (json.loads(interpreters.read_bytes()) if interpreters.exists() else {})

    def write_and_share_interpreters(query: _InterpreterQuery, known: dict[str, str]) -> None:
        asked[1](query, known)
        ours = {key: told for key, told in known.items() if key.startswith(_INSTALLED)}
        if ours and not interpreters.exists():
            _write(interpreters, ours)

    def run(job: Any) -> TestReport:
        return _run(job) if verdicts or job.call.feedback else _COLD(job)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(python_call, "_run_in_room", run)
        patched.setattr(DigestMemory, "_read", read_or_borrow)
        patched.setattr(DigestMemory, "save", save_and_share)
        patched.setattr(_InterpreterQuery, "_read", read_or_borrow_interpreters)
        patched.setattr(_InterpreterQuery, "_write", write_and_share_interpreters)
        yield


def end_warm_runs() -> None:
    if not _base.cache_info().currsize:
        return
    for folder in _base().glob("*/resident"):
        resident.end(str(folder))
    shutil.rmtree(_base(), ignore_errors=True)


def _run(job: Any) -> TestReport:
    if tuple(job.argv) not in _OURS:
        return _COLD(job)
    with room(job.project, job.argv, layer=job.call.layer) as made:
        started = _borrow(made, job.cwd)
        report = "" if started is None else python_call._carry_out(job, made, started)
    return _COLD(job) if isinstance(report, str) else report


def _borrow(made: Room, cwd: str) -> Lent | None:
    """A child of the process that waits for its greeting in the room."""
    confining: Any = made.confine
    variables = _read_once(made.env)
    if not borrowed_child.is_possible(made.terms.way) or _OFTEN_OTHERWISE & variables.keys():
        return None
    found = _connect(_ready(made.terms, variables))
    if found is None:
        return None
    line, user = found
    ours, theirs = _socket.socketpair()
    output, write = os.pipe()
    run = {"kept": borrowed_child.capability_bits(made.terms.way or ""), "cwd": cwd, "env": made.env}
    maker = borrowed_child.request_run(confining, cwd, user, line, run, (write, theirs.fileno()))
    for descriptor in (user, write):
        os.close(descriptor)
    theirs.close()
    ours.setblocking(False)
    lent = Lent(LentChild(output, line), ours, maker)
    if lent.has_arrived():
        return lent
    lent.end()
    return None


def _read_once(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that an interpreter reads only when it starts."""
    return {
        name: text
        for name, text in env.items()
        if name.startswith(("PYTHON", "LC_", "LANG")) and name not in _TAKEN_BY_FORKS
    }


def _connect(folder: str) -> tuple[MessageLine, int] | None:
    line = None
    try:
        line = resident._call_keeper(folder)
        line.send({"key": _KEY})
        answer = line.receive(resident.PATIENCE)
        if answer is not None and answer[0].get("ready"):
            return line, answer[1][0]
    except (OSError, Broken):
        pass
    if line is not None:
        line.close()
    return None


def _ready(terms: Terms, variables: Mapping[str, str]) -> str:
    """The folder of the process that was started with these variables; the first caller starts it."""
    name = hashlib.sha256(repr((os.geteuid(), sorted(variables.items()))).encode()).hexdigest()[:16]
    place = _base() / name
    folder = str(place / "resident")
    if resident.read_note(folder).get("ready") or (place / _GIVEN_UP).exists():
        return folder
    root = place / "project"
    (root / ".git").mkdir(parents=True, exist_ok=True)
    empty = Terms(str(root), str(root / ".git"), terms.sandbox, "host", ())
    program = resident.ResidentProgram(empty, _ARGV, str(root), variables)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(resident.OFF, "1")
        for name in _TAKEN_BY_FORKS:
            patched.delenv(name, raising=False)
        resident.ensure(resident.Resident(folder, _KEY, program, greeting={"load": [], "own": []}))
    deadline = time.monotonic() + _SECONDS
    while not resident.read_note(folder).get("ready"):
        if time.monotonic() > deadline:
            (place / _GIVEN_UP).touch()
            break
        time.sleep(0.01)
    return folder


def _write(file: Path, content: object) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.write_text(json.dumps(content))
    fresh.replace(file)


@cache
def _base() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tdd-warm."))
    folder.chmod(0o755)
    return folder
