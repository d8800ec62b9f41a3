"""Which files are opened in a room, as the kernel tells it to one outside."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verdigris import sandbox
from verdigris.execution.room.room import Room
from verdigris.execution.room.rooms import terms_of
from verdigris.sandbox import opens
from verdigris.sandbox.opens import LOST

if TYPE_CHECKING:
    from support.turns import World

pytestmark = pytest.mark.skipif(not sandbox.available().ok, reason="no sandbox can be made here")


def heard(world: World, command: str) -> tuple[set[str], tuple[str, ...]]:
    with closing(Room(terms_of(world.project), ())) as room:
        subprocess.run(
            ["/bin/sh", "-c", command], cwd=world.root, env=room.env, preexec_fn=room.confine, check=False
        )
        return set(room.opened()), room.notes()


def test_whoever_opens_a_file_is_heard_and_who_only_looks_is_not(world: World) -> None:
    world.write("deep/er/data.json", "{}")
    world.write("unread.json", "{}")
    command = "cat calc.py; (cd deep; exec cat er/data.json); ls -l unread.json; ls"
    assert heard(world, command) == ({"calc.py", "deep/er/data.json"}, ())


def test_environments_are_passed_over(world: World) -> None:
    world.write(".venv/pyvenv.cfg", "")
    world.write(".venv/lib/a.py", "")
    world.write("node_modules/a/index.js", "")
    world.write("env/notes.txt", "")
    found, notes = heard(world, "cat .venv/lib/a.py node_modules/a/index.js env/notes.txt")
    assert (found, notes) == ({"env/notes.txt"}, ())


def test_more_folders_than_can_be_heard_are_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opens, "MOST_FOLDERS", 1)
    found, notes = heard(world, "cat calc.py tests/test_add.py")
    assert (found, notes) == ({"calc.py"}, (LOST,))


def test_a_run_that_opens_too_much_is_told_so(world: World) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii"))
    loop = f"for n in range({limit} + 9): open(('calc.py', 'conftest.py')[n % 2]).close()"
    _, notes = heard(world, f'python3 -c "{loop}"')
    assert notes == (LOST,)
