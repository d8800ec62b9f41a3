from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from support import canned
from support.meanwhile import meanwhile
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_green_world, make_world
from verdigris.core.actions import Deny
from verdigris.core.events import Accepted, EditClaim, Repair, SuiteRun, TestRun, Violation
from verdigris.core.report import Status, TestReport
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.execution.test_run import execute
from verdigris.turns import candidate_run
from verdigris.turns.settle import settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.runners.protocol import TestRequest
    from verdigris.storage.project import Project

WRONG = CALC + "\n\ndef sub(a, b):\n    return 0\n"
MUL_ID = "tests/test_mul.py::test_mul"
TEST_MUL = "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"


@pytest.fixture
def canned_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is decided of a report, however it was made; asked for last, since a red is really run."""
    canned.can(monkeypatch)


@pytest.mark.quick
def test_a_turn_that_earned_it_is_accepted_as_a_triple(green: World) -> None:
    green.write("calc.py", CALC + SUB)
    done = green.settle()
    assert (done.verdict.kind, done.accepted, done.phase) == (Kind.ACCEPTED, (SUB_ID,), "red")
    (triple,) = green.events(Accepted)
    assert isinstance(triple, Accepted)
    log = {record.seq: record for record in green.project.log.records()}
    assert (log[triple.red].data["red"], log[triple.red].data["test_id"]) == ("valid", SUB_ID)
    assert (log[triple.green].data["status"], log[triple.green].data["test_id"]) == ("pass", SUB_ID)
    changed = green.project.workspace.changes(triple.before, triple.after)
    assert [c.path for c in changed] == ["calc.py"]
    assert green.project.workspace.read(triple.after, "calc.py") == (CALC + SUB).encode()
    assert green.whole()


def test_one_settlement_makes_one_pytest_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path / "repo")
    world.test()
    world.green()
    world.write("calc.py", CALC + SUB)
    calls: list[str] = []
    meanwhile(monkeypatch, lambda: calls.append("one"))
    assert world.settle().verdict.accepted
    assert calls == ["one"]


def test_still_red_names_the_test_and_leaves_the_turn_open(green: World, canned_runs: None) -> None:
    green.write("calc.py", WRONG)
    done = green.settle()
    assert (done.verdict.kind, done.phase, done.aside) == (Kind.STILL_RED, "green", None)
    assert SUB_ID in done.verdict.reasons[0]
    assert green.read("calc.py") == WRONG
    assert green.state.strikes == {SUB_ID: 1}


def test_settling_twice_without_an_edit_is_one_strike(green: World, canned_runs: None) -> None:
    green.write("calc.py", WRONG)
    green.settle()
    green.settle()
    assert green.state.strikes == {SUB_ID: 1}


def test_settling_with_no_edit_at_all_is_no_strike(green: World, canned_runs: None) -> None:
    assert green.settle().verdict.kind is Kind.STILL_RED
    assert green.state.strikes == {}


def test_the_second_strike_lays_exactly_the_turns_source_aside(green: World, canned_runs: None) -> None:
    green.write("calc.py", WRONG)
    green.write("extra.py", "X = 1\n")
    green.settle()
    green.write("notes.md", "mine\n")
    green.repo.git("add", "notes.md")
    green.write("calc.py", WRONG + "# again\n")
    done = green.settle()
    assert (done.verdict.kind, done.phase) == (Kind.STILL_RED, "red")
    assert done.aside is not None
    assert green.read("calc.py") == CALC
    assert not (green.root / "extra.py").exists()
    assert green.read("notes.md") == "mine\n"
    assert green.read("tests/test_sub.py") == TEST_SUB
    assert green.repo.git("diff", "--cached", "--name-only") == "notes.md"
    (repair,) = green.events(Repair)
    assert isinstance(repair, Repair)
    assert repair.aside == done.aside
    assert green.state.aside[done.aside].paths == ("calc.py", "extra.py")
    assert green.state.reds == {}


def test_a_regression_seen_with_the_edits_is_no_red_without_them(green: World, canned_runs: None) -> None:
    for answer in (0, 1):
        green.write("calc.py", f"def add(a, b):\n    return {answer}\n" + SUB)
        done = green.settle()
    assert (done.verdict.kind, done.phase) == (Kind.REGRESSED, "red")
    assert green.state.reds == {}


def test_strikes_can_be_configured(tmp_path: Path, canned_runs: None) -> None:
    world = make_green_world(tmp_path / "repo", "strikes: 1\n")
    world.write("calc.py", WRONG)
    assert world.settle().aside is not None


HANGING = "\n\ndef sub(a, b):\n    while a > b:\n        pass\n    return a - b\n"


def test_a_bug_that_hangs_is_red_and_is_fixed_when_the_test_is_seen_to_end(tmp_path: Path) -> None:
    """On the way a fix that hangs still is no green, and the wait for it is short."""
    world = make_green_world(tmp_path / "repo", "room: {test_timeout: 2}\n", **{"calc.py": CALC + HANGING})
    red = world.events(TestRun)[-1]
    assert isinstance(red, TestRun)
    assert "stopped after 2 s, while it ran in calc.py" in red.failure
    world.write("calc.py", CALC + HANGING.replace("pass", "a = a"))
    assert world.settle().verdict.kind is Kind.STILL_RED
    world.write("calc.py", CALC + SUB)
    assert world.settle().accepted == (SUB_ID,)


def test_breaking_another_test_is_a_regression(green: World, canned_runs: None) -> None:
    green.write("calc.py", CALC.replace("+", "-") + SUB)
    done = green.settle()
    assert done.verdict.kind is Kind.REGRESSED
    assert "tests/test_add.py::test_add" in done.verdict.reasons[0]
    assert green.read("calc.py") == CALC.replace("+", "-") + SUB


def test_a_test_that_failed_before_the_turn_is_no_regression(tmp_path: Path) -> None:
    broken = TEST_ADD.replace("== 5", "== 6").replace("test_add", "test_known")
    world = make_green_world(tmp_path / "repo", **{"tests/test_known.py": broken})
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted


def test_a_test_that_goes_missing_is_a_regression(tmp_path: Path) -> None:
    cases = "import calc, pytest\n\n\n@pytest.mark.parametrize('n', calc.CASES)\n"
    cases += "def test_case(n):\n    assert n\n"
    world = make_green_world(
        tmp_path / "repo", **{"tests/test_cases.py": cases, "calc.py": CALC + "\nCASES = [1, 2]\n"}
    )
    world.write("calc.py", CALC + "\nCASES = [1]\n" + SUB)
    done = world.settle()
    assert (done.verdict.kind, done.verdict.reasons) == (
        Kind.REGRESSED,
        ("tests/test_cases.py::test_case[2]: not run",),
    )


DESELECTING = "[pytest]\naddopts = --deselect tests/test_add.py::test_add\n"


@pytest.mark.parametrize("looked_again", [False, True])
def test_a_test_deselected_before_the_claim_hides_nothing(world: World, looked_again: bool) -> None:
    world.write("tests/test_more.py", TEST_ADD.replace("2, 3) == 5", "0, 0) == 0"))
    world.test()
    world.write("pytest.ini", DESELECTING)
    if looked_again:
        world.test()
    world.green()
    world.write("calc.py", CALC.replace("a + b", "a * b") + SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.WEAKENED
    assert "tests/test_add.py::test_add" in done.verdict.reasons[0]


def unstable(name: str) -> str:
    """A test that fails until something outside has happened."""
    mark = "pathlib.Path(__file__).parents[2] / 'seen'"
    return f"import pathlib\n\n\ndef {name}():\n    assert ({mark}).exists()\n"


def test_an_unstable_test_is_a_concern(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("tests/test_flaky.py", unstable("test_flaky"))
    world.green()
    world.write("calc.py", CALC + SUB)
    meanwhile(monkeypatch, (world.root.parent / "seen").touch)
    done = world.settle()
    assert done.verdict.accepted
    assert "tests/test_flaky.py::test_flaky" in done.verdict.concerns[0]


def test_a_test_that_failed_before_is_run_once_on_each_tree(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take long, and it cannot be lost: nobody needs to know whether it would pass this time."""
    world.write("tests/test_old.py", "def test_old():\n    assert False\n")
    world.green()
    world.write("calc.py", CALC + SUB)
    again: list[Sequence[str]] = []

    def counted(project: Project, request: TestRequest, **how: Any) -> TestReport:
        again.append(request.names)
        return execute(project, request, **how)

    monkeypatch.setattr(candidate_run, "execute", counted)
    assert world.settle().verdict.accepted
    assert again == [("tests/test_old.py",)]


