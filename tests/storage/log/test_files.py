from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from storage.log.children import outcome, start
from storage.log.tally import draft, filled, numbers, open_log
from verdigris.core.errors import StorageError
from verdigris.storage.log.files import LogFiles


def test_a_lock_file_removed_while_others_wait_for_it_still_keeps_writers_apart(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    go, ready = os.pipe()

    def append() -> None:
        os.read(go, 1)
        for _ in range(20):
            log.append([draft()])

    waiting = [start(append) for _ in range(2)]  # before the lock is taken: a fork would inherit it
    with LogFiles(os.fspath(tmp_path)).writing():
        os.write(ready, b"!!")
        (tmp_path / "lock").unlink()
    assert [outcome(pid) for pid in waiting] == [0, 0]
    os.close(go)
    os.close(ready)

    assert log.state().events == 40
    assert log.verify().findings == ()


def test_the_lock_is_on_the_file_that_stands_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, flock = tmp_path / "lock", fcntl.flock

    def replaced_meanwhile(fd: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        lock.unlink()
        lock.touch()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", replaced_meanwhile)
    with LogFiles(os.fspath(tmp_path)).writing(), lock.open() as other, pytest.raises(BlockingIOError):
        flock(other.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_a_killed_repair_prepared_for_a_log_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    stale = tmp_path / "head.repaired"
    for content in (b'{"seq":9,"hash":"","size":9,"checkpoint":0,"inode":1}', b"junk"):
        stale.write_bytes(content)
        assert log.verify().findings == ()
        log.append([draft()])
        assert not stale.exists()
    assert log.state().events == 4


def test_readers_share_the_log(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)

    with LogFiles(os.fspath(tmp_path)).reading() as there:
        assert there
        assert log.state().events == 2


def test_a_folder_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "tdd").write_text("")

    for attempt in (lambda: open_log(tmp_path / "tdd").append([draft()]), open_log(tmp_path / "tdd").state):
        with pytest.raises(StorageError) as caught:
            attempt()
        assert "tdd log repair --why WHY" in (caught.value.hint or "")


@pytest.mark.parametrize("name", [b"with space", b"quo'te\"", b"new\nline", b"not-utf8-\xff"])
def test_any_name_of_the_folder_works(tmp_path: Path, name: bytes) -> None:
    log = open_log(tmp_path / os.fsdecode(name))
    log.append([draft(os.fsdecode(name))])

    assert numbers(log) == [os.fsdecode(name)]


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = open_files()
    log = filled(tmp_path, 40, every=3)
    log.state()
    log.verify()
    next(log.records())
    next(log.records(reverse=True))

    assert open_files() == before
