"""Whatever kills a writer or fills the disk, the log is the old one or the new one."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from storage.log.children import at_call, deaths, die, fail, outcome, start
from storage.log.tally import Tally, draft, filled, numbers, open_log
from support.small_disk import small_disk
from verdigris.core.errors import StorageError
from verdigris.storage.log.lines import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from verdigris.storage.log.log import Log


def nothing(control: Path) -> None:
    control.mkdir()


def some_events(control: Path) -> None:
    filled(control, 3)


def batch_beyond_the_head(control: Path) -> None:
    log = filled(control, 2)
    head = (control / "head").read_bytes()
    log.append([draft(3)])
    (control / "head").write_bytes(head)


def torn_line(control: Path) -> None:
    filled(control, 3)
    with (control / "events.jsonl").open("ab") as file:
        file.write(b'{"seq":4,"ts":')


def checkpoint_due(control: Path) -> None:
    filled(control, 3, every=5)


BEGINNINGS = [nothing, some_events, batch_beyond_the_head, torn_line, checkpoint_due]


@pytest.fixture(params=BEGINNINGS, ids=lambda beginning: beginning.__name__)
def control(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    request.param(tmp_path / "tdd")
    return tmp_path / "tdd"


def restorer(control: Path) -> Callable[[], None]:
    """Puts the folder back as it is now."""
    kept = control.parent / "kept"
    shutil.copytree(control, kept)

    def restore() -> None:
        shutil.rmtree(control)
        shutil.copytree(kept, control)

    return restore


def test_a_writer_killed_at_any_step_leaves_the_old_log_or_the_new_one(control: Path) -> None:
    log = open_log(control, every=5)
    restore = restorer(control)
    old = log.state()
    new = log.append([draft("a"), draft("b")]).state
    seen = set()

    def work() -> None:
        log.append([draft("a"), draft("b")], sync=True)

    for number in deaths(work, restore):
        state = log.state()
        assert state in {old, new}, f"killed at call {number}"
        seen.add(state)
        assert log.verify().whole
        log.append([draft("next")])
        assert log.state().events == state.events + 1
        assert log.verify().findings == ()
        assert parse((control / "head").read_bytes()).size == (control / "events.jsonl").stat().st_size
    assert seen == {old, new}
    assert number > 10


def failure(log: Log[Tally]) -> StorageError | None:
    try:
        log.append([draft("a"), draft("b")], sync=True)
    except StorageError as error:
        return error
    return None


def test_a_disk_that_fails_at_any_step_leaves_the_log_as_it_was(control: Path) -> None:
    log = open_log(control, every=5)
    old = log.state()
    failures = 0
    while True:
        failures += 1
        with at_call(failures, fail):
            error = failure(log)
        if error is None:
            break
        assert "No space left" in error.message
        assert "free some space" in (error.hint or "")
        assert log.state() == old
        assert log.verify().whole
        assert not (control / "head.new").exists()
    assert failures > 10
    assert log.state().events == old.events + 2
    assert log.verify().findings == ()


def test_a_real_short_write_is_taken_back(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    size = (tmp_path / "events.jsonl").stat().st_size

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))
        with pytest.raises(StorageError, match="No space left"):
            log.append([draft("x" * 1000)])

    assert outcome(start(limited)) == 0
    assert (tmp_path / "events.jsonl").stat().st_size == size
    assert numbers(log) == [1, 2, 3]
    assert log.verify().findings == ()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "64k") as disk:
        yield disk


def test_a_real_full_disk_and_then_a_read_only_one(tiny_disk: Path) -> None:
    log = open_log(tiny_disk / "tdd")
    written = 0
    while (error := failure(log)) is None:
        written += 2
    assert "No space left" in error.message
    assert log.state().events == written
    assert len(numbers(log)) == written
    assert written > 10
    assert log.verify().findings == ()

    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    assert log.state().events == written
    assert log.verify().findings == ()
    with pytest.raises(StorageError, match="Read-only") as caught:
        log.append([draft("no")])
    assert "writable" in (caught.value.hint or "")

    subprocess.run(["mount", "-o", "remount,rw,size=128k", tiny_disk], check=True)
    assert log.append([draft("room")]).state.events == written + 1


def writer(log: Log[Tally], name: int, appends: int, acknowledge: int, doom: int) -> None:
    """Batches of one to three events; says which number was appended; may die in the middle of an append."""
    for n in range(appends):
        drafts = [draft([name, n, part]) for part in range(1 + n % 3)]
        if n == doom:
            with at_call(7 + name, die):
                log.append(drafts)
        log.append(drafts)
        os.write(acknowledge, f"{name} {n}\n".encode())


def reader(log: Log[Tally], stop: int) -> None:
    """State, events and verification are right at every moment, and events never vanish."""
    os.set_blocking(stop, False)
    seen = 0
    while True:
        try:
            if os.read(stop, 1) == b"":
                return
        except BlockingIOError:
            pass
        state = log.state()
        assert state.events >= seen
        seen = state.events
        assert sum(1 for _ in log.records()) >= seen
        assert log.verify().whole


def acknowledged(pipe: int, victims: dict[int, int]) -> set[tuple[int, int]]:
    """All acknowledgements until the last writer is gone; the victims are killed when well under way."""
    acks = set()
    with os.fdopen(pipe) as lines:
        for line in lines:
            name, n = map(int, line.split())
            acks.add((name, n))
            if n == 50 and name in victims:
                os.kill(victims.pop(name), signal.SIGKILL)
    return acks


def test_eight_writers_of_which_some_are_killed_lose_nothing_that_they_acknowledged(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    acks, acknowledge = os.pipe()
    stop, stopped = os.pipe()

    def reading() -> None:
        os.close(stopped)
        os.close(acknowledge)
        reader(log, stop)

    readers = [start(reading) for _ in range(2)]
    doomed = {2: 5, 3: 20, 4: 40, 5: 60, 6: 80}
    pids = {n: start(partial(writer, log, n, 100, acknowledge, doomed.get(n, -1))) for n in range(8)}
    os.close(acknowledge)
    acked = acknowledged(acks, {0: pids[0], 1: pids[1]})
    outcomes = {n: outcome(pid) for n, pid in pids.items()}
    os.close(stopped)
    assert [outcome(pid) for pid in readers] == [0, 0]
    os.close(stop)

    assert outcomes[7] == 0
    assert all(outcomes[n] == -signal.SIGKILL for n in doomed)
    assert log.verify().whole
    log.append([draft([99, 0, 0])])
    assert log.verify().findings == ()
    found = [tuple(record.data["n"]) for record in log.records()]
    assert len(found) == len(set(found))
    for name, n in acked:
        assert {(name, n, part) for part in range(1 + n % 3)} <= set(found)
    batches = {(name, n) for name, n, _ in found}
    assert sum(1 + n % 3 for _, n in batches) == len(found)  # no batch came in part
