from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.checks.weakening import find_losses
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import Accepted
from verdigris.core.state import Phase
from verdigris.turns.claim_check import Claimed
from verdigris.turns.survey import survey
from verdigris.turns.test_bug import Reported, close_bug, report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")

WRONG_TEST = TEST_SUB.replace("== 2", "== 3")


def reported(world: World, *places: str) -> Reported:
    done = report_bug(world.project, places, "5 - 3 is 2", cwd=world.root)
    assert isinstance(done, Reported), done
    return done


def test_a_wrong_test_is_reported_and_the_edits_come_back_with_the_revised_one(world: World) -> None:
    world.write("tests/test_sub.py", WRONG_TEST)
    world.claimed()
    world.write("calc.py", CALC + SUB)
    done = reported(world, "tests/test_sub.py:5")
    assert (world.state.phase, world.state.claims) == (Phase.RED, {})
    assert (done.paths, world.read("calc.py")) == (("calc.py",), CALC)
    assert list(world.state.test_bugs) == [done.bug]

    world.test(SUB_ID)
    assert list(world.state.test_bugs) == [done.bug], "an unrevised test closes no report"

    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert world.state.test_bugs == {}
    assert world.claim(SUB_ID, "calc.py") == Claimed((SUB_ID,), ("calc.py",), restored=("calc.py",))
    assert world.read("calc.py") == CALC + SUB
    assert world.settle().verdict.accepted
    (triple,) = world.events(Accepted)
    assert isinstance(triple, Accepted)
    assert world.project.workspace.read(triple.before, "calc.py") == CALC.encode()


def test_a_report_in_red_is_only_recorded(world: World) -> None:
    done = reported(world, "tests/test_add.py:5")
    assert (done.aside, world.state.phase) == (None, Phase.RED)
    assert world.state.test_bugs[done.bug].places == ("tests/test_add.py:5",)
    assert "revise tests/test_add.py::" in survey(world.project).next


def test_a_report_without_edits_just_goes_back_to_red(green: World) -> None:
    reported(green, "tests/test_sub.py:5")
    assert green.state.phase is Phase.RED


def test_it_excuses_the_one_test_at_its_line_and_nothing_else_in_the_file(tmp_path: Path) -> None:
    more = "\n\ndef test_more():\n    assert calc.add(1, 1) == 2\n    assert calc.add(1, 2) == 3\n"
    world = make_world(tmp_path / "repo", **{"tests/test_add.py": TEST_ADD + more})
    world.write("tests/test_sub.py", TEST_SUB)
    reported(world, "tests/test_add.py:5")
    world.write("tests/test_add.py", TEST_ADD + more.replace("    assert calc.add(1, 1) == 2\n", ""))
    world.test(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert "tests/test_add.py:9" in denied.reason


def test_it_excuses_a_revision_and_no_deletion(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    reported(world, "tests/test_add.py:5")
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "> 4"))
    world.test(SUB_ID)
    assert find_losses(world.project, world.state, world.project.workspace.snapshot()).blocking == ()
    (world.root / "tests/test_add.py").unlink()
    (gone,) = find_losses(world.project, world.state, world.project.workspace.snapshot()).blocking
    assert "removed" in gone


def test_a_report_is_closed_by_its_id_and_by_no_other_test_of_the_file(world: World) -> None:
    done = reported(world, "tests/test_add.py::test_add")
    world.write("tests/test_add.py", TEST_ADD + "\n\ndef test_new():\n    assert calc.add(1, 1) == 3\n")
    world.red_by_record("tests/test_add.py::test_new")
    assert list(world.state.test_bugs) == [done.bug]
    with pytest.raises(UserError, match="b7"):
        close_bug(world.project, "b7")
    assert close_bug(world.project, done.bug) == "the test at tests/test_add.py:4 stays as it is"
    assert world.state.test_bugs == {}


PLACES = ["tests/test_add.py", "tests/test_add.py:x", "nowhere.py:3", "calc.py:1", "tests/test_add.py:1"]


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_no_line_of_a_test_is_refused(world: World, place: str) -> None:
    with pytest.raises(UserError):
        report_bug(world.project, [place], "why", cwd=world.root)


