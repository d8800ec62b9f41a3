from __future__ import annotations

import os
import py_compile
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support import canned
from support.turns import CALC, SUB, TEST_ADD, TEST_SUB, World, make_live_world, make_world
from verdigris.checks import coverage
from verdigris.cli.worktree import survey_document, survey_lines
from verdigris.core.actions import Deny
from verdigris.core.events import RefactorEnded, SuiteRun, Violation
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.execution.test_run import execute_suite
from verdigris.models.roles.feedback import describe_verdict
from verdigris.storage.project import open_project
from verdigris.turns.person import hold_out, revise
from verdigris.turns.refactor import Aborted, Begun, abort, begin, end
from verdigris.turns.settle import Settlement
from verdigris.turns.survey import survey
from verdigris.turns.test import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.report import Status, TestReport

pytestmark = pytest.mark.usefixtures("remembered_runs")

RENAMED = CALC.replace("a, b", "left, right").replace("a + b", "left + right")


@pytest.fixture
def canned_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is decided of a report, however it was made."""
    canned.can(monkeypatch)


def begun(world: World, *, uncovered: bool = False) -> Begun:
    done = begin(world.project, uncovered=uncovered)
    assert isinstance(done, Begun), done
    return done


def ended(world: World) -> Settlement:
    done = end(world.project)
    assert isinstance(done, Settlement), done
    return done


def test_the_same_behaviour_in_a_better_shape_is_accepted(world: World) -> None:
    assert begun(world).passed == 1
    world.write("calc.py", RENAMED)
    done = ended(world)
    assert (done.verdict.kind, done.phase) == (Kind.ACCEPTED, "red")
    ground = world.state.ground
    assert ground is not None
    assert world.project.workspace.read(ground, "calc.py") == RENAMED.encode()


def test_the_run_of_the_last_acceptance_need_not_be_repeated(world: World) -> None:
    def runs() -> int:
        return len(world.events(SuiteRun))

    begun(world)
    world.write("calc.py", RENAMED)
    ended(world)
    before = runs()
    known = begin(world.project, uncovered=False, known=True)
    assert (known, runs()) == (Begun(1, 0, uncovered=False), before)
    world.write("calc.py", CALC.replace("+", "-"))
    assert ended(world).verdict.kind is Kind.REGRESSED
    abort(world.project)
    world.write("README.md", "another tree\n")
    assert isinstance(begin(world.project, uncovered=False, known=True), Begun)
    assert runs() == before + 1


def test_a_symbol_may_be_renamed_across_source_and_tests(world: World) -> None:
    begun(world)
    world.write("calc.py", CALC.replace("add", "plus"))
    world.write(
        "tests/test_add.py", TEST_ADD.replace("test_add", "test_plus").replace("calc.add", "calc.plus")
    )
    assert ended(world).verdict.accepted


SHELVES = """\
class Box:
    def get(self):
        return 1


class Dot:
    def get(self):
        return 1
"""
TEST_SHELVES = """\
import shelves


def test_box():
    assert shelves.Box().get() == 1


def test_dot():
    assert shelves.Dot().get() == 1
