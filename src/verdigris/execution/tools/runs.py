"""Builds compiled tests into a kept folder, and runs one command of a test tool in a room."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from verdigris.core.value import field, replace, value
from verdigris.execution.process import MOST_CHANNEL, Command, Finished, run
from verdigris.execution.room import Layer, Room
from verdigris.execution.rooms import RoomEquipment, RoomTraces, attempt_confined, bare_room, room, traces_of
from verdigris.runners.protocol import RunnerCall
from verdigris.sandbox.child import refusal
from verdigris.sandbox.folders import clear
from verdigris.storage.project import Project


@value
class Ran:
    finished: Finished
    traces: RoomTraces = field(default_factory=RoomTraces)


@value
class RunPlace:
    """The project and the equipment of the room in which a command runs."""

    project: Project
    layer: Layer | None = None
    equipment: RoomEquipment = field(default_factory=RoomEquipment)
    bare: bool = False

    def with_env(self, env: Mapping[str, str], *, layer: Layer | None = None) -> RunPlace:
        more = replace(self.equipment, env={**self.equipment.env, **env})
        return replace(self, equipment=more, layer=layer or self.layer)

    def with_placed(self, folder: str, at: str) -> RunPlace:
        """Adds a folder at a path; what is written to it is kept."""
        return replace(self, equipment=replace(self.equipment, placed=((folder, at),)))

    def with_shadowed(self, folder: str, at: str) -> RunPlace:
        """Adds a folder at a path; what is written to it is thrown away."""
        more = (*self.equipment.shadowed, (folder, at))
        return replace(self, equipment=replace(self.equipment, shadowed=more))


def run_in_room(call: RunnerCall, place: RunPlace, timeout: float) -> Ran:
    if place.bare:
        with bare_room(place.project, call.argv) as made:
            return Ran(_run_process(call, made, timeout))
    return attempt_confined(place.project, partial(_try_in_room, call, place, timeout))


def _try_in_room(call: RunnerCall, place: RunPlace, timeout: float) -> Ran | str:
    """Runs the call in a room; returns a text if no code of the project was run: why."""
    with room(place.project, call.argv, layer=place.layer, equip=place.equipment.add_to) as made:
        made.env |= place.equipment.env
        finished = _run_process(call, made, timeout)
        why = refusal(finished.exit_code, finished.output) if made.confine else None
        return Ran(finished, traces_of(place.project, made)) if why is None else why


def _run_process(call: RunnerCall, made: Room, timeout: float) -> Finished:
    """Runs the process, and keeps all its output: for some tools that is the report."""
    env = {**made.env, **call.env}
    command = Command(call.argv, Path(call.cwd), env, confine=made.confine)
    return run(command, timeout=timeout, kept=MOST_CHANNEL // 2)


def take_reports(folder: str) -> Mapping[str, bytes]:
    """Reads the files of a report folder by relative name, without hidden ones, and empties it."""
    found: dict[str, bytes] = {}
    size = 0
    for path in sorted(Path(folder).rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(folder))
        if (
            stat.S_ISREG(status.st_mode)
            and not name.startswith(".")
            and size + status.st_size <= MOST_CHANNEL
        ):
            size += status.st_size
            found[name] = path.read_bytes()
    clear(folder)
    return found


@value
class Prepared:
    place: RunPlace
    """The place in which the tests shall run, with what is compiled already."""
    failed: Ran | None = None
    """The build, if it failed: then no test shall run."""
    opened: tuple[str, ...] = ()
    """Files of the worktree that compilers opened: they may compile data into the tests."""


FOLDER = "caches"
_KEPT = 3
"""How many cache folders of a kind are kept: another toolchain, or other options, need another one."""


def cache_folder(area: Path, kind: str, words: Sequence[str] = ()) -> Path:
    """Finds or makes the cache folder of a kind for these words; removes the least recently used ones."""
    above = area / FOLDER / kind
    folder = above / hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
    if not folder.is_dir():
        folder.mkdir(parents=True)
        older = sorted((one for one in above.iterdir() if one != folder), key=lambda one: one.stat().st_mtime)
        for one in older[: -(_KEPT - 1)]:
            empty_folder(one)
            one.rmdir()
    os.utime(folder)
    return folder


def empty_folder(folder: Path) -> None:
    clear(str(folder))
