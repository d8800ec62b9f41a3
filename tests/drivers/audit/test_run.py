from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.gitrepo import GitRepo
from support.small_histories import ADD, CHANGES, SUB, TEST_SUB, WRONG, add_commit, begin
from verdigris.core.errors import ToolMissing
from verdigris.drivers.audit.report import AuditOutcome, AuditReport, UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.tree_runs import environment
from verdigris.drivers.audit.tree_runs.suite import TestRuns
from verdigris.drivers.audit.units import Selection
from verdigris.sandbox.child import Availability

pytestmark = [pytest.mark.timeout(400), pytest.mark.usefixtures("runs_once")]


@pytest.fixture(scope="module")
def judged(history: GitRepo, runs_once: None) -> AuditReport:
    return audit(history.root, AuditRequest(Selection(f"HEAD~{len(CHANGES)}..HEAD")))


def unit(report: AuditReport, title: str) -> UnitReport:
    return next(one for one in report.units if one.commit.title == title)


@pytest.mark.parametrize("title", [title for title, _ in CHANGES])
def test_each_change_has_its_known_outcome(judged: AuditReport, title: str) -> None:
    one = unit(judged, title)
    assert (str(one.outcome), one.why) == (title.partition(":")[0], one.why)


def test_an_import_red_counts_by_the_stub_that_is_shown(judged: AuditReport) -> None:
    (red,) = unit(judged, "test-driven: stubbed import").reds
    assert (red.id, red.valid) == ("tests/test_sub.py::test_sub", True)
    assert red.why == "import, then exception"
    assert "+def sub(" in red.stub


def test_a_red_by_assertion_names_its_place(judged: AuditReport) -> None:
    (red,) = unit(judged, "test-driven: assertion").reds
    assert (red.why, red.path, red.line) == ("assertion", "tests/test_sub.py", 9)


def test_lines_that_no_test_runs_are_told(judged: AuditReport) -> None:
    (idle,) = unit(judged, "untested: no test runs it").uncovered
    assert (idle.path, idle.line, idle.what) == ("calc.py", 14, "    return -a")


def test_the_repository_and_the_worktree_stay_as_they_are(history: GitRepo, judged: AuditReport) -> None:
    assert judged.units
    assert history.git("status", "--porcelain") == ""
    assert not (history.root / ".git" / "tdd").exists()


def test_what_is_known_is_not_judged_again(history: GitRepo, judged: AuditReport) -> None:
    again = audit(history.root, AuditRequest(Selection(f"HEAD~{len(CHANGES)}..HEAD")))
    assert again.units == judged.units


def test_a_range_can_be_judged_as_one_change(history: GitRepo) -> None:
    count = len(CHANGES)
    (one,) = audit(
        history.root, AuditRequest(Selection(f"HEAD~{count}..HEAD~{count - 2}", squash=True))
    ).units
    assert one.outcome is AuditOutcome.TEST_DRIVEN
    assert {red.id for red in one.reds} == {"tests/test_sub.py::test_sub", "tests/test_sub.py::test_floor"}


