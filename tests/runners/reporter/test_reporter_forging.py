"""Source under test that reaches for the reporter: what it forges is never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pages import sections
from support.pyproject import PyProject
from verdigris.core.report import Status, TestReport
from verdigris.core.verdict import Before, TrialFacts, judge

TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
ID = "test_calc.py::test_add"
PASSED = (
    f"dict(kind='test', id={ID!r}, phase='call', outcome='passed', ms=1), "
    f"dict(kind='test', id={ID!r}, phase='teardown', outcome='passed', ms=1)"
)
FORGERIES = dict(
    sections(Path(__file__).with_name("forgeries.txt").read_text().replace("@PASSED@", PASSED), "===")
)


def verdict_of(report: TestReport) -> str:
    return judge(TrialFacts({ID: ID}, Before({}), report)).kind


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forgery_is_not_accepted(tmp_path: Path, how: str) -> None:
    project = PyProject(tmp_path)
    (tmp_path / "calc.py").write_text(FORGERIES[how])
    project.write("test_calc.py", TEST)
    report = project.test(sources=[""])
    assert [r for r in report.results if r.status is Status.PASS] == [] or verdict_of(report) == "broken"
    assert verdict_of(report) in {"broken", "still-red"}


def test_the_honest_one_is_accepted(tmp_path: Path) -> None:
    """So that the others are refused for what they do."""
    project = PyProject(tmp_path)
    project.write("calc.py", "def add(a, b):\n    return a + b\n")
    project.write("test_calc.py", TEST)
    assert verdict_of(project.test(sources=[""])) == "accepted"


def test_a_test_that_is_collected_twice_may_be_reported_twice(tmp_path: Path) -> None:
    project = PyProject(tmp_path)
    project.write("calc.py", "def add(a, b):\n    return a + b\n")
    project.write("test_calc.py", TEST)
    report = project.test(extra=["--keep-duplicates", "test_calc.py", "test_calc.py"])
    assert {r.status for r in report.results} == {Status.PASS}
