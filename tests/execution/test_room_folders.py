from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from verdigris.sandbox import folders
from verdigris.sandbox.folders import PREFIX, Folders, outside, sweep


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def rooms(place: Path) -> list[str]:
    return [path.name for path in place.iterdir() if path.name.startswith(PREFIX)]


def test_made_private_and_thrown_away_whatever_modes_were_given(place: Path) -> None:
    made = Folders(str(place))
    (folder,) = rooms(place)
    assert (place / folder).stat().st_mode & 0o777 == 0o700
    deep = Path(made.kept, "tmp", "a", "b")
    deep.mkdir(parents=True)
    (deep / "file").touch()
    deep.chmod(0)
    Path(made.kept, "home").chmod(0)
    made.discard()
    assert rooms(place) == []


def test_a_run_sees_its_own_folders_at_a_short_path_that_leads_back(place: Path) -> None:
    """The path of a socket is limited to about 100 bytes."""
    made = Folders(str(place))
    assert len(made.tmp) < 30
    assert outside(str(place), f"{made.cache}/a/b") == f"{made.reports}/a/b"
    made.discard()


@pytest.mark.parametrize("path", ["/etc/passwd", "/tmp/tdd.x/../../etc", "/tmp/other.x/a", ""])
def test_no_other_path_leads_into_a_room(path: str) -> None:
    with pytest.raises(OSError, match="lies in no room"):
        outside("/rooms", path)


def test_without_a_sandbox_the_run_sees_them_where_they_lie(place: Path) -> None:
    made = Folders(str(place), confined=False)
    assert Path(made.tmp).is_dir()
    assert (made.own, made.cache) == (made.kept, made.reports)
    made.discard()


def test_a_place_that_cannot_be_written_leaves_nothing(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(OSError, match="file"):
        Folders(str(place / "file"))
    assert rooms(place) == []


def test_the_room_of_a_killed_process_is_swept_and_that_of_a_living_one_is_not(place: Path) -> None:
    mine = Folders(str(place))
    child = os.fork()
    if child == 0:
        Folders(str(place))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(rooms(place)) == 2
    sweep(str(place))
    assert [Path(mine.kept).parent.name] == rooms(place)
    mine.discard()


def test_what_is_not_a_room_is_left_alone(place: Path) -> None:
    (place / f"{PREFIX}file").touch()
    (place / f"{PREFIX}link").symlink_to(place)
    (place / "kept").mkdir()
    sweep(str(place))
    assert sorted(path.name for path in place.iterdir()) == ["kept", f"{PREFIX}file", f"{PREFIX}link"]


def test_a_room_swept_before_it_was_locked_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = folders._lock_folder
    swept: list[str] = []

    def too_late(folder: str, opening: Callable[[str, int], int]) -> int | None:
        if not swept:
            swept.append(folder)
            Path(folder).rmdir()
        return locked(folder, opening)

    monkeypatch.setattr(folders, "_lock_folder", too_late)
    made = Folders(str(place))
    assert Path(made.kept).is_dir()
    made.discard()
