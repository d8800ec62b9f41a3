"""A clock that jumps back: what was recorded lies in the future, and everything goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from support.turns import CALC, SUB, SUB_ID, World, make_world
from verdigris.checks.foundation import came_after
from verdigris.core.verdict import Kind
from verdigris.storage.calls import callers

DAY = 24 * 60 * 60


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The clock is a day ahead until this is undone; the file system's own is not."""
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + DAY)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + DAY * 10**9)
    return monkeypatch


def test_a_turn_that_began_in_the_future_is_accepted(tmp_path: Path, ahead: pytest.MonkeyPatch) -> None:
    world: World = make_world(tmp_path / "repo")
    world.test()
    world.green()
    (claimed,) = [record for record in world.project.log.records() if record.type == "edit_claim"]
    ahead.undo()
    assert claimed.ts / 1000 > time.time() + DAY / 2
    world.write("calc.py", CALC + SUB)
    done = world.settle()
    assert (done.verdict.kind, done.accepted, done.phase) == (Kind.ACCEPTED, (SUB_ID,), "red")
    assert world.whole()


def test_a_file_may_have_come_since_a_moment_that_lies_ahead(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.touch()
    changed = file.stat().st_ctime_ns
    assert came_after(str(file), changed - 1)
    assert not came_after(str(file), changed)
    assert came_after(str(file), time.time_ns() + DAY * 10**9), "the clock was put back meanwhile"


def test_an_edit_that_began_in_the_future_is_not_open_for_ever(tmp_path: Path) -> None:
    private = str(tmp_path)
    callers.note_edit(private, "one", "src/a.py")
    assert callers.open_edits(private, "two") == {"src/a.py": "one"}
    (record,) = (tmp_path / callers.EDITS).iterdir()
    os.utime(record, (time.time() + DAY, time.time() + DAY))
    assert callers.open_edits(private, "two") == {}