"""


def test_a_method_may_be_renamed_in_one_class_and_its_tests(tmp_path: Path) -> None:
    files = {"shelves.py": SHELVES, "tests/test_shelves.py": TEST_SHELVES}
    world = make_world(tmp_path / "repo", **files)
    begun(world)
    world.write("shelves.py", SHELVES.replace("get", "fetch", 1))
    world.write("tests/test_shelves.py", TEST_SHELVES.replace("get", "fetch", 1))
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())


def test_an_assertion_may_not_ask_another_method_while_the_old_one_is_there(tmp_path: Path) -> None:
    files = {"shelves.py": SHELVES, "tests/test_shelves.py": TEST_SHELVES}
    world = make_world(tmp_path / "repo", **files)
    begun(world)
    world.write(
        "shelves.py", SHELVES.replace("        return 1\n", "        return 1\n\n    fetch = get\n", 1)
    )
    world.write("tests/test_shelves.py", TEST_SHELVES.replace("get", "fetch", 1))
    assert ended(world).verdict.kind is Kind.WEAKENED


def test_a_file_that_only_declares_need_not_be_noticed_by_a_test(tmp_path: Path) -> None:
    stub = "__all__: tuple[str, ...] = ('add',)\nKIND = 'sum of add'\n\ndef add(a: int, b: int) -> int: ...\n"
    world = make_world(tmp_path / "repo", **{"calc.pyi": stub})
    begun(world)
    world.write("calc.py", CALC.replace("add", "plus"))
    world.write(
        "calc.pyi", stub.replace("add", "plus").replace("b: int", "b: int = 1").replace("sum", "total")
    )
    world.write("tests/test_add.py", TEST_ADD.replace("calc.add", "calc.plus"))
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())


def test_a_test_that_fails_only_because_lines_are_traced_is_not_lost(tmp_path: Path) -> None:
    """As one that measures memory or time; before Python 3.12 it can see the tracer itself."""
    test = "import sys\nimport calc\n\n\ndef test_bare():\n    assert sys.gettrace() is None\n"
    test += "    assert calc.add(1, 1) == 2\n"
    world = make_world(tmp_path / "repo", **{"tests/test_bare.py": test})
    begun(world)
    world.write("calc.py", "def add(a, b):\n    total = sum((a, b))\n    return total\n")
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())
    begun(world)
    world.write("calc.py", "def add(a, b):\n    total = max((a, b))\n    return total\n")
    assert ended(world).verdict.kind is Kind.REGRESSED


def test_a_broken_test_keeps_it_open_and_two_strikes_lay_it_aside(world: World, canned_runs: None) -> None:
    begun(world)
    world.write("calc.py", CALC.replace("+", "-"))
    first = ended(world)
    assert (first.verdict.kind, first.phase, first.aside) == (Kind.REGRESSED, "refactor", None)
    world.write("calc.py", CALC.replace("+", "*"))
    second = ended(world)
    assert (second.phase, second.paths) == ("red", ("calc.py",))
    assert world.read("calc.py") == CALC
    assert second.aside is not None
    assert world.state.aside[second.aside].paths == ("calc.py",)


def test_a_weaker_assertion_is_a_weakening(world: World, canned_runs: None) -> None:
    begun(world)
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "> 0"))
    done = ended(world)
    assert done.verdict.kind is Kind.WEAKENED
    assert "tdd revise tests/test_add.py, with --why" in done.next


GOLDEN_TEST = """\
import pathlib

import calc


def test_sum():
    golden = pathlib.Path(__file__).with_name("sum.txt").read_text()
    assert str(calc.add(2, 3)) == golden
