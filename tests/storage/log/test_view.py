from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.log.children import bytes_read, outcome, start
from storage.log.tally import Tally, TallyFolding, draft, filled, open_log
from verdigris.core.errors import StorageError

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
