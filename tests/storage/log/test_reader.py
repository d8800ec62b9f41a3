from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.log.children import bytes_read, outcome, start
from storage.log.tally import Tally, TallyFolding, draft, filled, lines, numbers, open_log, put_lines
from verdigris.core.errors import LogDamaged, StorageError
from verdigris.core.records import Record, Schema
from verdigris.storage.log import lines as blocks
from verdigris.storage.log.log import Log


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Log[Tally]:
    """120 events and 15 checkpoints, read in small blocks so that the search has something to do."""
    control = tmp_path_factory.mktemp("tdd")
    log = open_log(control, every=8)
    for n in range(30):
        log.append([draft(4 * n + k) for k in range(4)])
    return log


@given(st.integers(-5, 150), st.booleans(), st.none() | st.integers(0, 20))
@settings(deadline=None)
def test_any_window_is_that_window_of_all(
    long_log: Log[Tally], start: int, reverse: bool, limit: int | None
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "BLOCK", 600)
        everything = list(long_log.records())
        window = list(long_log.records(start=start, reverse=reverse, limit=limit))

    assert len(everything) == 120
    expected = [record for record in everything if record.seq >= start]
    assert window == (expected[::-1] if reverse else expected)[:limit]


def test_a_late_start_is_found_without_reading_what_is_before_it(long_log: Log[Tally]) -> None:
    with pytest.MonkeyPatch.context() as patched, bytes_read() as read:
        patched.setattr(blocks, "BLOCK", 600)
        assert next(long_log.records(start=100)).seq == 100
        late = sum(read)
        list(long_log.records())

    assert late < (sum(read) - late) / 2


class CountingFolding(TallyFolding):
    def __init__(self) -> None:
        self.steps = 0

    def step(self, state: Tally, record: Record) -> Tally:
        self.steps += 1
        return super().step(state, record)


@pytest.mark.parametrize("every", [1000, 4], ids=["no-checkpoint", "checkpoints"])
def test_the_same_bytes_are_folded_once_however_often_a_log_is_opened(tmp_path: Path, every: int) -> None:
    written = filled(tmp_path, 6, every).state()
    folding = CountingFolding()
    assert Log(tmp_path, folding).state() == written
    steps = folding.steps
    assert steps > 0
    assert Log(tmp_path, folding).state() == written
    assert folding.steps == steps

    open_log(tmp_path, every).append([draft(7)])
    assert Log(tmp_path, folding).state() == open_log(tmp_path).state() != written
    assert folding.steps > steps


def test_other_bytes_of_the_same_length_are_damage_also_in_a_log_that_was_folded(tmp_path: Path) -> None:
    filled(tmp_path, 6)
    folding = TallyFolding()
    Log(tmp_path, folding).state()
    first, *rest = lines(tmp_path)
    put_lines(tmp_path, [first.replace(b'"n":1', b'"n":2'), *rest])
    with pytest.raises(LogDamaged):
        Log(tmp_path, folding).state()