# -- how a report ends -------------------------------------------------------------------------------------


CASES = """\
import pytest

import calc


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 2),
        (2, 3),
    ],
)
def test_cases(a, b):
    assert calc.add(a, 1) == b
"""


def next_names_no_report(world: World) -> bool:
    said = survey(world.project).next
    return not said.startswith("revise ") and "test-bug" not in said


def test_a_corrected_test_that_passes_ends_its_report(world: World) -> None:
    world.write("tests/test_zero.py", "import calc\n\n\ndef test_zero():\n    assert calc.add(0, 0) == 1\n")
    reported(world, "tests/test_zero.py:5")
    assert survey(world.project).next.startswith("revise tests/test_zero.py::")
    world.write("tests/test_zero.py", world.read("tests/test_zero.py").replace("== 1", "== 0"))
    assert survey(world.project).next == "`tdd test tests/test_zero.py::test_zero`"
    assert world.test().passed
    assert world.state.test_bugs == {}
    assert next_names_no_report(world)


def test_a_case_taken_out_ends_the_report_of_its_test(world: World) -> None:
    world.write("tests/test_cases.py", CASES.replace("(2, 3)", "(2, 4)"))
    reported(world, "tests/test_cases.py:10")
    world.write("tests/test_cases.py", CASES.replace("        (2, 3),\n", ""))
    world.test()
    assert world.state.test_bugs == {}
    assert next_names_no_report(world)


def test_a_revised_test_ends_its_report_by_a_run_however_that_ends(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    reported(world, "tests/test_sub.py:5")
    world.write("tests/test_sub.py", TEST_SUB.replace("calc.sub", "calc.minus"))
    world.test("tests/test_add.py")
    assert list(world.state.test_bugs) == ["b1"]
    world.test(SUB_ID)
    assert world.state.test_bugs == {}


def test_a_test_that_no_longer_loads_ends_its_report_when_it_is_run(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    reported(world, "tests/test_sub.py:5")
    world.write("tests/test_sub.py", TEST_SUB.replace("import calc", "import calk"))
    world.write("tests/test_sub.py", world.read("tests/test_sub.py").replace("== 2", "== 3"))
    world.test("tests/test_sub.py")
    assert world.state.test_bugs == {}


def test_a_test_that_is_gone_ends_its_report_by_an_edit_and_by_a_commit(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.repo.commit("a red")
    reported(world, "tests/test_sub.py:5")
    world.repo.git("rm", "--quiet", "tests/test_sub.py")
    assert next_names_no_report(world)
    world.repo.commit("without it")
    assert next_names_no_report(world)
    assert close_bug(world.project, "b1") == "the test at tests/test_sub.py:5 is gone"
    reported(world, "tests/test_add.py:5")
    (world.root / "tests/test_add.py").unlink()
    world.write("tests/test_new.py", TEST_ADD.replace("test_add", "test_new"))
    world.test()
    assert world.state.test_bugs == {}


def test_an_acceptance_that_sees_it_pass_ends_its_report(world: World) -> None:
    world.write("tests/test_mul.py", "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 2) == 4\n")
    world.write("tests/test_sub.py", TEST_SUB)
    world.test()
    world.claim(SUB_ID)
    reported(world, "tests/test_mul.py:5")
    world.test()
    world.claim(SUB_ID)
    world.write("calc.py", CALC + SUB + MUL)
    assert world.settle().verdict.accepted
    assert world.state.test_bugs == {}


def test_a_closed_report_still_excuses_the_revision_until_the_next_acceptance(world: World) -> None:
    reported(world, "tests/test_add.py:5")
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "> 4"))
    world.write("tests/test_sub.py", TEST_SUB)
    world.test()
    assert world.state.test_bugs == {}
    assert not isinstance(world.claim(SUB_ID), Deny)
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    assert world.state.reported == ()


def test_a_closed_report_says_what_became_of_the_test(world: World) -> None:
    reported(world, "tests/test_add.py:5")
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "== 6"))
    assert close_bug(world.project, "b1") == "the test at tests/test_add.py:5 was revised"