"""


def test_golden_data_may_not_move_with_the_behaviour(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"tests/test_add.py": GOLDEN_TEST, "tests/sum.txt": "5"})
    begun(world)
    world.write("calc.py", CALC.replace("a + b", "a * b"))
    world.write("tests/sum.txt", "6")
    done = ended(world)
    assert (done.verdict.kind, done.phase) == (Kind.WEAKENED, "refactor")
    assert "tests/sum.txt" in done.verdict.reasons[0]


def test_runner_configuration_may_not_change_in_a_refactor(world: World) -> None:
    begun(world)
    world.write("pytest.ini", "[pytest]\naddopts = --deselect tests/test_add.py\n")
    assert not ended(world).verdict.accepted


def test_a_deleted_test_is_found(tmp_path: Path, canned_runs: None) -> None:
    world = make_world(tmp_path / "repo", **{"calc.py": CALC + SUB, "tests/test_sub.py": TEST_SUB})
    begun(world)
    (world.root / "tests/test_sub.py").unlink()
    assert ended(world).verdict.kind is Kind.WEAKENED


def test_a_case_that_is_missing_is_put_back_or_given_up_by_a_person(tmp_path: Path) -> None:
    cases = "import calc, pytest\n\n\n@pytest.mark.parametrize('n', calc.cases())\n"
    cases += "def test_case(n):\n    assert n\n"
    files = {"tests/test_cases.py": cases, "calc.py": CALC + "\n\ndef cases():\n    return [1, 2]\n"}
    world = make_world(tmp_path / "repo", **files)
    begun(world)
    world.write("calc.py", CALC + "\n\ndef cases():\n    return [1]\n")
    done = ended(world)
    case = "tests/test_cases.py::test_case[2]"
    assert done.verdict.kind is Kind.REGRESSED
    assert done.next == (
        "put what is missing back, then `tdd refactor end`; or a person gives it up: "
        f"tdd revise '{case}', with --why and the reason"
    )
    revise(world.project, [case], "two is one too many")
    assert ended(world).verdict.accepted


def test_dead_code_goes_with_its_tests_when_a_person_gives_them_up(tmp_path: Path, canned_runs: None) -> None:
    files = {"calc.py": CALC + SUB, "tests/test_sub.py": TEST_SUB}
    world = make_world(tmp_path / "repo", **files)
    begun(world)
    world.write("calc.py", CALC)
    (world.root / "tests/test_sub.py").unlink()
    assert not ended(world).verdict.accepted
    revise(world.project, ["tests/test_sub.py::test_sub"], "nobody subtracts any more")
    assert ended(world).verdict.accepted


def test_new_code_that_no_test_runs_is_refused_unless_a_person_lifts_it(world: World) -> None:
    begun(world)
    world.write("calc.py", CALC + SUB)
    done = ended(world)
    assert done.verdict.kind is Kind.REGRESSED
    assert "calc.py:6 is new and no test runs it" in done.verdict.reasons[0]
    assert isinstance(abort(world.project), Aborted)
    begun(world, uncovered=True)
    world.write("calc.py", CALC + SUB)
    assert ended(world).verdict.accepted


TEST_TWICE = """\
import subprocess
import sys