def test_another_schema_folds_the_same_bytes_for_itself(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    folding = CountingFolding()
    Log(tmp_path, folding).state()
    Log(tmp_path, folding, schema=Schema(1, {})).state()
    assert folding.steps == 6


def test_checkpoints_are_the_logs_own_business(tmp_path: Path) -> None:
    log = filled(tmp_path, 6, every=2)

    assert numbers(log) == [1, 2, 3, 4, 5, 6]
    assert numbers(log, reverse=True, limit=3) == [6, 5, 4]
    assert [record.seq for record in log.records()] == [1, 2, 4, 5, 7, 8]


def test_events_appended_while_reading_are_not_waited_for(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    reading = log.records()
    first = next(reading)

    log.append([draft(4)])

    assert [record.data["n"] for record in (first, *reading)] == [1, 2, 3]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_changed_event_is_met_in_either_direction(tmp_path: Path, reverse: bool) -> None:
    log = filled(tmp_path, 6)
    text = lines(tmp_path)
    put_lines(tmp_path, [*text[:2], text[2].replace(b'"n":3', b'"n":9'), *text[3:]])

    with pytest.raises(LogDamaged, match="damaged at event 3"):
        list(log.records(reverse=reverse))


def test_a_changed_last_event_is_met(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    text = lines(tmp_path)
    put_lines(tmp_path, [text[0], text[1].replace(b'"n":2', b'"n":9')])

    with pytest.raises(LogDamaged, match="damaged at event 2"):
        list(log.records())


def test_a_fold_goes_on_where_it_ended_and_begins_again_in_another_log(tmp_path: Path) -> None:
    log, folding, seen = filled(tmp_path, 40, every=7), TallyFolding(), list[object]()

    def step(state: Tally, record: Record) -> Tally:
        seen.append(record.data["n"])
        return folding.step(state, record)

    assert open_log(tmp_path / "none").fold("a", Tally(), step) == Tally()
    assert log.fold("a", Tally(), step) == log.state()
    log.append([draft(41), draft(42)])
    with bytes_read() as read:
        assert log.fold("a", Tally(), step) == log.state()
        assert sum(read) < 2000, "only what is new"
    assert log.fold("a", Tally(), step) == log.state()
    assert seen == [*range(1, 43)]
    assert log.fold("b", 0, lambda count, _: count + 1) == 42

    other = filled(tmp_path / "other", 60, every=7)
    for name in ("events.jsonl", "head"):
        (tmp_path / name).write_bytes((tmp_path / "other" / name).read_bytes())
    assert log.fold("b", 0, lambda count, _: count + 1) == 60
    assert log.fold("a", Tally(), step) == other.state()


def test_a_fold_meets_a_changed_event(tmp_path: Path) -> None:
    log = filled(tmp_path, 6)
    text = lines(tmp_path)
    put_lines(tmp_path, [*text[:4], text[4].replace(b'"n":5', b'"n":9'), text[5]])

    with pytest.raises(LogDamaged, match="damaged at event 5"):
        log.fold("a", 0, lambda count, _: count + 1)


batches = st.lists(st.lists(st.text(max_size=5) | st.integers(), min_size=1, max_size=6), max_size=12)


@given(batches, st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_fold_from_a_checkpoint_is_the_fold_from_the_start(
    contents: list[list[object]], every: int
) -> None:
    with TemporaryDirectory() as control:
        log = open_log(Path(control), every)
        for batch in contents:
            appended = log.append([draft(n) for n in batch])
            assert appended.state == log.state()

        folding, expected = TallyFolding(), Tally()
        for record in log.records():
            expected = folding.step(expected, record)
        assert log.state() == expected
        assert expected.events == sum(map(len, contents))
        assert log.verify().findings == ()


def test_reading_the_state_reads_no_more_of_a_longer_log(tmp_path: Path) -> None:
    def cost(events: int) -> int:
        log = open_log(tmp_path / str(events))
        for n in range(events // 8):
            log.append([draft(n) for _ in range(8)])
        with bytes_read() as read:
            assert log.state().events == events
        return sum(read)

    assert cost(2072) <= cost(152) * 1.1  # both are 24 events past a checkpoint; the numbers are longer


def test_the_state_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    filled(tmp_path / "tdd", 3)
    (tmp_path / "tdd" / "lock").unlink()
    (tmp_path / "tdd").chmod(0o555)

    def unprivileged() -> None:
        os.chdir(tmp_path / "tdd")  # the folders above are closed to anyone else
        if os.getuid() == 0:
            os.setuid(65534)
        log = open_log(Path())
        assert log.state().events == 3
        assert len(list(log.records())) == 3
        assert log.verify().findings == ()
        with pytest.raises(StorageError, match="denied"):
            log.append([draft()])

    assert outcome(start(unprivileged)) == 0
    assert not (tmp_path / "tdd" / "lock").exists()


def test_a_log_that_may_not_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    filled(tmp_path / "closed" / "tdd", 3)
    (tmp_path / "closed").chmod(0)

    def unprivileged() -> None:
        os.chdir(tmp_path)
        if os.getuid() == 0:
            os.setuid(65534)
        with pytest.raises(StorageError, match="denied"):
            open_log(Path("closed/tdd")).state()

    assert outcome(start(unprivileged)) == 0
    (tmp_path / "closed").chmod(0o700)