def test_edits_in_the_worktree_play_no_part(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "one", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    repo.write("calc.py", "syntax error(\n")
    repo.write("tests/test_new.py", "assert False\n")
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    assert one.outcome is AuditOutcome.TEST_DRIVEN
    assert repo.read("calc.py") == b"syntax error(\n"


def test_a_part_of_the_suite_may_be_asked_for(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "two wrongs", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    add_commit(repo, "breaks add", {"calc.py": WRONG + SUB})
    whole = audit(repo.root, AuditRequest(Selection("HEAD")))
    part = audit(repo.root, AuditRequest(Selection("HEAD"), suite=("tests/test_sub.py",)))
    assert [one.outcome for one in whole.units] == [AuditOutcome.REGRESSED]
    assert part.units[0].regressed == ()
    assert part.settings["suite"] == "tests/test_sub.py"


def test_that_a_new_test_asserts_nothing_is_a_concern(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    test = "import calc\n\n\ndef test_sub():\n    calc.sub(3, 2)\n"
    add_commit(repo, "one", {"calc.py": ADD + SUB, "tests/test_sub.py": test})
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    assert one.outcome is AuditOutcome.TEST_DRIVEN
    assert [(each.kind, each.path) for each in one.concerns] == [("no-assertion", "tests/test_sub.py")]


def test_of_a_test_file_only_what_the_suite_runs_is_tried_on_the_source_of_before(tmp_path: Path) -> None:
    """A slow test that the suite leaves out would fail before as well, and is neither asked nor told."""
    repo = begin(tmp_path / "repo")
    slow = "\n\n@pytest.mark.slow\ndef test_slow():\n    assert sub(9, 2) == 7\n"
    config = (repo.root / "pyproject.toml").read_text() + 'markers = ["slow: takes long"]\n'
    tests = "import pytest\n\n" + TEST_SUB + slow
    files = {"pyproject.toml": config, "calc.py": ADD + SUB, "tests/test_sub.py": tests}
    add_commit(repo, "both", files)
    asked = AuditRequest(Selection("HEAD"), suite=("-m not slow",))
    (unit_,) = audit(repo.root, asked).units
    assert (unit_.outcome, [red.id for red in unit_.reds]) == (
        AuditOutcome.TEST_DRIVEN,
        ["tests/test_sub.py::test_sub"],
    )


def test_a_test_file_that_disturbs_another_one_is_told(tmp_path: Path) -> None:
    """Nothing but a test file came, and nobody imports it; the whole suite is run all the same."""
    repo = begin(tmp_path / "repo")
    spoils = "import calc\n\ncalc.add = max\n\n\ndef test_largest():\n    assert calc.add(1, 2) == 2\n"
    add_commit(repo, "a test that replaces what others import", {"tests/test_aaa.py": spoils})
    audit(repo.root, AuditRequest(Selection("HEAD~1")))
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    assert "flaky: tests/test_add.py::test_add both passes and fails on one tree" in one.notes


FLAKY_TEST = """\
import os

from calc import add


def test_weather():
    assert add(1, 1) == 2
    assert os.environ["WEATHER"] == "fair"
"""


class Weather:
    """What the outside of the room is like in each run: tests see it by a variable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *runs: str) -> None:
        self.left = list(runs)
        self.monkeypatch = monkeypatch
        run, suite = TestRuns.run, TestRuns.suite

        def change_and_run(runs: TestRuns, *given: Any) -> Any:
            self.change()
            return run(runs, *given)

        def change_and_run_all(runs: TestRuns, *given: Any, **said: Any) -> Any:
            self.change()
            return suite(runs, *given, **said)

        monkeypatch.setattr(TestRuns, "run", change_and_run)
        monkeypatch.setattr(TestRuns, "suite", change_and_run_all)

    def change(self) -> None:
        self.monkeypatch.setenv("WEATHER", self.left.pop(0) if self.left else "fair")


def begin_outside(root: Path) -> GitRepo:
    repo = begin(root)
    config = "stacks:\n  - {root: ., language: python}\nroom: {env: [WEATHER]}\n"
    add_commit(repo, "the weather is seen", {"tdd.yaml": config})
    return repo


def test_a_red_that_does_not_repeat_is_flaky_and_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = begin_outside(tmp_path / "repo")
    source = ADD.replace("a + b", "b + a")
    add_commit(repo, "by chance", {"calc.py": source, "tests/test_weather.py": FLAKY_TEST})
    Weather(monkeypatch, "fair", "fair", "foul", "fair")
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"), whole=True)).units
    assert (one.outcome, [(red.why, red.valid) for red in one.reds]) == (
        AuditOutcome.UNVERIFIED,
        [("flaky", False)],
    )
    assert "tests/test_weather.py::test_weather is flaky" in one.why


def test_a_regression_that_does_not_repeat_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = begin_outside(tmp_path / "repo")
    add_commit(repo, "a test", {"tests/test_weather.py": FLAKY_TEST})
    add_commit(repo, "in two steps", {"calc.py": "def add(a, b):\n    sum = a\n    return sum + b\n"})
    Weather(monkeypatch, "fair", "foul", "fair")
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"), whole=True)).units
    assert one.outcome is AuditOutcome.REFACTOR, one.why
    assert "flaky: tests/test_weather.py::test_weather both passes and fails on one tree" in one.notes


def test_without_a_sandbox_the_audit_says_how_to_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "possible", lambda _: Availability(None, disk=False, abilities=()))
    with pytest.raises(ToolMissing) as told:
        audit(begin(tmp_path / "repo").root, AuditRequest(Selection("HEAD")))
    assert told.value.exit_code == 69
    assert told.value.hint is not None
    assert "apparmor_restrict_unprivileged_userns=0" in told.value.hint
