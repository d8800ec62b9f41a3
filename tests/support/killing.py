"""Operations that are killed at each of their steps."""

from __future__ import annotations

import os
import signal
import stat
import traceback
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.trees import copy_tree, read, remove_tree, walk
from support.turns import World
from verdigris.storage.project import Project
from verdigris.storage.snapshots import disk
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.core.events import Event
    from verdigris.core.state import WorktreeState

    Operate = Callable[[World], object]

NOBODYS = frozenset({".git", "__pycache__", ".pytest_cache"})


def listing(root: Path, without: frozenset[str] = NOBODYS) -> dict[str, tuple[int, bytes]]:
    """Every file and link outside the git folder, with its executable bit and bytes."""
    found = {
        path: (mode & 0o170100, os.fsencode(Path(full).readlink()) if stat.S_ISLNK(mode) else read(full))
        for path, full, mode in walk(os.fspath(root), without)
    }
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Standing:
    """The tree and the log's state, without the parts that differ from run to run."""

    head: bytes
    files: dict[str, tuple[int, bytes]]
    state: WorktreeState


def standing(world: World) -> Standing:
    # A run that was recorded before the kill stays a fact, whatever became of the operation.
    state = replace(world.state, reds={}, baseline=None)
    # Two runs of one command look at the foundation at different times; a run outdates a refusal.
    turn = state.turn and replace(state.turn, founded=0, refused=None)
    refactor = state.refactor and replace(state.refactor, founded=0)
    state = replace(state, turn=turn, refactor=refactor)
    return Standing((world.root / ".git/HEAD").read_bytes(), listing(world.root), state)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    kills: int
    resting: list[Standing]
    """The states without an open intent, in order: the first is the old state, the last the new one."""
    after: list[Standing]
    """The state after each kill, once the next command had run."""


def rehearse(
    world: World,
    stage: Path,
    operate: Operate,
    *,
    again: bool = False,
    keeps: bool = True,
    check: Operate = standing,
) -> Rehearsed:
    """Stop `operate` at each step, and check that the next command leads to a state without an open intent.

    A kill leaves what is on the disk. So the operation is carried out once, and the disk is copied at each of
    its steps; if the disk did not change since the step before, a kill there is the same kill. `again`: the
    same command, given once more after the kill, ends as the undisturbed one did. `keeps`: every file that
    was in the tree is there, or set aside. `check` looks at each recovered copy.
    """
    steps = _Steps(stage, _copy(world, stage / "undisturbed"))
    resting = _undisturbed(steps, operate)
    after: list[Standing] = []
    for step, copy in enumerate(steps.copies(), 1):
        if copy is None:
            after.append(after[-1])
            continue
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
        remove_tree(copy.root)
    return Rehearsed(steps.count, resting, after)


@dataclass
class _Steps:
    """The disk at each step of an operation in `world`."""

    stage: Path
    world: World
    count: int = 0
    _seen: list[World | None] = field(default_factory=list)
    _last: dict[str, tuple[int, bytes]] | None = None

    def here(self) -> None:
        self.count += 1
        self._keep()

    def copies(self) -> list[World | None]:
        """None if the disk did not change since the last step; the last copy shows the finished operation."""
        self._keep()
        return self._seen

    def _keep(self) -> None:
        found = listing(self.world.root, frozenset())
        same = found == self._last
        self._seen.append(None if same else _copy(self.world, self.stage / str(len(self._seen) + 1)))
        self._last = found


def compare_with_kills(world: World, stage: Path, operate: Operate) -> int:
    """Check the assumption of `rehearse`: a process that is killed at a step leaves what the copy shows."""
    steps = _Steps(stage, _copy(world, stage / "undisturbed"))
    _undisturbed(steps, operate)
    shown = None
    for step, copy in enumerate(steps.copies()[:-1], 1):
        shown = shown if copy is None else standing(copy)
        real = _copy(world, stage / f"killed-{step}")
        assert is_killed(partial(operate, real), step)
        assert standing(real) == shown, f"killed at step {step}"
    return steps.count


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
    copy_tree(world.root, root)
    return World(replace(world.repo, root=root))


