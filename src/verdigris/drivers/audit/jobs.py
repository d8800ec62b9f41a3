"""Lets several processes judge changes at once; what one of them leaves undone is told by its absence."""

from __future__ import annotations

import contextlib
import multiprocessing
from itertools import pairwise
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from verdigris.drivers.audit.report import parse_unit, render_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from verdigris.drivers.audit.report import UnitReport
    from verdigris.drivers.audit.units import Unit

    Judge = Callable[[int, Sequence[Unit]], Iterator[tuple[Unit, UnitReport]]]


def judge_at_once(units: Sequence[Unit], judge: Judge, jobs: int) -> Iterator[tuple[Unit, UnitReport]]:
    """Yields answers as they come. Each job takes neighbours: what one change left, the next begins with."""
    context = multiprocessing.get_context("fork")
    ends: list[Connection] = []
    processes = []
    for number, part in enumerate(split_evenly(units, jobs), start=1):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(judge, number, part, theirs), daemon=True)
        process.start()
        theirs.close()
        processes.append(process)
        ends.append(ours)
    try:
        by_commit = {(unit.commit.id, unit.before, unit.after): unit for unit in units}
        yield from ((by_commit[one.commit.id, one.before, one.after], one) for one in _answers(ends))
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _answers(ends: list[Connection]) -> Iterator[UnitReport]:
    """Yields answers until every job has closed its end, by finishing or by dying."""
    while ends:
        ready = wait(ends)
        for end in [one for one in ends if one in ready]:
            try:
                yield parse_unit(end.recv())
            except (EOFError, OSError):
                ends.remove(end)


def _work(judge: Judge, number: int, units: Sequence[Unit], end: Connection) -> None:
    # Who asked is gone, or interrupted us: what was judged is kept in the folder.
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for _, judged in judge(number, units):
            end.send(render_unit(judged))


def split_evenly(units: Sequence[Unit], jobs: int) -> list[Sequence[Unit]]:
    """Parts of neighbours, about as long as each other; none is empty."""
    count = min(jobs, len(units))
    bounds = [len(units) * number // count for number in range(count + 1)] if count else [0]
    return [units[first:last] for first, last in pairwise(bounds)]
