"""Programs as people write them: front matter read by lines, sections by their headings."""

from __future__ import annotations

import pytest

from verdigris.drivers.loop.program import Schedule, hide_held_out, read_program

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
    assert program.limits.rounds == 20
    assert program.limits.seconds == 8 * 3600
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


RULES = """\
---
timeout-minutes: 2.5
repeats: 5
margin: 3%
evaluator: [bench/, "data/*.json"]
held-out: bench/held
---
## Evaluation
```sh
python bench/run.py
```
The metric is `seconds`. Lower is better.

### Held-out
```sh
python bench/run.py --inputs bench/held
```

## Notes
```sh
rm -rf /
```
"""


def test_a_program_says_how_it_is_measured() -> None:
    program = read_program("fast", RULES)
    rules = program.evaluation_rules
    assert program.evaluation == "python bench/run.py"
    assert rules.held_out_command == "python bench/run.py --inputs bench/held"
    assert (rules.metric, rules.minutes, rules.repeats) == ("seconds", 2.5, 5)
    assert rules.margin.of(200) == 6
    assert rules.evaluator == ("bench/", "data/*.json")
    assert rules.held_out == ("bench/held",)
    assert program.notes == ()


def test_a_program_that_says_nothing_of_it_is_measured_once_within_ten_minutes() -> None:
    rules = read_program("port", PROGRAM).evaluation_rules
    assert (rules.metric, rules.minutes, rules.repeats) == ("passing", 10, 1)
    assert (rules.margin.of(7), rules.evaluator, rules.held_out_command) == (0, (), "")


def test_a_block_of_another_section_is_no_evaluation() -> None:
    assert read_program("x", "## Evaluation\nNothing yet.\n\n## Notes\n```\nls\n```\n").evaluation == ""


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("repeats: many", "repeats 'many' is no number above zero: 1 is taken"),
        ("repeats: 2.5", "repeats 2.5 is no whole number: 2 is taken"),
        ("timeout-minutes: true", "timeout-minutes True is no number above zero: 10 is taken"),
        ("timeout-minutes: -1", "timeout-minutes -1 is no number above zero: 10 is taken"),
        ("margin: .inf", "the margin inf is neither a number nor a percentage: 0 is taken"),
        ("evaluator: {a: b}", "evaluator {'a': 'b'} is no list of paths: what is no path is left out"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_is_taken_instead(line: str, note: str) -> None:
    program = read_program("x", f"---\n{line}\n---\n## Goal\nGo.\n")
    assert [one.what for one in program.notes] == [note]


@pytest.mark.parametrize(
    "written",
    [
        "held-out: bench/held",
        "held_out: [bench/held]",
        "held-out:\n  - bench/held\n  - other",
        "held-out:\n- bench/held",
    ],
)
def test_a_model_is_shown_the_program_without_what_is_held_back(written: str) -> None:
    text = RULES.replace("held-out: bench/held", written)
    assert "bench/held" in text
    shown = hide_held_out(text)
    assert "bench/held" not in shown
    assert "Held-out" not in shown
    program = read_program("fast", shown)
    assert (program.evaluation, program.evaluation_rules.repeats) == ("python bench/run.py", 5)
    assert shown.endswith("## Notes\n```sh\nrm -rf /\n```\n")
    assert hide_held_out(PROGRAM) == PROGRAM
