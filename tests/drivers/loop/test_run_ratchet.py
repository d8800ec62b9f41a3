"""A program without a strategy: propose, measure, keep what is strictly better, also on held-out inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.loops import NAME, PlayedLoop, make_loop
from support.machines import edit, stop
from verdigris.drivers.happenings import Refused

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")
PROGRAM = """\
---
metric_direction: lower
held-out: [held/]
---
# Fewer comparisons

## Goal

Find an item with fewer comparisons.

## Target

- `search.py`

Do NOT modify:

- `measure.py`

## Evaluation

```sh
python -S measure.py inputs.txt
```

### Held-out

```sh
python -S measure.py held/inputs.txt
```
"""
MEASURE = """\
import json
import sys

import search


class Item(int):
    compared = 0

    def __eq__(self, other):
        Item.compared += 1
        return int(self) == int(other)

    def __lt__(self, other):
        Item.compared += 1
        return int(self) < int(other)

    __hash__ = int.__hash__


size, *wanted = map(int, open(sys.argv[1]).read().split())
items = [Item(n) for n in range(size)]
for one in wanted:
    assert search.find(items, Item(one)) == one
print(json.dumps({"metric": Item.compared}))
"""
LINEAR = """\
def find(items, wanted):
    for at, item in enumerate(items):
        if item == wanted:
            return at
    return -1
"""
BINARY = """\
from bisect import bisect_left


def find(items, wanted):
    at = bisect_left(items, wanted)
    return at if at < len(items) and items[at] == wanted else -1
"""
"""Without a loop of its own: a change that asks whether tests notice it would run until its time is up."""
KEPT = """\
_FOUND = {}


def find(items, wanted):
    key = (len(items), int(wanted))
    if key not in _FOUND:
        _FOUND[key] = _search(items, wanted)
    return _FOUND[key]


def _search(items, wanted):
    for at, item in enumerate(items):
        if item == wanted:
            return at
    return -1
"""
"""Keeps finished results: of no use where each input comes once."""
TEST = """\
import search


def test_find():
    assert search.find([1, 3, 5, 7], 5) == 2
    assert search.find([1, 3, 5, 7], 1) == 0
    assert search.find([1, 3, 5, 7], 4) == -1
    assert search.find([1, 3, 5, 7], 9) == -1
    assert search.find([], 4) == -1
"""


@pytest.fixture
def world(tmp_path: Path) -> PlayedLoop:
    files = {
        "search.py": LINEAR,
        "tests/test_search.py": TEST,
        "measure.py": MEASURE,
        "inputs.txt": "200 150 150 150\n",
        "held/inputs.txt": "90 80 71 11\n",
    }
    return make_loop(tmp_path / "project", program=PROGRAM, **files)


def test_what_is_strictly_better_everywhere_is_kept(world: PlayedLoop) -> None:
    faster = edit("perf", "halve the range", {"search.py": BINARY}, improvement="halve the range each time")
    world.plays(
        {"step-26-optimizer": [faster], "step-46-optimizer": [stop("nothing-to-do", "it is minimal")]}
    )
    world.run(2)
    assert [one.status for one in world.state.iterations] == ["accepted", "rejected"], world.of(Refused)
    first = world.state.iterations[0]
    assert first.previous == 3 * 151
    assert (first.metric or 0) < 40
    assert world.subjects() == [f"[Autoloop: {NAME}] Iteration 1: halve the range each time"]


def test_an_optimizer_brings_no_line_that_no_test_runs(world: PlayedLoop) -> None:
    shortcut = BINARY.replace(
        "    at = ", "    if len(items) > 99 and items[0] > wanted:\n        return -2\n    at = "
    )
    faster = edit("perf", "halve the range", {"search.py": shortcut}, improvement="halve the range each time")
    world.plays({"step-26-optimizer": [faster] * 3})
    world.run()
    (ended,) = world.state.iterations
    assert ended.status != "accepted"
    assert "1 statements are not run, 0 were not (search.py:6)" in world.of(Refused)[0].why
    assert world.subjects() == []


def test_a_metric_that_is_gamed_by_keeping_results_is_rejected_on_held_back_inputs(world: PlayedLoop) -> None:
    gamed = edit("perf", "keep results", {"search.py": KEPT}, improvement="no search is made twice")
    world.plays({"step-26-optimizer": [gamed] * 3})
    world.run()
    (ended,) = world.state.iterations
    assert ended.status == "rejected", ended
    assert ended.notes[0].startswith("gamed or overfitted: 67% better on the known inputs"), ended.notes
    assert world.subjects() == []
    assert world.state.best is not None
    assert world.state.best.metric == 3 * 151


def test_a_change_of_the_evaluation_itself_is_refused_and_makes_no_commit(world: PlayedLoop) -> None:
    own = edit(
        "perf",
        "another measure",
        {"search.py": BINARY, "measure.py": "print('{\"metric\": 1}')\n"},
        improvement="less to measure",
    )
    world.plays({"step-26-optimizer": [own] * 3})
    world.run()
    assert [one.status for one in world.state.iterations] == ["error"]
    assert "measure.py" in world.of(Refused)[0].why
    assert world.subjects() == []


WILD = """\
<!-- Written for another scheduler. -->
---
schedule: every 6h
metric-direction: lower
timeout-minutes: 5
---

# Autoloop: comparisons

## Goal

Make `find` cheaper, 🤖 step by step.

## Target

Only modify these files:
- `search.py` -- the search itself

Do NOT modify:
- `measure.py` (the evaluation)
- `inputs.txt`

## Evaluation

```bash
python -S measure.py inputs.txt | sed 's/metric/fitness/'
```

The metric is `fitness`. **Lower is better.**
"""


def test_a_program_in_the_wild_runs_unchanged(tmp_path: Path) -> None:
    world = make_loop(
        tmp_path / "project",
        program=WILD,
        **{
            "search.py": LINEAR,
            "tests/test_search.py": TEST,
            "measure.py": MEASURE,
            "inputs.txt": "200 150 150 150\n",
        },
    )
    faster = edit("perf", "halve the range", {"search.py": BINARY}, improvement="halve the range each time")
    world.plays({"step-26-optimizer": [faster]})
    world.run()
    (ended,) = world.state.iterations
    assert (ended.status, ended.previous) == ("accepted", 3 * 151), ended
