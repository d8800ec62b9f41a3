from __future__ import annotations

from pathlib import Path

import pytest

from support.meanwhile import meanwhile
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.cli.testing import report_document, report_lines
from verdigris.cli.worktree import survey_document, survey_lines
from verdigris.core.actions import Deny
from verdigris.core.errors import UnknownTest, UserError
from verdigris.core.events import Characterized, SuiteRun, TestRun
from verdigris.core.policy.next_move import FIRST_MOVE
from verdigris.core.report import RunEnd, Status
from verdigris.turns.settle import settle
from verdigris.turns.survey import survey
from verdigris.turns.test_record import MOVED


def outcomes(world: World, *words: str) -> dict[str, tuple[str, str | None]]:
    return {run.test_id: (str(run.status), run.red) for run in world.test(*words).tests}


def test_a_valid_red_is_recorded_against_the_tree(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    tested = world.test(SUB_ID)
    (run,) = tested.tests
    assert (run.status, run.red, tested.passed) == (Status.FAIL, "valid", False)
    red = world.state.reds[SUB_ID]
    assert red.tree == world.project.workspace.snapshot()
    assert tested.next == f"`tdd claim {SUB_ID}`"


def test_files_that_hold_tests_and_are_not_collected_are_named(world: World) -> None:
    """Helpers hold none, and a file that is named says nothing of the others."""
    world.write("tests/sub_checks.py", TEST_SUB)
    world.write("tests/helpers.py", "def checked(value):\n    assert value\n")
    tested = world.test()
    assert tested.uncollected == {"pytest": ("tests/sub_checks.py",)}
    (shown,) = [line.text for line in report_lines(tested) if "sub_checks" in line.text]
    assert "pytest collects no test of tests/sub_checks.py: it takes test_*.py" in shown
    assert report_document(tested)["uncollected"] == {"pytest": ["tests/sub_checks.py"]}
    assert world.test("tests/test_add.py").uncollected == {}


def test_all_passed(world: World) -> None:
    tested = world.test()
    assert tested.passed
    (suite,) = world.events(SuiteRun)
    assert isinstance(suite, SuiteRun)
    assert (suite.passed, suite.failed) == (1, 0)


def test_a_red_is_not_run_twice_on_one_tree(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    first = world.test(SUB_ID)
    again = world.test(SUB_ID)
    assert first.report is not None
    assert again.report is None
    assert [(r.test_id, r.red) for r in again.tests] == [(SUB_ID, "valid")]
    assert len(world.events(TestRun)) == 1
    world.write("tests/test_sub.py", TEST_SUB + "# changed\n")
    assert world.test(SUB_ID).report is not None


PINNED = "from calc import add\n\n\ndef test_add_of_zero():\n    assert add(0, 5) == 5\n"
PINNED_ID = "tests/test_zero.py::test_add_of_zero"


def test_new_tests_that_pass_at_once_are_recorded_as_characterization_tests(world: World) -> None:
    world.write("tests/test_zero.py", PINNED)
    tested = world.test("tests/test_zero.py")
    assert tested.characterized == (PINNED_ID,)
    (event,) = world.events(Characterized)
    assert isinstance(event, Characterized)
    assert (event.test_ids, world.state.characterized) == ((PINNED_ID,), (PINNED_ID,))
    assert "1 characterization test" in "\n".join(line.text for line in report_lines(tested))
    assert report_document(tested)["characterized"] == [PINNED_ID]
    assert world.test("tests/test_zero.py").characterized == ()
    assert any("characterization" in line.text for line in survey_lines(survey(world.project)))
    assert survey_document(survey(world.project))["characterized"] == [PINNED_ID]


def test_tests_that_were_there_and_tests_of_changed_source_characterize_nothing(world: World) -> None:
    assert world.test().characterized == ()
    world.write("tests/test_add.py", f"{world.read('tests/test_add.py')}\n# a note\n")
    assert world.test("tests/test_add.py").characterized == ()
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_zero.py", PINNED)
    assert world.test().characterized == ()
    assert world.events(Characterized) == []


def test_an_unknown_id_offers_the_nearest(world: World) -> None:
    with pytest.raises(UnknownTest) as caught:
        world.test("tests/test_add.py::test_ad")
    assert "tests/test_add.py::test_add" in (caught.value.hint or "")
    with pytest.raises(UnknownTest) as caught:
        world.test("tests/test_adder.py")
    assert "tests/test_add.py" in (caught.value.hint or "")
    assert world.events(TestRun) == []


def test_files_folders_and_ids_from_where_one_stands(world: World) -> None:
    from verdigris.turns.test import run_tests

    tested = run_tests(world.project, ["test_add.py::test_add"], cwd=world.root / "tests")
    assert [r.test_id for r in tested.tests] == ["tests/test_add.py::test_add"]
    assert outcomes(world, "tests") == {"tests/test_add.py::test_add": ("pass", None)}


SLUGGED = TEST_SUB.replace("def test_sub", "# @tdd-id: minus\ndef test_sub")


def test_a_slug_names_a_test_and_survives_its_renaming(world: World) -> None:
    world.write("tests/test_sub.py", SLUGGED)
    assert outcomes(world, "minus") == {"minus": ("fail", "valid")}
    (run,) = world.events(TestRun)
    assert isinstance(run, TestRun)
    assert (run.test_id_source, run.native_id) == ("annotation", SUB_ID)
    world.write("tests/test_sub.py", SLUGGED.replace("test_sub()", "test_takes_away()"))
    assert outcomes(world, "minus") == {"minus": ("fail", "valid")}


def test_a_slug_used_twice_names_both_places(world: World) -> None:
    world.write("tests/test_sub.py", SLUGGED)
    world.write("tests/test_other.py", SLUGGED)
    for words in ((), ("minus",)):
        with pytest.raises(UserError, match=r"tests/test_other\.py:4 and tests/test_sub\.py:4"):
            world.test(*words)


def test_a_test_in_a_source_file_is_no_red(world: World) -> None:
    world.write("calc.py", CALC + "\n\ndef test_here():\n    assert False\n")
    assert outcomes(world, "calc.py") == {"calc.py::test_here": ("fail", "not-a-test")}


BASE = "class Contract:\n    def test_first(self):\n        assert self.make([7]).first() == 7\n"
INHERITING = """\
import calc
from base import Contract


class TestBox(Contract):
    def make(self, v):
        return calc.Box(v)
"""


def test_an_inherited_test_asserts_where_it_is_written(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"pytest.ini": "[pytest]\npythonpath = tests .\n"})
    world.write("tests/base.py", BASE)
    world.write("tests/test_box.py", INHERITING)
    assert outcomes(world, "tests/test_box.py") == {
        "tests/test_box.py::TestBox::test_first": ("fail", "valid")
    }


def test_a_failed_call_is_not_made_an_error_by_its_teardown(world: World) -> None:
    fixture = "@pytest.fixture(autouse=True)\ndef clear():\n    yield\n    calc.sub.cache_clear()\n\n\n"
    world.write("tests/test_sub.py", "import pytest\n\n" + TEST_SUB.replace("def test", fixture + "def test"))
    assert outcomes(world, SUB_ID) == {SUB_ID: ("fail", "valid")}


def test_a_run_during_which_the_tree_moved_proves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    meanwhile(monkeypatch, lambda: world.write("calc.py", CALC + "# more\n"))
    assert outcomes(world, SUB_ID) == {SUB_ID: ("fail", MOVED)}


def test_a_file_that_does_not_load_is_not_passed(world: World) -> None:
    world.write("tests/test_sub.py", "import nothing_of_the_kind\n")
    tested = world.test()
    assert not tested.passed
    assert tested.report is not None
    assert [e.path for e in tested.report.errors] == ["tests/test_sub.py"]


def test_a_hanging_test_is_a_timeout_and_no_red(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", "room:\n  timeout: 6\n")
    world.write("tests/test_sub.py", "import time\n\n\ndef test_sub():\n    time.sleep(60)\n")
    tested = world.test(SUB_ID)
    assert tested.report is not None
    assert tested.report.ended is RunEnd.TIMEOUT
    assert [(r.status, r.red) for r in tested.tests] == [(Status.ERROR, "timeout")]


def test_only_skips_have_not_passed(world: World) -> None:
    world.write(
        "tests/test_sub.py", "import pytest\n\n\n@pytest.mark.skip\ndef test_sub():\n    assert True\n"
    )
    assert not world.test(SUB_ID).passed
    assert world.test().passed


def test_a_large_run_keeps_its_passes_in_one_record(world: World) -> None:
    many = (
        "import pytest\n\n\n@pytest.mark.parametrize('n', range(250))\ndef test_many(n):\n    assert n != 7\n"
    )
    world.write("tests/test_many.py", many)
    tested = world.test()
    assert len(tested.tests) == 251
    assert [e.test_id for e in world.events(TestRun) if isinstance(e, TestRun)] == [
        "tests/test_many.py::test_many[7]"
    ]
    (suite,) = world.events(SuiteRun)
    assert isinstance(suite, SuiteRun)
    assert (suite.passed, suite.failed) == (250, 1)


def test_assertion_rule_takes_assertions_only(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", "red: assertion\n")
    world.write("tests/test_sub.py", TEST_SUB)
    assert outcomes(world, SUB_ID) == {SUB_ID: ("fail", "assertion-only")}
    world.write("calc.py", CALC + SUB.replace("a - b", "None"))
    assert outcomes(world, SUB_ID) == {SUB_ID: ("fail", "valid")}


TWO = TEST_SUB + "\n\ndef test_mul():\n    assert calc.mul(5, 3) == 15\n"


def test_a_red_whose_text_is_deleted_ends_whatever_is_run(world: World) -> None:
    world.write("tests/test_sub.py", TWO)
    world.test()
    assert len(world.state.reds) == 2
    world.write("tests/test_sub.py", TEST_SUB)
    world.test("tests/test_add.py")
    assert list(world.state.reds) == [SUB_ID]


def test_a_red_lives_on_while_its_file_does_not_parse(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    world.write("tests/test_sub.py", TEST_SUB + "def (\n")
    world.test("tests/test_add.py")
    assert list(world.state.reds) == [SUB_ID]


def test_a_red_ends_when_its_file_is_gone_whatever_is_run(world: World) -> None:
    world.write("tests/test_sub.py", TWO)
    world.test()
    (world.root / "tests/test_sub.py").unlink()
    assert world.test("tests/test_add.py").next == FIRST_MOVE
    assert world.state.reds == {}


def test_asking_for_a_test_that_is_gone_ends_its_red(world: World) -> None:
    world.write("tests/test_sub.py", TWO)
    world.test()
    world.write("tests/test_sub.py", TEST_SUB)
    with pytest.raises(UnknownTest):
        world.test("tests/test_sub.py::test_mul")
    assert list(world.state.reds) == [SUB_ID]


def test_the_next_move_names_all_reds_and_runs_those_of_another_tree_again(world: World) -> None:
    world.write("tests/test_sub.py", TWO)
    world.test("tests/test_sub.py::test_mul")
    both = f"tests/test_sub.py::test_mul, {SUB_ID}"
    assert world.test(SUB_ID).next == f"`tdd claim` claims these 2 tests: {both}"
    world.write("calc.py", CALC + "# a comment\n")
    assert world.test("tests/test_add.py").next == f"`tdd test {both.replace(',', '')}`"


def test_edits_before_the_red_and_losses_of_the_suite_come_before_its_claim(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("calc.py", CALC + MUL)
    world.red_by_record(SUB_ID)
    assert survey(world.project).next.startswith("`tdd aside` sets aside what was edited")
    world.write("calc.py", CALC)
    world.write("tests/test_add.py", "")
    world.red_by_record(SUB_ID)
    assert survey(world.project).next.startswith("put back what tests/test_add.py lost")


def test_an_unfinished_merge_comes_first_and_under_a_turn_it_is_a_persons_to_end(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    merging = world.root / ".git" / "MERGE_HEAD"
    merging.write_text("")
    assert "`tdd sync -- merge --abort`" in survey(world.project).next
    merging.unlink()
    world.green_by_record()
    merging.write_text("")
    assert "`git merge --abort`" in survey(world.project).next
    denied = settle(world.project)
    assert isinstance(denied, Deny)
    assert "`git merge --abort`" in denied.next


def test_a_settlement_ends_every_red_that_it_sees_pass(world: World) -> None:
    world.write("tests/test_sub.py", TWO)
    world.test()
    claimed = world.claim(SUB_ID, "calc.py")
    assert not isinstance(claimed, Deny)
    world.write("calc.py", CALC + SUB + MUL)
    assert world.settle().verdict.accepted
    assert world.state.reds == {}


def test_a_red_whose_file_no_snapshot_holds_is_no_red(world: World) -> None:
    world.write("tests/package.json", "{}")
    world.write("tests/node_modules/test_sub.py", TEST_SUB)
    test_id = "tests/node_modules/test_sub.py::test_sub"
    assert outcomes(world, "tests/node_modules/test_sub.py") == {test_id: ("fail", "unrecorded")}
    denied = world.claim(test_id, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "red-unrecorded"
    assert "move the test" in denied.next


@pytest.mark.parametrize("word", ["test_add", "tests.test_add.test_add"])
def test_a_bare_or_dotted_name_will_do_where_one_test_has_it(world: World, word: str) -> None:
    world.test()
    assert outcomes(world, word) == {"tests/test_add.py::test_add": ("pass", None)}


def test_a_name_that_two_tests_have_is_answered_with_both(world: World) -> None:
    world.write("tests/test_again.py", "def test_add():\n    assert True\n")
    world.test()
    with pytest.raises(UnknownTest) as caught:
        world.test("test_add")
    assert "tests/test_add.py::test_add or tests/test_again.py::test_add" in (caught.value.hint or "")