def _undisturbed(steps: _Steps, operate: Operate) -> list[Standing]:
    world = steps.world
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
        _stop_at(patched, steps.here)
        patched.setattr(Project, "record", watched(Project.record))
        operate(world)
    assert standing(world) == resting[-1]
    return resting


def is_killed(operate: Callable[[], object], step: int, *, writes: bool = False) -> bool:
    """Carry it out in a child that kills itself at the step; answers whether it got that far.

    `writes`: the middle of each write of a file for a role or an agent is a step too.
    """
    return _dies(partial(_arm, step, writes=writes), operate)


def _dies(arm: Callable[[], None], operate: Callable[[], object]) -> bool:
    """Carry it out in a child that was armed before; answers whether it killed itself."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            arm()
            operate()
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may leave the child and run on as a second pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


@dataclass(frozen=True)
class Killer:
    """Kills a process once at each place that matters: before and after a record, and in the middle of a
    write.
    """

    seen: Path
    """A file with the places where a process was killed already; it outlives the processes."""
    before: frozenset[str]
    """Kinds of events."""
    after: frozenset[str]
    written: frozenset[str] = frozenset()
    """Names of files."""
    by_phase: bool = False
    """A kind of record counts once in each phase."""

    @property
    def places(self) -> list[str]:
        return self.seen.read_text().splitlines() if self.seen.exists() else []

    def kills(self, operate: Callable[[], object]) -> bool:
        """Carry it out in a child; answers whether it was killed."""
        return _dies(self._arm, operate)

    def _arm(self) -> None:
        patched = pytest.MonkeyPatch()
        record, write = Project.record, Path.write_bytes

        def recorded(project: Project, *events: Event, **named: Any) -> Any:
            kinds = [type(event).__name__ for event in events]
            phase = f"{project.state().phase}: " if self.by_phase else ""
            for kind in filter(self.before.__contains__, kinds):
                self._die_once(f"{phase}before {kind}")
            done = record(project, *events, **named)
            for kind in filter(self.after.__contains__, kinds):
                self._die_once(f"{phase}after {kind}")
            return done

        def torn(path: Path, data: bytes) -> Any:
            if path.name in self.written:
                self._die_once(f"in {path.name}", lambda: write(path, data[: len(data) // 2]))
            return write(path, data)

        patched.setattr(Project, "record", recorded)
        patched.setattr(Path, "write_bytes", torn)

    def _die_once(self, place: str, first: Callable[[], object] = bool) -> None:
        if place in self.places:
            return
        first()
        with self.seen.open("a") as seen:
            seen.write(f"{place}\n")
        os.kill(os.getpid(), signal.SIGKILL)


def _arm(step: int, *, writes: bool) -> None:
    left = step

    def here() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    patched = pytest.MonkeyPatch()
    _stop_at(patched, here)
    if writes:
        patched.setattr(Path, "write_bytes", _torn(Path.write_bytes, here))


def _stop_at(patched: pytest.MonkeyPatch, here: Callable[[], None]) -> None:
    """Before and after each record; before and in the middle of each change of a file."""
    patched.setattr(Project, "record", _around(Project.record, here))
    patched.setattr(disk, "delete", _around(disk.delete, here))
    patched.setattr(disk, "write", _amidst(disk.write, here))


def _around(call: Any, here: Callable[[], None]) -> Any:
    def wrapper(*args: Any, **named: Any) -> Any:
        here()
        done = call(*args, **named)
        here()
        return done

    return wrapper


def _amidst(call: Any, here: Callable[[], None]) -> Any:
    def wrapper(top: int, path: str, mode: str, data: bytes) -> Any:
        here()
        call(top, path, mode, data[: len(data) // 2])
        here()
        return call(top, path, mode, data)

    return wrapper


def _torn(call: Any, here: Callable[[], None]) -> Any:
    def wrapper(path: Path, data: bytes) -> Any:
        call(path, data[: len(data) // 2])
        here()
        return call(path, data)

    return wrapper