def test_a_changed_test_is_tampered_and_kept(green: World, canned_runs: None) -> None:
    weaker = TEST_SUB.replace("== 2", "or True")
    green.write("tests/test_sub.py", weaker)
    green.write("calc.py", CALC + SUB)
    done = green.settle()
    assert done.verdict.kind is Kind.TAMPERED
    assert green.read("tests/test_sub.py") == weaker
    assert [e.path for e in green.events(Violation) if isinstance(e, Violation)] == ["tests/test_sub.py"]
    assert green.state.phase is Phase.GREEN
    assert green.state.strikes == {}
    green.write("tests/test_sub.py", TEST_SUB)
    assert green.settle().verdict.accepted


def test_a_changed_runner_key_or_tdd_yaml_is_tampered(green: World, canned_runs: None) -> None:
    green.write("calc.py", CALC + SUB)
    green.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p no:terminal"\n')
    assert green.settle().verdict.reasons == ("pyproject.toml changed while it was frozen",)
    (green.root / "pyproject.toml").unlink()
    green.write("tdd.yaml", green.read("tdd.yaml") + "strikes: 9\n")
    assert green.settle().verdict.reasons == ("tdd.yaml changed while it was frozen",)


def test_a_new_dependency_and_docs_in_green_are_not_a_fight(green: World, canned_runs: None) -> None:
    green.write("calc.py", CALC + SUB)
    green.write("pyproject.toml", '[project]\nname = "calc"\ndependencies = ["six"]\n')
    green.write("README.md", "now with subtraction\n")
    assert green.settle().verdict.accepted


