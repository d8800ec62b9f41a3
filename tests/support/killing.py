"""Operations that are killed at their n-th step, for n = 1, 2, … until one lives."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import traceback
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from support.turns import World
from verdigris.storage.project import Project
from verdigris.storage.snapshots import disk
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verdigris.core.state import WorktreeState

    Operate = Callable[[World], object]

NOBODYS = frozenset({".git", "__pycache__", ".pytest_cache"})


def listing(root: Path, without: frozenset[str] = NOBODYS) -> dict[str, tuple[int, bytes]]:
    """Every file and link outside the git folder, with its executable bit and bytes."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if without.intersection(name.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        found[os.fspath(name)] = (path.lstat().st_mode & 0o170100, data)
    return found


@dataclass(frozen=True)
class Standing:
    """The tree and what the log says of it, without what differs from run to run."""

    head: bytes
    files: dict[str, tuple[int, bytes]]
    state: WorktreeState


def standing(world: World) -> Standing:
    # A run that was seen before the kill is a fact of its own, whatever became of the operation.
    state = replace(world.state, reds={}, baseline=None)
    # When the foundation was looked at is a moment: two runs of one command differ in it.
    turn = state.turn and replace(state.turn, founded=0)
    refactor = state.refactor and replace(state.refactor, founded=0)
    state = replace(state, turn=turn, refactor=refactor)
    return Standing((world.root / ".git/HEAD").read_bytes(), listing(world.root), state)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    kills: int
    resting: list[Standing]
    """Where the log has no open intent, in order: the first is the old state, the last the new one."""
    after: list[Standing]
    """What each kill left behind, once the next command had run."""


def rehearse(
    world: World,
    stage: Path,
    operate: Operate,
    *,
    again: bool = False,
    keeps: bool = True,
    check: Operate = standing,
) -> Rehearsed:
    """Kill `operate` at each step, on a copy each; the next command leads to a place of rest.

    `again`: the same command, given once more after the kill, ends where the undisturbed one did.
    `keeps`: every file that was in the tree is there, or set aside. `check` looks at each recovered copy.
    """
    resting = _undisturbed(_copy(world, stage / "undisturbed"), operate)
    after: list[Standing] = []
    for step in count(1):
        copy = _copy(world, stage / str(step))
        killed = _killed(copy, operate, step)
        with operation(copy.project):
            pass
        after.append(standing(copy))
        assert after[-1] in resting, f"killed at step {step}"
        assert copy.whole(), f"killed at step {step}"
        assert not keeps or _lost(copy, resting[0]) == [], f"killed at step {step}"
        check(copy)
        if again:
            operate(copy)
            assert standing(copy) == resting[-1], f"killed at step {step}"
        shutil.rmtree(copy.root)
        if not killed:
            return Rehearsed(step - 1, resting, after)
    raise AssertionError


def _lost(world: World, before: Standing) -> list[str]:
    files, workspace = listing(world.root), world.project.workspace
    gone = {path: data for path, (_, data) in before.files.items() if files.get(path) != before.files[path]}
    kept = {
        (path, workspace.read(laid.edited, path))
        for laid in world.state.aside.values()
        for path in laid.paths
    }
    return [path for path, data in gone.items() if (path, data) not in kept]


def _copy(world: World, root: Path) -> World:
    shutil.copytree(world.root, root, symlinks=True)
    return World(replace(world.repo, root=root))


def _undisturbed(world: World, operate: Operate) -> list[Standing]:
    resting = [standing(world)]

    def watched(record: Any) -> Any:
        def wrapper(*args: Any, **named: Any) -> Any:
            done = record(*args, **named)
            now = standing(world)
            if now.state.intent is None and now not in resting:
                resting.append(now)
            return done

        return wrapper

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Project, "record", watched(Project.record))
        operate(world)
    assert standing(world) == resting[-1]
    return resting


def _killed(world: World, operate: Operate, step: int) -> bool:
    """Run in a child that kills itself at the step; whether it got that far."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            arm(step)
            operate(world)
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may leave the child and run on as a second pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


def arm(step: int, *, writes: bool = False) -> None:
    """Before and after each record; before and in the midst of each touch of a file.

    `writes`: also in the midst of each file that is written for a role or an agent.
    """
    fuse = _Fuse(step)
    patched = pytest.MonkeyPatch()
    patched.setattr(Project, "record", fuse.around(Project.record))
    patched.setattr(disk, "delete", fuse.around(disk.delete))
    patched.setattr(disk, "write", fuse.amidst(disk.write))
    if writes:
        patched.setattr(pathlib.Path, "write_bytes", fuse.torn(pathlib.Path.write_bytes))


class _Fuse:
    """Burns down by one at each place; the process that is at its end dies there."""

    def __init__(self, length: int) -> None:
        self._left = length

    def _here(self) -> bool:
        self._left -= 1
        return self._left == 0

    def _or_die(self) -> None:
        if self._here():
            _die()

    def around(self, call: Any) -> Any:
        def wrapper(*args: Any, **named: Any) -> Any:
            self._or_die()
            done = call(*args, **named)
            self._or_die()
            return done

        return wrapper

    def amidst(self, call: Any) -> Any:
        def wrapper(top: int, path: str, mode: str, data: bytes) -> Any:
            self._or_die()
            if self._here():
                call(top, path, mode, data[: len(data) // 2])
                _die()
            return call(top, path, mode, data)

        return wrapper

    def torn(self, call: Any) -> Any:
        def wrapper(path: Path, data: bytes) -> Any:
            if self._here():
                call(path, data[: len(data) // 2])
                _die()
            return call(path, data)

        return wrapper


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
