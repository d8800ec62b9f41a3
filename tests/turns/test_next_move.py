"""One next move: whatever prints one prints the same, and it is accepted when it is typed as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Cli
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.gates.prompts import describe_standing
from verdigris.storage.project import Project, open_project
from verdigris.turns.aside import lay_unclaimed_aside, restore, restore_frozen
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed
from verdigris.turns.completion import gather_work
from verdigris.turns.next_move import following_move
from verdigris.turns.person import switch_off
from verdigris.turns.refactor import begin
from verdigris.turns.settle import settle
from verdigris.turns.stub import Stubbed, write_stubs
from verdigris.turns.survey import survey
from verdigris.turns.test_bug import Reported, report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")

DENIED, MISUSED, FAULT = 3, 2, 70
MUL_ID = "tests/test_mul.py::test_mul"
TEST_MUL = TEST_SUB.replace("sub", "mul").replace("5, 3) == 2", "5, 3) == 15")
TEST_NEW = "from cart import total\n\n\ndef test_total():\n    assert total([2]) == 2\n"


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "s1", "claude"))


def bare_claim(world: World) -> Claimed | Deny:
    return claim(world.project, (), (), cwd=world.root)


# -- stories: each ends with what the last verb named, or with nothing -------------------------------------


def nothing_yet(world: World) -> str:
    return world.test().next


def one_red(world: World) -> str:
    world.write("tests/test_sub.py", TEST_SUB)
    return world.test().next


def reds_of_two_files(world: World) -> str:
    world.write("tests/test_mul.py", TEST_MUL)
    return one_red(world)


def a_red_of_an_older_tree(world: World) -> str:
    one_red(world)
    world.write("tests/test_mul.py", TEST_MUL)
    return world.test(MUL_ID).next


def a_test_that_does_not_load(world: World) -> str:
    world.write("tests/test_cart.py", TEST_NEW)
    return world.test("tests/test_cart.py").next


def stubs_written(world: World) -> str:
    a_test_that_does_not_load(world)
    done = write_stubs(world.project, "tests/test_cart.py", cwd=world.root)
    assert isinstance(done, Stubbed)
    return done.next


def a_test_that_does_not_parse(world: World) -> str:
    world.write("tests/test_cart.py", "def test_total(:\n")
    return world.test("tests/test_cart.py").next


def source_first(world: World) -> str:
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)
    return world.test(SUB_ID).next


def source_set_aside(world: World) -> str:
    source_first(world)
    assert not isinstance(lay_unclaimed_aside(world.project), Deny)
    return ""


def a_weaker_suite(world: World) -> str:
    world.write("tests/test_add.py", TEST_ADD.replace("assert calc.add(2, 3) == 5", "calc.add(2, 3)"))
    return world.test().next


def a_claim(world: World) -> str:
    one_red(world)
    assert isinstance(bare_claim(world), Claimed)
    return ""


def edited_under_a_claim(world: World) -> str:
    a_claim(world)
    world.write("calc.py", CALC + SUB)
    return ""


def still_red(world: World) -> str:
    a_claim(world)
    world.write("calc.py", CALC + SUB.replace("a - b", "b - a"))
    return world.settle().next


def struck_out(world: World) -> str:
    still_red(world)
    world.write("calc.py", CALC + SUB.replace("a - b", "b - b"))
    settled = world.settle()
    assert settled.aside
    assert settled.footer.endswith(f"next: {settled.next}")
    return settled.next


def struck_out_and_claimed_again(world: World) -> str:
    struck_out(world)
    world.test(SUB_ID)
    world.claim(SUB_ID)
    return ""


def accepted(world: World) -> str:
    edited_under_a_claim(world)
    settled = world.settle()
    assert settled.verdict.accepted
    assert settled.footer.endswith(f"next: {settled.next}")
    return settled.next


def frozen_data_changed(world: World) -> str:
    world.write("tests/data/cart.csv", "1,2\n")
    edited_under_a_claim(world)
    world.write("tests/data/cart.csv", "1,3\n")
    return world.settle().next


def a_wrong_test(world: World) -> str:
    edited_under_a_claim(world)
    assert isinstance(report_bug(world.project, ["tests/test_sub.py:5"], "why", cwd=world.root), Reported)
    return ""


def a_wrong_test_revised(world: World) -> str:
    a_wrong_test(world)
    world.write("tests/test_sub.py", TEST_SUB.replace("== 2", "== 1"))
    return ""


def a_wrong_test_revised_and_run(world: World) -> str:
    a_wrong_test_revised(world)
    return world.test(SUB_ID).next


def a_wrong_test_gone(world: World) -> str:
    a_wrong_test(world)
    (world.root / "tests/test_sub.py").unlink()
    return ""


def settled_too_early(world: World) -> str:
    one_red(world)
    denied = settle(world.project)
    assert isinstance(denied, Deny)
    return denied.next


def claimed_too_early(world: World) -> str:
    source_first(world)
    denied = bare_claim(world)
    assert isinstance(denied, Deny)
    return denied.next


def a_refactor(world: World) -> str:
    assert not isinstance(begin(world.project, uncovered=False), Deny)
    return ""


def switched_off(world: World) -> str:
    assert switch_off(world.project, "spike") is None
    return ""


def an_unfinished_merge(world: World) -> str:
    one_red(world)
    (world.root / ".git/MERGE_HEAD").write_text("")
    return ""


STORIES = [
    nothing_yet,
    one_red,
    reds_of_two_files,
    a_red_of_an_older_tree,
    a_test_that_does_not_load,
    stubs_written,
    a_test_that_does_not_parse,
    source_first,
    source_set_aside,
    a_weaker_suite,
    a_claim,
    edited_under_a_claim,
    still_red,
    struck_out,
    struck_out_and_claimed_again,
    accepted,
    frozen_data_changed,
    a_wrong_test,
    a_wrong_test_revised,
    a_wrong_test_revised_and_run,
    a_wrong_test_gone,
    settled_too_early,
    claimed_too_early,
    a_refactor,
    switched_off,
    an_unfinished_merge,
]
PLACEHOLDERS = re.compile(r"\b(?:ID|PATH|LINE|WHY|FILE|TEST_ID|GIT|BRANCH)\b|…")


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_everything_that_prints_a_next_move_prints_the_same_and_it_can_be_typed(
    tmp_path: Path, story: Callable[[World], str]
) -> None:
    world = make_world(tmp_path / "repo")
    named = story(world)
    move = survey(world.project).next
    assert named in {"", move}
    assert following_move(world.project, world.state) == move
    assert describe_standing(world.project).endswith(f"; next: {move}")
    theirs = following_move(agent(world), world.state)
    assert survey(agent(world)).next == theirs
    assert describe_standing(agent(world)).endswith(f"; next: {theirs}")
    assert not PLACEHOLDERS.search(f"{move} {theirs}")
    if command := re.match(r"`([^`]+)`", move):
        before = world.state, world.project.workspace.snapshot()
        ran = Cli(world.repo).tdd(*shlex.split(command[1])[1:])
        assert ran.code not in {DENIED, MISUSED, FAULT}, (move, ran)
        after = survey(world.project)
        assert after.next != move or (world.state, world.project.workspace.snapshot()) != before
        assert f"next: {after.next}" in ran.out, (move, ran)


def test_an_agent_edits_at_once_and_its_edit_claims_all_reds_of_this_change(world: World) -> None:
    reds_of_two_files(world)
    both = f"these 2 tests: {MUL_ID}, {SUB_ID}"
    assert following_move(agent(world), world.state) == f"edit the source: it claims {both}"
    assert following_move(world.project, world.state) == f"`tdd claim` claims {both}"


def test_another_agents_red_is_never_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    from verdigris.turns import claim_check
    from verdigris.turns.test import run_tests

    run_tests(open_project(world.root, Actor("agent", "s2", "claude")), (), cwd=world.root)
    assert following_move(agent(world), world.state) == f"`tdd claim {SUB_ID}`"
    monkeypatch.setattr(claim_check, "at_work", lambda *_: frozenset({"s1", "s2"}))
    assert SUB_ID not in following_move(agent(world), world.state)


def test_a_frozen_file_is_put_back_and_what_had_been_written_is_kept(world: World) -> None:
    frozen_data_changed(world)
    assert "(`tdd restore tests/data/cart.csv`), then `tdd settle`" in survey(world.project).next
    assert restore_frozen(world.project, ["tests/data/cart.csv"]) == ("tests/data/cart.csv",)
    assert world.read("tests/data/cart.csv") == "1,2\n"
    assert "1,3" in Cli(world.repo).ok("displaced", "tests/data/cart.csv").out
    assert world.settle().verdict.accepted


def test_an_agent_puts_a_frozen_file_back_as_a_person_does(world: World) -> None:
    a_claim(world)
    world.write("tests/test_sub.py", "")
    assert restore_frozen(agent(world), ["tests"]) == ("tests/test_sub.py",)
    assert world.read("tests/test_sub.py") == TEST_SUB


def test_a_denied_edit_of_a_frozen_test_names_the_line_that_failed(world: World) -> None:
    from verdigris.turns.write import write

    a_claim(world)
    denied = write(agent(world), {"tests/test_sub.py": b""}, cwd=world.root)
    assert isinstance(denied, Deny)
    assert "tdd test-bug tests/test_sub.py:5, and why" in denied.next


def test_in_green_what_the_edit_broke_is_no_red(world: World) -> None:
    world.test()
    a_claim(world)
    world.write("calc.py", CALC.replace("a + b", "a") + SUB)
    ran = Cli(world.repo).tdd("test")
    assert "fail tests/test_add.py::test_add  broken by this edit" in ran.out
    (broken,) = [
        one for one in Cli(world.repo).tdd("test", "--json").json["tests"] if one["status"] == "fail"
    ]
    assert broken["red"] == "broken-by-edit"
    denied = world.claim("tests/test_add.py::test_add")
    assert isinstance(denied, Deny)
    assert denied.rule == "red-broken-by-edit"


OLD = "import calc\n\n\ndef test_old():\n    assert calc.add(1, 1) == 3\n"


def test_a_known_failure_is_listed_apart_and_claimed_by_its_name_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"tests/test_old.py": OLD})
    told = Cli(world.repo).tdd("test").out
    assert "known failures" in told
    assert survey(world.project).next.startswith("write one failing test")
    denied = bare_claim(world)
    assert isinstance(denied, Deny)
    assert denied.rule == "which-red"
    world.write("tests/test_sub.py", TEST_SUB)
    (one, other) = sorted(Cli(world.repo).tdd("test", "--json").json["tests"], key=lambda t: str(t["id"]))[1:]
    assert (one["known"], other["known"]) == (True, False)
    made = bare_claim(world)
    assert isinstance(made, Claimed)
    assert made.test_ids == (SUB_ID,)


def test_a_known_failure_that_is_changed_or_stands_beside_a_new_test_is_told_apart(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"tests/test_old.py": OLD})
    world.write("tests/test_old.py", OLD + "\n\ndef test_new():\n    assert calc.add(1, 1) == 4\n")
    world.test()
    assert [red.test_id for red in world.state.brought_reds] == ["tests/test_old.py::test_new"]
    world.write("tests/test_old.py", OLD.replace("== 3", "== 5"))
    world.test()
    assert [red.test_id for red in world.state.brought_reds] == ["tests/test_old.py::test_old"]


def test_a_red_that_was_seen_and_committed_is_still_this_changes(world: World) -> None:
    one_red(world)
    world.repo.commit("a red")
    world.test()
    assert [red.test_id for red in world.state.brought_reds] == [SUB_ID]


def test_what_is_set_aside_comes_back_in_red_at_a_persons_word(world: World) -> None:
    source_first(world)
    laid = lay_unclaimed_aside(world.project)
    assert laid is not None
    assert not isinstance(laid, Deny)
    assert isinstance(restore(agent(world), laid.id), Deny)
    assert restore(world.project, laid.id) == ("calc.py",)


def test_files_whose_tests_run_are_never_set_aside(world: World) -> None:
    world.write("pytest.ini", "[pytest]\npython_files = tests.py test_*.py\n")
    world.write("calc.py", CALC + MUL)
    world.write("app/tests.py", TEST_SUB)
    world.test()
    assert world.state.reds["app/tests.py::test_sub"].why == "valid"
    laid = lay_unclaimed_aside(world.project)
    assert laid is not None
    assert not isinstance(laid, Deny)
    assert laid.paths == ("calc.py",)


def test_a_file_that_is_run_and_is_no_test_is_named_to_a_person(world: World) -> None:
    """An agent's command does not take over what the runner's configuration says by now."""
    from verdigris.turns.test import run_tests

    world.write("pytest.ini", "[pytest]\npython_files = tests.py test_*.py\n")
    world.write("app/tests.py", TEST_SUB)
    run_tests(agent(world), (), cwd=world.root)
    assert "app/tests.py under `test:`" in following_move(agent(world), world.state)
    assert lay_unclaimed_aside(agent(world)) is None
    assert (world.root / "app/tests.py").exists()
    assert gather_work(world.project).unclaimed == ()


def test_source_without_a_test_stays_source_whatever_the_runners_configuration_says(world: World) -> None:
    world.write("pytest.ini", "[pytest]\npython_files = calc.py test_*.py\n")
    assert world.project.classify("calc.py") == "source"
    world.write("calc.py", CALC + "\n\ndef test_itself():\n    assert add(1, 1) == 2\n")
    world.write("pytest.ini", "[pytest]\npython_files = calc.py tests_*.py\n")
    assert world.project.classify("calc.py") == "test"


def test_while_a_turn_is_open_nothing_is_classified_anew(world: World) -> None:
    a_claim(world)
    world.write("pytest.ini", "[pytest]\npython_files = odd.py test_*.py\n")
    assert world.project.classify("odd.py") == "source"
    assert world.state.phase is Phase.GREEN


def test_a_known_failure_stays_known_through_a_turn(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"tests/test_old.py": OLD})
    world.write("tests/test_sub.py", TEST_SUB)
    world.claimed()
    world.write("calc.py", CALC + SUB)
    world.test()
    assert world.settle().verdict.accepted
    assert [red.known for red in world.state.reds.values()] == [True]
    assert survey(world.project).next.startswith("write one failing test")
    world.test()
    assert [red.known for red in world.state.reds.values()] == [True]


def test_a_red_that_a_turn_left_out_is_still_this_changes(world: World) -> None:
    reds_of_two_files(world)
    world.claim(SUB_ID)
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    assert survey(world.project).next in {f"`tdd claim {MUL_ID}`", f"`tdd test {MUL_ID}`"}
    assert [red.test_id for red in world.state.brought_reds] == [MUL_ID]


def test_a_verdict_of_tampered_judged_nothing(world: World) -> None:
    frozen_data_changed(world)
    restore_frozen(world.project, ["tests/data/cart.csv"])
    assert survey(world.project).next == "`tdd settle`"
