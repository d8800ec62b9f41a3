"""Builds of compiled tests, and commands of test tools in a room."""

from __future__ import annotations

import os
from pathlib import Path

from support.turns import make_world
from verdigris.execution.rooms import RoomEquipment
from verdigris.execution.tools.runs import RunPlace, cache_folder, run_in_room, take_reports
from verdigris.runners.protocol import RunnerCall


def test_reports_are_regular_files_and_are_taken_away(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.xml").write_bytes(b"a")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "b").write_bytes(b"b")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    assert take_reports(str(folder)) == {"deep/a.xml": b"a"}
    assert list(folder.iterdir()) == []
    assert (tmp_path / "secret").exists()


def test_all_that_a_tool_prints_is_kept(tmp_path: Path) -> None:
    world = make_world(tmp_path / "demo")
    called = RunnerCall(("sh", "-c", "seq 100000; echo $ONE $TWO"), str(world.root), "seq", env={"TWO": "2"})
    place = RunPlace(world.project, equipment=RoomEquipment(env={"ONE": "1", "TWO": "1"}))
    lines = run_in_room(called, place, 60).finished.output.splitlines()
    assert len(lines) == 100_001
    assert lines[-1] == b"1 2"


def test_the_same_words_lead_to_the_same_folder(tmp_path: Path) -> None:
    first = cache_folder(tmp_path, "cargo", ["a"])
    assert cache_folder(tmp_path, "cargo", ["a"]) == first
    assert cache_folder(tmp_path, "cargo", ["b"]) != first


def test_those_used_least_lately_go(tmp_path: Path) -> None:
    folders = [cache_folder(tmp_path, "cargo", [str(number)]) for number in range(3)]
    for age, folder in enumerate(folders):
        (folder / "deep").mkdir()
        os.utime(folder, (age, age))
    cache_folder(tmp_path, "cargo", ["0"])
    cache_folder(tmp_path, "cargo", ["new"])
    assert [folder.is_dir() for folder in folders] == [True, False, True]