def test_source_that_ends_the_process_is_broken_and_no_strike(green: World) -> None:
    green.write("calc.py", "import os\n\n\ndef sub(a, b):\n    os._exit(0)\n\n\n" + CALC)
    done = green.settle()
    assert done.verdict.kind is Kind.BROKEN
    assert green.state.strikes == {}


def test_green_without_an_edit_is_broken(world: World) -> None:
    world.write("tests/test_sub.py", unstable("test_sub"))
    world.claimed()
    (world.root.parent / "seen").touch()
    assert world.settle().verdict.kind is Kind.BROKEN


def test_a_template_may_be_the_edit(tmp_path: Path) -> None:
    page = "import pathlib\n\n\ndef page():\n"
    page += "    return pathlib.Path(__file__).with_name('page.html').read_text()\n"
    world = make_world(tmp_path / "repo", **{"page.py": page, "page.html": "old"})
    world.write("tests/test_page.py", "import page\n\n\ndef test_page():\n    assert page.page() == 'new'\n")
    world.claimed("tests/test_page.py::test_page", "page.py")
    world.write("page.html", "new")
    assert world.settle().verdict.accepted


def test_format_is_applied_and_check_is_asked(tmp_path: Path) -> None:
    tool = "import pathlib, sys\nfor n in sys.argv[1:]:\n    p = pathlib.Path(n)\n"
    tool += "    p.write_text(p.read_text().rstrip() + '\\n')\n"
    lint = "import pathlib, sys\nsys.exit('BAD' in pathlib.Path('calc.py').read_text())\n"
    config = f"    format: {sys.executable} tools/fmt\n    check: {sys.executable} tools/lint\n"
    world = make_green_world(tmp_path / "repo", config, **{"tools/fmt": tool, "tools/lint": lint})
    world.write("calc.py", CALC + SUB + "# BAD\n\n\n")
    done = world.settle()
    assert (done.verdict.kind, done.verdict.reasons) == (
        Kind.REGRESSED,
        (f"check failed: {sys.executable} tools/lint",),
    )
    assert world.read("calc.py") == CALC + SUB + "# BAD\n"
    world.write("calc.py", CALC + SUB + "\n\n\n")
    assert world.settle().verdict.accepted
    assert world.read("calc.py") == CALC + SUB


