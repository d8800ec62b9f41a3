from __future__ import annotations

import time
from pathlib import Path

import pytest

from verdigris.checks.even_times import answer_evenly, find_delay


@pytest.mark.parametrize(
    ("took", "known", "delay"), [(1.0, [], 0.0), (1.0, [3.0, 2.0], 2.0), (4.0, [3.0], 0.0)]
)
def test_an_answer_waits_for_the_slowest_of_the_last(took: float, known: list[float], delay: float) -> None:
    assert find_delay(took, known) == delay


def test_a_quick_answer_after_a_slow_one_comes_as_late(tmp_path: Path) -> None:
    note, times = tmp_path / "times", []
    for seconds in (0.2, 0.0, 0.1):
        began = time.monotonic()
        with answer_evenly(note):
            time.sleep(seconds)
        times.append(time.monotonic() - began)
    assert min(times) >= 0.2


def test_a_damaged_note_is_none(tmp_path: Path) -> None:
    note = tmp_path / "times"
    note.write_text("no json")
    with answer_evenly(note):
        pass
    assert note.read_text().startswith("{")
