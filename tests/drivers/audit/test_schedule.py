"""What rests on carried results is kept once a whole run agrees, and judged again where it does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any, cast

from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditOutcome, Commit, UnitReport
from verdigris.drivers.audit.schedule import LONGEST, Judgement, judge_at_once, judge_in_turn
from verdigris.drivers.audit.tree_runs.suite import TestRuns
from verdigris.drivers.audit.units import Unit

UNITS = [Unit(Commit(f"c{number}"), f"t{number}", f"t{number + 1}") for number in range(LONGEST + 3)]


class Runs:
    """Says of a tree which tests a whole run contradicts."""

    def __init__(self, wrong: dict[str, tuple[str, ...]], asked: list[str], **said: Any) -> None:
        self.carried = said.get("carried", True)
        self.compared = said.get("compared", False)
        self.doubtful = frozenset(said.get("doubtful", ()))
        self._wrong, self._asked = wrong, asked

    def list_wrong(self, tree: str) -> tuple[str, ...]:
        self._asked.append(tree)
        return self._wrong.get(tree, ())


class Auditor:
    def __init__(self, wrong: dict[str, tuple[str, ...]] | None = None, **said: dict[str, Any]) -> None:
        self.asked: list[str] = []
        self.kept: dict[str, UnitReport] = {}
        self.whole: list[str] = []
        self._wrong, self._said = wrong or {}, said

    def judge(self, unit: Unit, *, whole: bool = False) -> Judgement:
        self.whole += [unit.commit.id] if whole else []
        runs = Runs(self._wrong, self.asked, **self._said.get(unit.commit.id, {}))
        report = UnitReport(unit.commit, unit.before, unit.after, AuditOutcome.REFACTOR, "")
        return Judgement(unit, unit, report, cast("TestRuns", runs))

    def keep(self, unit: Unit, judged: UnitReport) -> None:
        self.kept[unit.commit.id] = judged


def ids(units: list[Unit]) -> list[str]:
    return [unit.commit.id for unit in units]


def test_a_whole_run_is_made_at_the_end_and_after_each_row_of_carried_results() -> None:
    auditor = Auditor()
    found = list(judge_in_turn(auditor, UNITS))
    assert auditor.asked == [UNITS[LONGEST - 1].after, UNITS[-1].after]
    assert [unit.commit.id for unit, _ in found] == list(auditor.kept) == ids(UNITS)


def test_no_answer_is_kept_before_a_whole_run_agreed() -> None:
    auditor = Auditor()
    turn = judge_in_turn(auditor, UNITS[:3])
    next(turn)
    next(turn)
    assert auditor.kept == {}
    list(turn)
    assert list(auditor.kept) == ids(UNITS[:3])


def test_what_a_whole_run_contradicts_is_judged_again_and_says_so() -> None:
    auditor = Auditor({UNITS[2].after: ("tests/test_x.py::test_x",)})
    found = list(judge_in_turn(auditor, UNITS[:3]))
    assert ids([unit for unit, _ in found]) == ids(UNITS[:3]) * 2
    assert auditor.whole == ids(UNITS[:3])
    assert all("tests/test_x.py::test_x" in one.notes[-1] for one in auditor.kept.values())


def test_a_change_whose_suite_ran_whole_proves_those_before_it() -> None:
    auditor = Auditor(c2={"carried": False, "compared": True})
    list(judge_in_turn(auditor, UNITS[:3]))
    assert (auditor.asked, list(auditor.kept)) == ([], ids(UNITS[:3]))


def test_a_test_that_passed_by_carrying_and_fails_in_the_next_whole_run_is_looked_into() -> None:
    doubt = {"carried": True, "compared": True, "doubtful": ("t",)}
    auditor = Auditor({UNITS[2].before: ("t",)}, c2=doubt)
    list(judge_in_turn(auditor, UNITS[:3]))
    assert auditor.asked == [UNITS[2].before]
    assert auditor.whole == ids(UNITS[:3])


def test_what_rests_on_nothing_carried_is_kept_at_once() -> None:
    auditor = Auditor(c0={"carried": False})
    turn = judge_in_turn(auditor, UNITS[:2])
    next(turn)
    next(turn)
    assert list(auditor.kept) == ["c0"]
    assert replace(auditor.kept["c0"], why="") == auditor.kept["c0"]


def judge_until_killed(job: int, units: Sequence[Unit]) -> Iterator[tuple[Unit, UnitReport]]:
    for unit in units:
        if job == 2 and unit is units[-1]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield unit, UnitReport(unit.commit, unit.before, unit.after, AuditOutcome.NO_CODE, "")


def test_what_a_killed_job_leaves_is_told_by_its_absence() -> None:
    found = dict(judge_at_once(UNITS[:6], judge_until_killed, 3))
    assert [unit for unit in UNITS[:6] if unit not in found] == [UNITS[3]]
