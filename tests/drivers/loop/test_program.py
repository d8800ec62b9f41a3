"""Programs as people write them: front matter read by lines, sections by their headings."""

from __future__ import annotations

import pytest

from verdigris.drivers.loop.program import Schedule, read_program

PROGRAM = """\
<!-- a note for people -->
---
schedule: every 6h
target-metric: 40
metric_direction: higher
limits: {iterations: 20, hours: 8, tokens: 200000, money: 5}
---
# Port the calculator

## Goal
Mirror the reference, one function at a time.

## Target
- `src/calc.py`
- `tests/`

Do NOT modify:
- `evaluate.py`
- `data/`

## Evaluation
```sh
python evaluate.py
```
The metric is `passing`.

## Evolution Strategy
Read `strategy/strategy.md` and follow it.
"""


def test_a_program_is_read_by_its_sections() -> None:
    program = read_program("port", PROGRAM)
    assert program.goal == "Mirror the reference, one function at a time."
    assert program.targets == ("src/calc.py", "tests/")
    assert program.protected == ("evaluate.py", "data/")
    assert program.evaluation == "python evaluate.py"
    assert (program.target_metric, program.direction) == (40.0, "higher")
    assert program.limits.iterations == 20
    assert program.limits.hours == 8
    assert program.limits.tokens == 200_000
    assert program.limits.money == 5
    assert program.strategy == "strategy/strategy.md"


@pytest.mark.parametrize(
    ("written", "hours"),
    [("every 6h", 6.0), ("every 30m", 0.5), ("daily", 24.0), ("weekly", 168.0), ("whenever", 0.0), ("", 0.0)],
)
def test_a_schedule_says_how_many_hours_lie_between_two_runs(written: str, hours: float) -> None:
    assert Schedule(written).hours == hours


def test_a_bad_direction_counts_as_higher_and_is_said() -> None:
    program = read_program("port", PROGRAM.replace("direction: higher", "direction: sideways"))
    assert program.direction == "higher"
    assert any("sideways" in note.what for note in program.notes)


def test_a_hyphen_and_an_underline_are_the_same_in_a_key() -> None:
    lower = PROGRAM.replace("metric_direction: higher", "metric-direction: lower")
    assert read_program("port", lower).direction == "lower"
