"""Rooms that a short command leaves to a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.warming import until
from verdigris.sandbox import folders, removal
from verdigris.sandbox.folders import Folders, sweep

COMMAND = """
import os, sys
from verdigris.sandbox import folders, removal
removal.allow()
made = folders.Folders(sys.argv[1])
made.discard(in_time=True)
print(len(os.listdir(made.kept)), flush=True)
removal.remove_behind()
os._exit(0)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(removal, "_waiting", removal._Waiting())
    yield str(tmp_path)
    removal._waiting.allowed = False


def rooms(place: str) -> list[Path]:
    return sorted(Path(place).glob(f"{folders.PREFIX}*"))


def test_who_does_not_end_soon_removes_them_at_once(place: str) -> None:
    Folders(place).discard(in_time=True)
    assert rooms(place) == []


def test_they_are_there_until_the_end_and_gone_soon_after_it(place: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, place], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "3\n", "the folder is there when the command has done with it"
    until(lambda: not rooms(place), "a room is left")


def test_nobody_sweeps_what_waits_and_everybody_what_a_killed_remover_left(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal.allow()
    made = Folders(place)
    made.discard(in_time=True)
    sweep(place)
    assert len(rooms(place)) == 1
    monkeypatch.setattr(os, "fork", lambda: 1)  # as where the child is killed at once
    held = dict(removal._waiting.held)
    removal.remove_behind()
    for lock in held.values():
        os.close(lock)
    sweep(place)
    assert rooms(place) == []


def test_only_so_many_wait(place: str) -> None:
    removal.allow()
    for _ in range(removal.MOST + 3):
        Folders(place).discard(in_time=True)
    assert len(rooms(place)) == removal.MOST
    removal.remove_behind()
    until(lambda: not rooms(place), "a room is left")


def test_where_no_process_can_be_started_they_are_removed_here(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal.allow()
    Folders(place).discard(in_time=True)

    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    removal.remove_behind()
    assert rooms(place) == []
