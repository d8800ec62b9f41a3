"""The lines that a run executes, as `sys.settrace` shows them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from verdigris.runners.reporter.verdigris_reporter.tracing import TraceFunction

SOURCE = """\
def work(count, late=False):
    total = 0
    for number in range(count):
        total += number
    if late:
        total = -1
    return total
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return path


def _run_traced(source: Path, *tests: Callable[[Callable[..., int]], object]) -> tuple[set[int], list[float]]:
    """The lines that were seen, and the seconds that each of the tests took."""
    tracer = TraceFunction(str(source.parent), [source.name])
    took = []
    earlier = sys.gettrace()
    tracer.start()
    try:
        scope: dict[str, Callable[..., int]] = {}
        exec(compile(source.read_text(), str(source), "exec"), scope)
        for test in tests:
            tracer.renew()
            began = time.perf_counter()
            test(scope["work"])
            took.append(time.perf_counter() - began)
        return tracer.stop()[source.name], took
    finally:
        sys.settrace(earlier)


def test_each_line_that_ran_is_seen(source: Path) -> None:
    seen, _ = _run_traced(source, lambda work: work(3))
    assert seen == {1, 2, 3, 4, 5, 7}


def test_a_line_that_a_later_test_runs_is_seen(source: Path) -> None:
    seen, _ = _run_traced(source, lambda work: work(100_000), lambda work: work(3, late=True))
    assert seen == {1, 2, 3, 4, 5, 6, 7}


def test_a_loop_whose_lines_are_known_is_not_slowed_for_long(source: Path) -> None:
    """A function with a line that never runs is still watched; each round of its loop must not pay for it."""
    count = 300_000
    began = time.perf_counter()
    scope: dict[str, Callable[..., int]] = {}
    exec(compile(SOURCE, "plain", "exec"), scope)
    began = time.perf_counter()
    scope["work"](count)
    plain = time.perf_counter() - began
    _, (took,) = _run_traced(source, lambda work: work(count))
    assert took < 4 * plain