def test_a_formatter_that_strays_into_tests_is_put_back(tmp_path: Path) -> None:
    tool = "import pathlib\np = pathlib.Path('tests/test_sub.py')\n"
    tool += "p.write_text(p.read_text() + '# touched\\n')\n"
    world = make_green_world(
        tmp_path / "repo", f"    format: {sys.executable} tools/fmt\n", **{"tools/fmt": tool}
    )
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    assert world.read("tests/test_sub.py") == TEST_SUB


def test_an_edit_outside_the_targets_joins_as_implied(green: World, canned_runs: None) -> None:
    green.write("calc.py", CALC + "\n\nfrom minus import sub  # noqa: E402\n")
    green.write("minus.py", "def sub(a, b):\n    return a - b\n")
    assert green.settle().verdict.accepted
    implied = [e for e in green.events(EditClaim) if isinstance(e, EditClaim) and e.implied]
    assert [e.edit_target for e in implied] == ["minus.py"]


def test_what_a_formatter_did_outside_strict_targets_is_neither_refused_nor_joined(
    tmp_path: Path, canned_runs: None
) -> None:
    world = make_green_world(
        tmp_path / "repo", "claims: strict\n", **{"ugly.py": "def f( a ):\n  return  a\n"}
    )
    world.write("calc.py", CALC + SUB)
    world.write("ugly.py", "def f(a):\n    return a  # as it was\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED
    (claim,) = world.events(EditClaim)
    assert isinstance(claim, EditClaim)
    assert claim.edit_target == "calc.py"


def test_an_edit_outside_the_targets_is_refused_where_claims_are_strict(tmp_path: Path) -> None:
    world = make_green_world(tmp_path / "repo", "claims: strict\n")
    world.write("minus.py", "def sub(a, b):\n    return a - b\n")
    denied = settle(world.project)
    assert isinstance(denied, Deny)
    assert denied.rule == "outside-targets"
    assert "minus.py" in denied.reason


def two_claims(world: World, sub_target: str, mul_target: str) -> None:
    world.write("tests/test_sub.py", TEST_SUB.replace("calc", "minus"))
    world.write("tests/test_mul.py", TEST_MUL.replace("calc", "times"))
    world.write("minus.py", "")
    world.write("times.py", "")
    world.test()
    world.claimed(SUB_ID, sub_target)
    world.claimed(MUL_ID, mul_target)


def test_of_several_claims_those_that_stand_alone_are_accepted(world: World, canned_runs: None) -> None:
    two_claims(world, "minus.py", "times.py")
    world.write("minus.py", SUB.lstrip())
    world.write("times.py", "def mul(a, b):\n    return 0\n")
    first = world.settle()
    assert (first.verdict.kind, first.accepted) == (Kind.STILL_RED, ())
    world.write("times.py", "def mul(a, b):\n    return 1\n")
    done = world.settle()
    assert (done.verdict.kind, done.accepted, done.phase) == (Kind.STILL_RED, (SUB_ID,), "red")
    assert world.read("minus.py") == SUB.lstrip()
    assert world.read("times.py") == ""
    assert done.aside is not None
    assert world.state.aside[done.aside].test_ids == (MUL_ID,)


def test_claims_that_share_a_path_cannot_be_told_apart(world: World, canned_runs: None) -> None:
    two_claims(world, "*.py", "times.py")
    world.write("minus.py", SUB.lstrip())
    for answer in (0, 1):
        world.write("times.py", f"def mul(a, b):\n    return {answer}\n")
        done = world.settle()
    assert (done.accepted, done.phase) == ((), "red")
    assert (world.read("minus.py"), world.read("times.py")) == ("", "")


def test_what_acceptance_runs_can_be_narrowed_to_a_suite(tmp_path: Path) -> None:
    slow = "def test_slow():\n    assert False\n"
    world = make_green_world(
        tmp_path / "repo", "    suite: [tests/test_add.py]\n", **{"tests/test_slow.py": slow}
    )
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    ran = {e.test_id for e in world.events(TestRun) if isinstance(e, TestRun)}
    assert "tests/test_slow.py::test_slow" not in ran
    (suite,) = world.events(SuiteRun)
    assert isinstance(suite, SuiteRun)
    assert suite.passed == 2


MARKED = """\
import pytest


@pytest.mark.quick
def test_known():
    assert False


def test_long():
    assert False
"""


@pytest.mark.parametrize(
    ("suite", "ran"),
    [("tests/test_add.py", []), ("-m quick", ["tests/test_marked.py::test_known"])],
)
def test_nor_is_what_the_suite_leaves_out_run_on_the_start_tree(
    suite: str, ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first settlement has no earlier run of the suite to compare with."""
    world = make_green_world(
        tmp_path / "repo", f"    suite: [{suite!r}]\n", **{"tests/test_marked.py": MARKED}
    )
    reports: list[TestReport] = []

    def run(*words: Any, **more: Any) -> TestReport:
        reports.append(execute(*words, **more))
        return reports[-1]

    monkeypatch.setattr(candidate_run, "execute", run)
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    assert [result.native_id for report in reports for result in report.results] == ran


def test_the_footer_is_the_same_to_the_byte_for_the_same_facts(tmp_path: Path, canned_runs: None) -> None:
    footers = set()
    for name in ("one", "two"):
        world = make_world(tmp_path / name)
        world.green()
        world.write("calc.py", CALC + SUB)
        footers.add(world.settle().footer)
    following = "write one failing test, then the code for it; `tdd test` shows the red"
    assert footers == {f"[tdd] accepted: {SUB_ID}; edited calc.py. phase red; next: {following}"}


def test_the_next_turn_builds_on_accepted_ground(green: World, canned_runs: None) -> None:
    green.write("calc.py", CALC + SUB)
    green.settle()
    green.write("tests/test_mul.py", TEST_MUL)
    green.claimed(MUL_ID)
    green.write("calc.py", CALC + SUB + MUL)
    assert green.settle().accepted == (MUL_ID,)
    statuses = [e.status for e in green.events(TestRun) if isinstance(e, TestRun) and e.test_id == SUB_ID]
    assert statuses[-1] is Status.PASS


def test_a_file_for_tests_that_is_python_with_errors_is_no_test_module(world: World) -> None:
    """What a parser or a linter is tried on lies among the tests, and is not theirs to correct."""
    world.write("tests/issue_files/broken.py", "def (:\n")
    reads = "import pathlib\n\nBROKEN = pathlib.Path(__file__).parent / 'issue_files' / 'broken.py'\n"
    counts = "\n\ndef test_sub():\n    assert calc.sub(len(BROKEN.read_text()), 3) == 4\n"
    world.write("tests/test_sub.py", f"import calc\n{reads}{counts}")
    assert [(test.test_id, test.red) for test in world.test("tests").tests if test.red] == [(SUB_ID, "valid")]
    assert not isinstance(world.claim(SUB_ID, "calc.py"), Deny)
    world.write("calc.py", CALC + SUB)
    assert world.settle().accepted == (SUB_ID,)


def test_a_refusal_of_the_same_tree_is_told_again_without_a_run(
    green: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    green.write("calc.py", CALC + SUB.replace("-", "+"))
    first = green.settle()
    monkeypatch.setattr(candidate_run, "run_suite_traced", None)
    again = green.settle()
    assert again.known
    assert (again.verdict.kind, again.verdict.reasons) == (first.verdict.kind, first.verdict.reasons)


def test_after_a_run_of_its_tests_the_same_tree_is_judged_anew(green: World) -> None:
    green.write("calc.py", CALC + SUB.replace("-", "+"))
    green.settle()
    green.test()
    assert not green.settle().known