def test_twice():
    command = [sys.executable, "-c", "import calc; print(calc.twice(2))"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "4\\n"
"""


def test_new_code_that_a_test_runs_in_a_process_of_its_own_is_fine(tmp_path: Path) -> None:
    twice = "\n\ndef twice(a):\n    return a * 2\n"
    world = make_world(tmp_path / "repo", **{"calc.py": CALC + twice, "tests/test_twice.py": TEST_TWICE})
    begun(world)
    world.write("calc.py", CALC + twice.replace("return a * 2", "total = a * 2\n    return total"))
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())


def test_new_code_that_tests_run_is_fine(world: World) -> None:
    begun(world)
    world.write("calc.py", "def add(a, b):\n    total = sum((a, b))\n    return total\n")
    assert ended(world).verdict.accepted


def test_what_is_odd_about_the_run_is_a_concern_as_in_a_settlement(tmp_path: Path) -> None:
    writes = TEST_ADD + "    open('tests/out.txt', 'w').close()\n"
    world = make_world(
        tmp_path / "repo",
        "    source: [calc.py]\n",
        **{"tools/script.py": "X = 1\n", "tests/test_add.py": writes},
    )
    begun(world)
    world.write("calc.py", "from tools import script\n\n\n" + CALC)
    done = ended(world)
    assert done.verdict.accepted
    told = "tools/script.py: code: it is executed by calc.py, although its name does not make it source"
    assert told in done.verdict.concerns
    if done.report is not None and done.report.sandbox == "overlay":
        assert "the test run wrote tests/out.txt, which the worktree did not get" in done.verdict.concerns
    (event,) = world.events(RefactorEnded)
    assert isinstance(event, RefactorEnded)
    assert event.concerns == done.verdict.concerns


def test_poisoned_bytecode_proves_nothing(world: World) -> None:
    begun(world)
    source = world.root / "calc.py"
    for text in (CALC, CALC.replace("+", "-")):
        world.write("calc.py", text)
        os.utime(source, (1_700_000_000, 1_700_000_000))
        if text == CALC:
            py_compile.compile(str(source))
    assert ended(world).verdict.kind is Kind.REGRESSED


def test_verify_has_a_say_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    failing = f"{sys.executable} -c 'print(41 + 1); raise SystemExit(1)'"
    world = make_world(tmp_path / "repo", f"    verify: {failing}\n")
    begun(world)
    world.write("calc.py", RENAMED)
    done = ended(world)
    assert done.verdict.reasons[0].startswith("verify failed: ")
    assert [text.strip() for text in done.output] == ["42"]


def test_a_specification_is_not_a_refactors_to_change(tmp_path: Path, canned_runs: None) -> None:
    world = make_world(tmp_path / "repo", "spec: [SPEC.md]\n", **{"SPEC.md": "adds\n"})
    begun(world)
    world.write("SPEC.md", "subtracts\n")
    assert ended(world).verdict.kind is Kind.TAMPERED
    assert [e.path for e in world.events(Violation) if isinstance(e, Violation)] == ["SPEC.md"]


def test_abort_lays_source_and_tests_aside(world: World, canned_runs: None) -> None:
    begun(world)
    world.write("calc.py", RENAMED)
    world.write("tests/test_new.py", "def test_new():\n    assert True\n")
    done = abort(world.project)
    assert isinstance(done, Aborted)
    assert done.paths == ("tests/test_new.py", "calc.py")
    assert (world.read("calc.py"), world.state.phase) == (CALC, Phase.RED)
    assert not (world.root / "tests/test_new.py").exists()
    assert [e.verdict for e in world.events(RefactorEnded) if isinstance(e, RefactorEnded)] == ["aborted"]


def test_unclaimed_edits_must_step_aside_first(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    denied = begin(world.project, uncovered=False)
    assert isinstance(denied, Deny)
    assert denied.rule == "source-before-red"


def test_without_tests_only_uncovered_begins(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    (world.root / "tests/test_add.py").unlink()
    denied = begin(world.project, uncovered=False)
    assert isinstance(denied, Deny)
    assert denied.rule == "no-tests"
    begun(world, uncovered=True)
    world.write("calc.py", CALC + SUB)
    assert ended(world).verdict.accepted


def test_source_that_knows_its_tests_is_refused_as_in_a_settlement(world: World) -> None:
    begun(world)
    world.write(
        "calc.py",
        "import sys\n\n\ndef add(a, b):\n    return 5 if 'pytest' in sys.modules else a\n",
    )
    done = ended(world)
    assert (done.verdict.kind, done.phase) == (Kind.HOLLOW, "refactor")
    assert "calc.py:5" in done.verdict.reasons[0]


HELD_OUT = "import calc\n\n\ndef test_more():\n    assert calc.add(20, 1) == 21\n"


def test_a_held_out_test_that_passed_before_must_still_pass(world: World) -> None:
    world.write("tests/test_held.py", HELD_OUT)
    hold_out(world.project, ["tests/test_held.py"], cwd=world.root)
    begun(world)
    world.write("calc.py", "def add(a, b):\n    return {(2, 3): 5}[a, b]\n")
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.OVERFIT, ("a held-out test fails",))
    world.write("calc.py", RENAMED)
    assert ended(world).verdict.accepted


def test_a_held_out_test_that_failed_before_the_refactor_holds_nobody_up(world: World) -> None:
    world.write("tests/test_held.py", HELD_OUT.replace("calc.add", "calc.plus"))
    hold_out(world.project, ["tests/test_held.py"], cwd=world.root)
    begun(world)
    world.write("calc.py", RENAMED)
    assert ended(world).verdict.accepted


def test_a_changed_decision_that_no_test_notices_is_refused_with_the_way_out(world: World) -> None:
    begun(world)
    world.write("calc.py", "def add(a, b):\n    return a + b if a > -9 else 0\n")
    done = ended(world)
    assert done.verdict.kind is Kind.REGRESSED
    assert done.verdict.reasons == (
        "calc.py:2: `0` → `1`: no test notices",
        "calc.py:2: `9` → `10`: no test notices",
        "calc.py:2: `a > -9` → `((a > -9) or True)`: no test notices",
    )
    assert not any("`a >= -9`" in reason for reason in done.verdict.reasons)
    assert "--uncovered" in done.next
    abort(world.project)
    begun(world, uncovered=True)
    world.write("calc.py", "def add(a, b):\n    return a + b if a > -9 else 0\n")
    assert ended(world).verdict.accepted


def test_where_a_metric_judges_too_lines_must_still_be_run(world: World) -> None:
    assert isinstance(begin(world.project, uncovered=False, optimizes=True), Begun)
    world.write("calc.py", "def add(a, b):\n    if a < -9:\n        return 0\n    return a + b\n")
    done = ended(world)
    assert done.verdict.kind is Kind.REGRESSED
    assert "calc.py:3 is new and no test runs it" in done.verdict.reasons[0]


def test_where_a_metric_judges_too_a_decision_that_no_test_notices_is_noted(world: World) -> None:
    assert isinstance(begin(world.project, uncovered=False, optimizes=True), Begun)
    world.write("calc.py", "def add(a, b):\n    return a + b if a > -9 else 0\n")
    done = ended(world)
    assert done.verdict.accepted, done.verdict
    assert "calc.py:2: `a > -9` → `((a > -9) or True)`: no test notices" in done.verdict.concerns


READING = """\
def read(text):
    if text.startswith("//"):
        first, _, rest = text.partition("\\n")
        text = rest.replace(first[2:], ",")
    if not text:
        return []
    return [int(number) for number in text.replace("\\n", ",").split(",")]
"""
READING_IN_PARTS = """\
def read(text):
    separators, body = _parts_of(text)
    for separator in separators:
        body = body.replace(separator, ",")
    return [int(number) for number in body.split(",")] if body else []


def _parts_of(text):
    if not text.startswith("//"):
        return ["\\n"], text
    first, _, body = text.partition("\\n")
    return ["\\n", first[2:]], body
"""
TEST_READING = """\
import reading


def test_lines():
    assert reading.read("1\\n2,3") == [1, 2, 3]


def test_nothing():
    assert reading.read("") == []


def test_a_named_separator():
    assert reading.read("//;\\n1;2") == [1, 2]
"""


def test_one_more_copy_of_a_known_literal_is_noted_and_not_refused(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"reading.py": READING, "tests/test_reading.py": TEST_READING})
    begun(world)
    world.write("reading.py", READING_IN_PARTS)
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())
    assert any('reading.py:12: `"\\n"`' in concern for concern in done.verdict.concerns)


def test_a_changed_decision_that_tests_hold_is_accepted(tmp_path: Path) -> None:
    sign = "def sign(a):\n    if a < 0:\n        return -1\n    return 1\n"
    test = "import sign\n\n\ndef test_sign():\n    assert [sign.sign(n) for n in (-1, 0, 1)] == [-1, 1, 1]\n"
    world = make_world(tmp_path / "repo", **{"sign.py": sign, "tests/test_sign.py": test})
    begun(world)
    world.write("sign.py", "def sign(a):\n    return 1 if a >= 0 else -1\n")
    assert ended(world).verdict.kind is Kind.ACCEPTED


def test_a_table_of_the_tests_answers_is_another_behaviour(world: World) -> None:
    begun(world)
    world.write("calc.py", "def add(a, b):\n    return {(2, 3): 5}[a, b]\n")
    done = ended(world)
    assert done.verdict.kind is Kind.REGRESSED
    assert "tests/test_add.py::test_add with another input" in done.verdict.reasons[0]


SHOP = '''\
LOW = 3


def total(prices, member):
    """What is to be paid."""
    result = []
    for price in prices:
        if price > LOW:
            result.append(price)
    paid = sum(result)
    if member and paid >= 20:
        paid = paid - 2
    return paid
'''
AFTER = '''\
from rebate import reduced

LOWEST = 3


def total(amounts, is_member):
    """What has to be paid."""
    counted = [amount for amount in amounts if amount > LOWEST]
    return reduced(sum(counted), is_member)
'''
REBATE = """\
def reduced(sum_of_all, member):
    if member and sum_of_all >= 20:
        sum_of_all = sum_of_all - 2
    return sum_of_all
"""
TEST_TOTAL = """\
import shop


def test_total():
    assert shop.total([2, 3, 4, 10], False) == 14


def test_members_pay_less_from_twenty():
    assert [shop.total([n], True) for n in (19, 20)] == [19, 18]
"""


def test_extracting_moving_renaming_and_a_comprehension_change_no_behaviour(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"shop.py": SHOP, "tests/test_shop.py": TEST_TOTAL})
    begun(world)
    world.write("shop.py", AFTER)
    world.write("rebate.py", REBATE)
    done = ended(world)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())
    assert not any("not tried" in concern for concern in done.verdict.concerns)


UNNOTICED = "def add(a, b):\n    return a + b if a > -9 else 0\n"


def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry a run of the suite at the end of a refactor."""
    runs: list[str] = []

    def count_suite(*given: Any, **named: Any) -> TestReport:
        runs.append("suite")
        return execute_suite(*given, **named)

    monkeypatch.setattr(coverage, "execute_suite", count_suite)
    return runs


def test_a_refused_end_is_remembered_and_the_same_tree_is_not_judged_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(world)
    world.write("calc.py", UNNOTICED)
    first = ended(world)
    runs = counted_runs(monkeypatch)
    again = ended(world)
    assert runs == []
    assert (again.verdict, again.next, again.paths) == (first.verdict, first.next, first.paths)
    assert (first.known, again.known) == (False, True)
    surveyed = survey(world.project)
    assert surveyed.next == first.next
    said = "\n".join(line.text for line in survey_lines(surveyed))
    assert f"the refactor is not accepted [regressed]: {first.verdict.reasons[0]} (and 2 more)" in said
    assert survey_document(surveyed)["refactor"] == {
        "verdict": "regressed",
        "reasons": list(first.verdict.reasons),
        "uncovered": False,
    }
    world.write("calc.py", RENAMED)
    assert survey(world.project).next == "`tdd refactor end` judges it anew (or `tdd refactor abort`)"
    assert ended(world).verdict.accepted
    assert survey_document(survey(world.project))["refactor"] is None


def test_a_tree_is_judged_again_after_another_run_of_its_tests(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails by the moment, or by the environment, is not held against it for ever."""
    begun(world)
    world.write("calc.py", CALC.replace("+", "-"))
    assert ended(world).verdict.kind is Kind.REGRESSED
    assert ended(world).known
    run_tests(world.project, [], cwd=world.root)
    runs = counted_runs(monkeypatch)
    assert not ended(world).known
    assert runs


def test_a_verdict_without_a_test_that_fails_does_not_speak_of_one(world: World) -> None:
    begun(world)
    world.write("calc.py", UNNOTICED)
    unnoticed = ended(world).verdict
    world.write("calc.py", CALC + SUB)
    unrun = ended(world).verdict
    assert (unnoticed.unproven, unrun.unproven) == (True, True)
    assert "The suite passes, but" in describe_verdict(unnoticed, None)


def test_a_verdict_with_a_test_that_fails_does(world: World, canned_runs: None) -> None:
    begun(world)
    world.write("calc.py", CALC.replace("+", "-"))
    failing = ended(world).verdict
    assert not failing.unproven
    assert "Something that passed before" in describe_verdict(failing, None)


class Watcher:
    def __init__(self) -> None:
        self.steps: list[str] = []

    def began(self, step: str) -> None:
        self.steps.append(step)

    def collected(self, total: int) -> None:
        pass

    def finished(self, test_id: str, status: Status) -> None:
        pass


def test_the_end_says_what_is_being_tried(world: World) -> None:
    begun(world)
    world.write("calc.py", UNNOTICED)
    watcher = Watcher()
    end(world.project, watcher)
    assert watcher.steps[:3] == ["the suite", "the assertions", "other inputs"]
    assert watcher.steps[3:] == ["changes that a test should notice: 5"]


GUARDED = "def add(a, b):\n    if a > 1000:\n        raise ValueError(a)\n    return a + b\n"


@pytest.mark.parametrize(("role", "kind"), [("person", Kind.ACCEPTED), ("agent", Kind.REGRESSED)])
def test_a_guard_that_no_test_notices_does_not_go_unseen(tmp_path: Path, role: str, kind: Kind) -> None:
    world = make_live_world(tmp_path, **{"calc.py": GUARDED})
    begun(world)
    world.write("calc.py", "def add(a, b):\n    total = a + b\n    return total\n")
    done = end(open_project(world.root, Actor(role=role, client="test")))
    assert isinstance(done, Settlement), done
    assert done.verdict.kind is kind
    told = (*done.verdict.reasons, *done.verdict.concerns)
    assert "calc.py:2 before the refactor: `a > 1000` is gone, and no test noticed it" in told


def test_a_guard_that_a_test_notices_and_that_another_form_keeps_is_no_matter(tmp_path: Path) -> None:
    limit = (
        "with pytest.raises(ValueError):\n        calc.add(1001, 1)\n    assert calc.add(1000, 1) == 1001\n"
    )
    test = f"import pytest\n\nimport calc\n\n\ndef test_limit():\n    {limit}"
    world = make_live_world(tmp_path, **{"calc.py": GUARDED, "tests/test_limit.py": test})
    begun(world)
    world.write("calc.py", GUARDED.replace("a > 1000", "not a <= 1000"))
    assert ended(world).verdict.concerns == ()


@pytest.mark.parametrize(("role", "kind"), [("person", Kind.ACCEPTED), ("agent", Kind.REGRESSED)])
def test_a_lock_that_no_test_notices_does_not_go_unseen(tmp_path: Path, role: str, kind: Kind) -> None:
    head = "from threading import Lock\n\nLOCK = Lock()\n\n\ndef add(a, b):\n"
    locked = f"{head}    with LOCK:\n        return a + b\n"
    world = make_live_world(tmp_path, **{"calc.py": locked})
    begun(world)
    world.write("calc.py", f"{head}    return a + b\n")
    done = end(open_project(world.root, Actor(role=role, client="test")))
    assert isinstance(done, Settlement), done
    told = (*done.verdict.reasons, *done.verdict.concerns)
    assert done.verdict.kind is kind
    assert "calc.py:7 before the refactor: `with LOCK` is gone, and no test noticed it" in told


@pytest.mark.parametrize(("role", "kind"), [("person", Kind.ACCEPTED), ("agent", Kind.REGRESSED)])
def test_what_protects_and_is_replaced_is_named(tmp_path: Path, role: str, kind: Kind) -> None:
    guarded = "from secrets import randbelow\n\n\ndef add(a, b):\n    return a + b + randbelow(1)\n"
    world = make_live_world(tmp_path, **{"calc.py": guarded})
    begun(world)
    world.write(
        "calc.py",
        "from random import randrange\n\n\ndef add(a, b):\n    return a + b + randrange(1)\n",
    )
    done = end(open_project(world.root, Actor(role=role, client="test")))
    assert isinstance(done, Settlement), done
    told = " ".join((*done.verdict.reasons, *done.verdict.concerns))
    assert done.verdict.kind is kind
    assert "calc.py:5: `randbelow` became `randrange`, and no test tells them apart" in told


def test_a_function_that_was_there_may_do_it_now(tmp_path: Path) -> None:
    checked = "def checked(a):\n    if a > 1000:\n        raise ValueError(a)\n    return a\n"
    world = make_live_world(tmp_path, **{"calc.py": GUARDED, "sizes.py": checked})
    begun(world)
    world.write("calc.py", "from sizes import checked\n\n\ndef add(a, b):\n    return checked(a) + b\n")
    done = end(open_project(world.root, Actor(role="agent", client="test")))
    assert isinstance(done, Settlement), done
    assert (done.verdict.kind, done.verdict.concerns) == (Kind.ACCEPTED, ())
