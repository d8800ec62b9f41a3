"""The lines that a run executes, as `sys.settrace` shows them."""

from __future__ import annotations

import sys
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


def _run_traced(source: Path, *tests: Callable[[Callable[..., int]], object]) -> set[int]:
    tracer = TraceFunction(str(source.parent), [source.name])
    earlier = sys.gettrace()
    tracer.start()
    try:
        scope: dict[str, Callable[..., int]] = {}
        exec(compile(source.read_text(), str(source), "exec"), scope)
        for test in tests:
            tracer.renew()
            test(scope["work"])
        return tracer.stop()[source.name]
    finally:
        sys.settrace(earlier)


def test_each_line_that_ran_is_seen(source: Path) -> None:
    seen = _run_traced(source, lambda work: work(3))
    assert seen == {1, 2, 3, 4, 5, 7}


def test_a_line_that_a_later_test_runs_is_seen(source: Path) -> None:
    seen = _run_traced(source, lambda work: work(100_000), lambda work: work(3, late=True))
    assert seen == {1, 2, 3, 4, 5, 6, 7}


WATCHED = """\
import sys

def work(count):
    for _ in range(count):
        pass
    if count < 0:
        return None
    return sys._getframe().f_trace_lines
"""


def test_a_loop_whose_lines_are_known_is_let_go_until_the_next_test(source: Path) -> None:
    """A function with a line that never runs is still watched; each round of its loop must not pay for it."""
    source.write_text(WATCHED)
    is_watched: list[int] = []
    _run_traced(source, *[lambda work, n=n: is_watched.append(work(n)) for n in (10, 10_000, 10)])
    assert is_watched == [True, False, True]
