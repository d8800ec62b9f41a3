"""Which files are opened in a room, as the kernel tells it to one outside."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from support.turns import World
from verdigris.execution.room import Room
from verdigris.execution.rooms import terms_of
from verdigris.sandbox import child, opens
from verdigris.sandbox.opens import LOST

pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")


def heard(world: World, command: str) -> tuple[set[str], tuple[str, ...]]:
    with closing(Room(terms_of(world.project), ())) as room:
        subprocess.run(
            ["/bin/sh", "-c", command], cwd=world.root, env=room.env, preexec_fn=room.confine, check=False
        )
        return set(room.opened_files()), room.notes()


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


def test_what_heard_one_run_hears_the_next_and_nothing_of_the_first(world: World) -> None:
    """To close it would wait for Linux to forget its folders."""
    assert heard(world, "cat calc.py") == ({"calc.py"}, ())
    *_, spare = opens._spare
    with closing(Room(terms_of(world.project), ())) as room:
        assert room.opens is not None
        assert room.opens.events == spare
        assert spare not in opens._spare
        assert room.opened_files() == ()
    assert heard(world, "cat conftest.py") == ({"conftest.py"}, ())


def test_two_rooms_at_once_are_heard_apart(world: World) -> None:
    with closing(Room(terms_of(world.project), ())) as outer:
        assert heard(world, "cat calc.py")[0] == {"calc.py"}
        assert outer.opened_files() == ()


def test_a_forked_process_hears_by_one_of_its_own(world: World) -> None:
    heard(world, "cat calc.py")
    kept = list(opens._spare)
    assert kept
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, bytes([len(opens._spare)]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == bytes([0])
    os.close(read)
    os.close(write)
    assert opens._spare == kept
