"""Results carried from commit to commit: only what may differ is run, and the answers are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.small_histories import CHANGES, add_commit, begin, make_history
from verdigris.core.report import TestReport
from verdigris.core.reuse import Rerun
from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.tree_runs import suite
from verdigris.drivers.audit.units import Selection

pytestmark = [pytest.mark.timeout(400), pytest.mark.usefixtures("runs_once")]

MANY = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
TESTS = (
    "import many\n\n\ndef test_one():\n    assert many.one() == 1\n\n\n"
    "def test_two():\n    assert many.two() == 2\n\n\ndef test_three():\n    assert many.three() == 3\n"
)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was run of a suite, for each tree of which only a part was."""
    found: list[list[str]] = []
    original = suite.TestRuns._run_traced

    def run_traced(
        self: suite.TestRuns, tree: str, names: Sequence[str], trace: Sequence[str], *, uses: bool
    ) -> TestReport:
        if names:
            found.append(list(names))
        return original(self, tree, names, trace, uses=uses)

    monkeypatch.setattr(suite.TestRuns, "_run_traced", run_traced)
    return found


def judge(root: Path, count: int, *, whole: bool = False) -> AuditReport:
    return audit(root, AuditRequest(Selection(f"HEAD~{count}..HEAD"), whole=whole))


def answers(report: AuditReport) -> list[object]:
    return [replace(unit, seconds=0.0) for unit in report.units]


def test_only_tests_that_may_differ_are_run(tmp_path: Path, parts: list[list[str]]) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "many", {"many.py": MANY, "tests/test_many.py": TESTS})
    add_commit(repo, "refactor", {"many.py": MANY.replace("return 2", "return 1 + 1")})
    found = TESTS.replace("import many", "import many  # them") + (
        "\n\ndef test_four():\n    assert many.three(4) == 4\n"
    )
    add_commit(
        repo,
        "grow",
        {
            "many.py": MANY.replace("return 2", "return 1 + 1").replace(
                "three():\n    return 3", "three(n=3):\n    return n"
            ),
            "tests/test_many.py": found,
        },
    )
    report = judge(repo.root, 2)
    assert [str(unit.outcome) for unit in report.units] == ["refactor", "test-driven"]
    test = "tests/test_many.py::test_"
    assert parts == [[f"{test}two"], [f"{test}four", f"{test}three"]]


def test_the_answers_are_those_of_whole_runs(tmp_path: Path) -> None:
    repo = make_history(tmp_path / "repo")
    quick = judge(repo.root, len(CHANGES))
    whole = judge(repo.root, len(CHANGES), whole=True)
    assert answers(quick) == answers(whole)
    assert whole.settings["whole"] == "yes"


def test_a_result_that_was_carried_wrongly_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "many", {"many.py": MANY, "tests/test_many.py": TESTS})
    add_commit(repo, "break", {"many.py": MANY.replace("return 2", "return 1")})
    add_commit(
        repo, "more", {"many.py": MANY.replace("return 2", "return 1").replace("return 3", "return 2 + 1")}
    )
    monkeypatch.setattr(suite, "plan", lambda *_: Rerun())
    report = judge(repo.root, 2)
    assert str(report.units[0].outcome) == "regressed"
    assert "tests/test_many.py::test_two" in report.units[0].notes[-1]
    monkeypatch.undo()
    assert [str(unit.outcome) for unit in judge(repo.root, 2).units] == [
        str(unit.outcome) for unit in report.units
    ]


def test_a_memory_of_the_project_and_a_data_file_are_seen(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    table = (
        "import functools, json, pathlib\n\n\ndef size():\n    return 1\n\n\n"
        "@functools.lru_cache\ndef known():\n    return size()\n\n\n"
        "def data():\n    return json.loads(pathlib.Path('data.json').read_text())\n"
    )
    tests = (
        "import table\n\n\ndef test_fills():\n    assert table.known()\n\n\n"
        "def test_hits():\n    assert table.known() == 1\n\n\n"
        "def test_data():\n    assert table.data() == 1\n"
    )
    add_commit(repo, "table", {"table.py": table, "data.json": "1", "tests/test_table.py": tests})
    add_commit(repo, "size", {"table.py": table.replace("return 1", "return 2")})
    add_commit(
        repo, "data", {"table.py": table.replace("return size()", "return 0 + size()"), "data.json": "2"}
    )
    report = judge(repo.root, 2)
    assert [[place.what.partition(": ")[0] for place in unit.regressed] for unit in report.units] == [
        ["tests/test_table.py::test_hits"],
        ["tests/test_table.py::test_data"],
    ]


def test_a_commit_whose_source_cannot_be_parsed_is_judged_by_a_whole_run(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "many", {"many.py": MANY, "tests/test_many.py": TESTS})
    add_commit(repo, "slip", {"many.py": MANY.replace("return 2", "return (")})
    assert [str(unit.outcome) for unit in judge(repo.root, 1).units] == ["regressed"]
