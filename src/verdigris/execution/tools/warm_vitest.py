"""Runs vitest in a resident process that has loaded it already; if in doubt, it does not.

The key of the resident contains what node and vitest read only once, when they are loaded: packages,
manifests and lock files, the configuration, variables, the room's terms, and our own code. Each run reads all
else again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from verdigris.core.value import replace, value
from verdigris.execution.process import Finished
from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.room import Room, Terms
from verdigris.execution.rooms import room, terms_of, traces_of
from verdigris.execution.tools.node_packages import MODULES, folders_above
from verdigris.execution.tools.runs import Ran, RunPlace
from verdigris.runners.node.report import REPORT
from verdigris.runners.protocol import RunnerCall
from verdigris.runners.reporter.verdigris_reporter.line import Broken, MessageLine
from verdigris.sandbox.child import Confining
from verdigris.sandbox.folders import outside

_REPORTER = Path(sys.modules["verdigris.runners"].__path__[0]) / "reporter"
_START = (
    "import sys; sys.path.append(sys.argv[1]); from verdigris_reporter.resident.node_host import main; main()"
)
_RESIDENT = _REPORTER / "node" / "resident.mjs"
_ENTRY = "dist/node.js"
_INSTALLED = (".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity")
"""Files in `node_modules` in which package managers record what they installed."""
_WATCHED = (
    *("package.json", "*lock*", ".npmrc", ".env*", "tsconfig*.json", "jsconfig*.json"),
    *("*.config.*", "*.workspace.*", ".babelrc*", ".swcrc"),
)
_EACH_RUNS = frozenset({"TERM", "COLUMNS", "LINES", "USER", "LOGNAME", "SHELL"})
"""Variables that may differ between runs: vitest does not read them when it is loaded."""
_PATIENCE = 10.0
_TICK = 0.25
_CLEARING = 0.5


class Unclear(Exception):
    """The resident did not say how the run ended."""


def run_in_resident(
    call: RunnerCall, place: RunPlace, timeout: float, limit: float | None = None
) -> Ran | None:
    """Runs the call in the resident. None if it was not run, or does not count: make a cold run, which is
    always right.

    `limit`: seconds after which a run that reports nothing is given up. A cold run then finds out where it
    hangs.
    """
    terms = terms_of(place.project)
    if place.layer is not None or place.bare or not resident.can_serve(terms):
        return None
    folder = resident.folder_at(str(place.project.repo.private), "vitest", call.cwd)
    key = resident.key_of(
        terms, (*call.argv[:2], call.cwd), _watched_paths(call, terms.root), ignored=_EACH_RUNS
    )
    found = _connect(folder, key)
    if found is None:
        resident.ensure(_resident(folder, key, terms, call))
        return None
    line, user = found
    try:
        return _run_in_room(call, place, line, user, _Times(timeout, limit))
    except (OSError, Broken, Unclear):
        return None
    finally:
        line.close()
        os.close(user)


def _connect(folder: str, key: str) -> tuple[MessageLine, int] | None:
    """Connects to the resident.

    Waits if it still finishes the run before, because a cold run takes longer.
    """
    deadline = time.monotonic() + _CLEARING
    while True:
        found = resident.connect(folder, key)
        told = resident.read_note(folder)
        if (
            found is not None
            or time.monotonic() > deadline
            or (told.get("key"), told.get("ready")) != (key, True)
        ):
            return found
        if not resident.is_running(folder):
            return None
        time.sleep(_CLEARING / 50)


def _run_in_room(call: RunnerCall, place: RunPlace, line: MessageLine, user: int, times: _Times) -> Ran:
    line.send({"hello": True})
    at = str(_answer(line, _PATIENCE)["tmp"])
    rooms = terms_of(place.project).place
    shared = outside(rooms, at)
    equipment = replace(place.equipment, writable=(*place.equipment.writable, (shared, at)))
    with room(place.project, call.argv, equip=equipment.add_to) as made:
        made.env |= place.equipment.env
        begun = time.monotonic()
        report = Path(shared, Path(call.env[REPORT]).name)
        try:
            _ask(call, line, made, user, f"{at}/{report.name}")
            end = _wait_for_end(line, report, times)
            if report.is_file():
                Path(outside(rooms, call.env[REPORT])).write_bytes(report.read_bytes())
            elif end:
                raise Unclear
        finally:
            report.unlink(missing_ok=True)
        finished = Finished(
            exit_code=end.get("code"),
            signal=None,
            timed_out=not end,
            output=str(end.get("output", "")).encode("utf-8", "surrogatepass"),
            channel=b"",
            duration_ms=round((time.monotonic() - begun) * 1000),
        )
        return Ran(finished, traces_of(place.project, made))


def _ask(call: RunnerCall, line: MessageLine, made: Room, user: int, report: str) -> None:
    if not isinstance(made.confine, Confining):
        raise Unclear
    opened = borrowed_child.open_room(made.confine, call.cwd, user)
    own = {name: text for name, text in made.env.items() if made.folders.own in text}
    env = {name: text for name, text in {**made.env, **call.env, REPORT: report}.items() if name not in own}
    worker = {"kept": borrowed_child.capability_bits(made.terms.way or ""), "cwd": call.cwd, "env": own}
    run = {"argv": call.argv[2:], "cwd": call.cwd, "env": env, "worker": worker, "doors": list(opened)}
    try:
        line.send({"run": run}, tuple(opened.values()))
    finally:
        for door in opened.values():
            os.close(door)


@value
class _Times:
    whole: float
    quiet: float | None


def _wait_for_end(line: MessageLine, report: Path, times: _Times) -> dict[str, Any]:
    """Waits for the end of the run; empty if it has not ended in that time."""
    size, begun = -1, time.monotonic()
    heard = begun
    while (answer := line.receive(min(_TICK, max(0.0, begun + times.whole - time.monotonic())))) is None:
        now = time.monotonic()
        if line.is_over:
            raise Unclear
        if now >= begun + times.whole:
            return {}
        if (told := report.stat().st_size if report.is_file() else -1) != size:
            size, heard = told, now
        elif times.quiet is not None and now - heard > times.quiet:
            raise Unclear
    if "code" not in answer[0]:
        raise Unclear(answer[0].get("doubt"))
    return answer[0]


def _answer(line: MessageLine, seconds: float) -> dict[str, Any]:
    answer = line.receive(max(0.0, seconds))
    if answer is None:
        raise Unclear
    return answer[0]


def _resident(folder: str, key: str, terms: Terms, call: RunnerCall) -> resident.Resident:
    node, script = call.argv[:2]
    entry = str(Path(script).parent / _ENTRY)
    argv = (sys.executable, "-I", "-S", "-c", _START, str(_REPORTER))
    packages = list(map(os.path.realpath, _packages(call.cwd, terms.root)))
    greeting = {"argv": [node, str(_RESIDENT), entry]}
    program = resident.ResidentProgram(terms, argv, call.cwd)
    return resident.Resident(folder, key, program, greeting=greeting, live=packages)


def _watched_paths(call: RunnerCall, root: str) -> Iterator[str]:
    for program in call.argv[:2]:
        yield from (program, os.path.realpath(program))
    package = _REPORTER / "verdigris_reporter"
    for ours in (package, package / "resident", _RESIDENT.parent):
        yield from map(str, sorted(ours.iterdir()))
    for folder in folders_above(Path(call.cwd), Path(root)):
        names = sorted(os.listdir(folder))
        yield from (f"{folder}/{n}" for n in names if any(fnmatchcase(n, glob) for glob in _WATCHED))
    for packages in _packages(call.cwd, root):
        yield packages
        yield from (f"{packages}/{name}" for name in _INSTALLED)


def _packages(cwd: str, root: str) -> Iterator[str]:
    for folder in folders_above(Path(cwd), Path(root)):
        if (folder / MODULES).is_dir():
            yield f"{folder}/{MODULES}"
