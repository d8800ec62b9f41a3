"""Decides in which order and in how many processes units are judged, and when a whole run has to agree.

Results that are carried from tree to tree save time, and never decide: answers that rest on them are kept for
later audits only once a whole run has agreed. Where it does not, the changes since the last whole run are
judged again, by whole runs alone (ADR 36).
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from typing import Protocol

from verdigris.core.value import replace, value
from verdigris.drivers.audit.report import UnitReport, parse_unit, render_unit
from verdigris.drivers.audit.tree_runs.suite import TestRuns
from verdigris.drivers.audit.units import Unit

Judge = Callable[[int, Sequence[Unit]], Iterator[tuple[Unit, UnitReport]]]


LONGEST = 25
"""How many changes in a row may rest on carried results before a whole run is made."""
_SHOWN = 3


@value
class Judgement:
    """A unit's answer with the runs that it rests on."""

    unit: Unit
    shown: Unit
    """The unit with the trees that were run: submodules and files of LFS are laid into them."""
    report: UnitReport
    runs: TestRuns | None
    """None if nothing was run."""

    @property
    def is_carried(self) -> bool:
        return self.runs is not None and self.runs.carried

    @property
    def is_proof(self) -> bool:
        """Whether its suite ran whole and contradicted nothing that was carried so far."""
        return self.runs is not None and self.runs.compared and not self.runs.doubtful

    def list_wrong(self) -> tuple[str, ...]:
        """Tests whose carried results a whole run contradicts; of the tree before, if that is in doubt."""
        if self.runs is None:
            return ()
        return self.runs.list_wrong(self.shown.before if self.runs.doubtful else self.shown.after)


class UnitJudge(Protocol):
    def judge(self, unit: Unit, *, whole: bool = False) -> Judgement: ...

    def keep(self, unit: Unit, judged: UnitReport) -> None: ...


def judge_in_turn(auditor: UnitJudge, units: Sequence[Unit]) -> Iterator[tuple[Unit, UnitReport]]:
    """Yields answers in order; a unit that is judged again comes twice."""
    unproven: list[Judgement] = []
    for unit in units:
        one = auditor.judge(unit)
        yield unit, one.report
        if not one.is_carried and not one.is_proof:
            auditor.keep(unit, one.report)
            if one.runs is None or not one.runs.doubtful:
                continue
        else:
            unproven.append(one)
        if one.is_proof:
            _keep_all(auditor, unproven)
            unproven = []
        elif len(unproven) >= LONGEST or (one.runs is not None and one.runs.doubtful):
            yield from _prove(auditor, unproven, one.list_wrong())
            unproven = []
    if unproven:
        yield from _prove(auditor, unproven, unproven[-1].list_wrong())


def _prove(
    auditor: UnitJudge, unproven: Sequence[Judgement], wrong: Sequence[str]
) -> Iterator[tuple[Unit, UnitReport]]:
    if not wrong:
        _keep_all(auditor, unproven)
        return
    for one in unproven:
        again = auditor.judge(one.unit, whole=True).report
        noted = replace(again, notes=(*again.notes, _tell_wrong(wrong)))
        auditor.keep(one.unit, noted)
        yield one.unit, noted


def _keep_all(auditor: UnitJudge, proven: Collection[Judgement]) -> None:
    for one in proven:
        auditor.keep(one.unit, one.report)


def _tell_wrong(wrong: Sequence[str]) -> str:
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return (
        f"judged by whole runs, since one contradicted results carried over from earlier commits:"
        f" {', '.join(wrong[:_SHOWN])}{more}"
    )


def judge_at_once(units: Sequence[Unit], judge: Judge, jobs: int) -> Iterator[tuple[Unit, UnitReport]]:
    """Yields answers as they come; units of a job that died are missing.

    Each job takes neighbours, since one change ends where the next begins.
    """
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
    # The parent is gone, or interrupted us. What was judged is kept in the folder.
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for _, judged in judge(number, units):
            end.send(render_unit(judged))


def split_evenly(units: Sequence[Unit], jobs: int) -> list[Sequence[Unit]]:
    """Returns parts of neighbours, of about the same length; none is empty."""
    count = min(jobs, len(units))
    bounds = [len(units) * number // count for number in range(count + 1)] if count else [0]
    return [units[first:last] for first, last in pairwise(bounds)]
