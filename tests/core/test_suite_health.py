from __future__ import annotations

import pytest

from verdigris.core.confinement.needs import find_hindrance
from verdigris.core.report import CollectError, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.suite_health import KEPT, Hindrance, SuiteCounts, describe_suite

CAUSE = Hindrance("shop cannot be imported", "install it")


def cause(kind: str, text: str) -> Hindrance | None:
    return CAUSE if "shop" in text else None


def report(
    *unloaded: tuple[str, str], passed: int = 0, ended: RunEnd = RunEnd.FINISHED, tail: str = ""
) -> TestReport:
    errors = tuple(CollectError(path, "ImportError", text) for path, text in unloaded)
    names = [f"tests/test_ok.py::test_{number}" for number in range(passed)]
    results = tuple(TestResult(n, n, "native", Status.PASS, RunPhase.CALL, 1) for n in names)
    return TestReport("pytest", ended, 1, 1, results, errors=errors, tail=tail)


def test_a_run_in_which_everything_loads_is_not_hindered() -> None:
    assert find_hindrance(report(passed=1), (cause,)) is None


def test_nothing_that_loads_blocks_if_there_is_a_cure() -> None:
    found = find_hindrance(report(("a.py", "no shop"), ("b.py", "no shop")), (cause,))
    assert found is not None
    assert (found.what, found.files, found.unloaded, found.blocks) == (CAUSE.what, ("a.py", "b.py"), 2, True)


def test_the_cause_with_a_cure_is_told_and_every_file_is_counted() -> None:
    found = find_hindrance(report(("a.py", "x"), ("b.py", "y"), ("c.py", "no shop"), passed=2), (cause,))
    assert found is not None
    assert (found.cure, found.files, found.unloaded, found.blocks) == ("install it", ("c.py",), 3, False)


def test_an_error_that_nobody_knows_is_told_in_its_own_words() -> None:
    found = find_hindrance(report(("a.py", "what is this\nat all")), (cause,))
    assert found is not None
    assert (found.line, found.blocks) == ("1 file does not load: a.py: ImportError: what is this", False)


def test_a_tool_that_does_not_start_is_told_by_its_last_line() -> None:
    found = find_hindrance(report(ended=RunEnd.NO_START, tail="usage\nunknown option --x\n"), (cause,))
    assert found is not None
    assert found.line == "the test tool did not start: unknown option --x"


def test_few_files_are_named_and_many_are_kept() -> None:
    many = Hindrance("x", files=tuple(f"{n}.py" for n in range(60)), unloaded=60)
    assert many.line == "60 files do not load: 0.py, 1.py, 2.py, …: x"
    assert len(many.record("tree", whole=True).files) == KEPT


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        (SuiteCounts(3), "3 tests, all pass"),
        (SuiteCounts(1), "1 test, it passes"),
        (SuiteCounts(3, 1), "4 tests, 3 pass, 1 fail"),
        (SuiteCounts(2, 0, 1), "3 tests, 2 pass, 1 skipped"),
    ],
)
def test_counts_in_one_line(counts: SuiteCounts, line: str) -> None:
    assert describe_suite(counts, None) == line


def test_old_counts_are_not_told_where_no_test_runs() -> None:
    blocked = Hindrance("no pytest", "install it", blocks=True)
    assert describe_suite(SuiteCounts(3), blocked) == "no test runs: no pytest"
    assert describe_suite(None, None) == ""
