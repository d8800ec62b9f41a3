from __future__ import annotations

from pathlib import Path

import pytest

from support.killing import rehearse
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_green_live_world
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import Denied, TestsBlocked
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.value import replace
from verdigris.turns.aside import lay_back
from verdigris.turns.claim_check import Claimed
from verdigris.turns.refactor import begin, end
from verdigris.turns.skip import SkippedTests, skip_blocked
from verdigris.turns.test_bug import report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")

ADD_ID = "tests/test_add.py::test_add"
MUL_ID = "tests/test_sub.py::test_mul"
TEST_MUL = "\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"
WRONG = "\n\ndef sub(a, b):\n    return b\n"
MARK = '@pytest.mark.skip(reason="blocked: nobody knows how")\n'
MARKED = TEST_SUB.replace("import calc", "import pytest\nimport calc").replace("def test", f"{MARK}def test")


def skipped(world: World, *test_ids: str) -> SkippedTests:
    done = skip_blocked(world.project, test_ids or (SUB_ID,), "nobody knows how")
    assert isinstance(done, SkippedTests), done
    return done


def refused(world: World, *test_ids: str, role: str = "person") -> Deny:
    project = replace(world.project, actor=Actor(role=role, client="test"))
    done = skip_blocked(project, test_ids or (SUB_ID,), "nobody knows how")
    assert isinstance(done, Deny), done
    assert done.next
    return done


def blocked(world: World) -> None:
    """The usual red, given up."""
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    skipped(world)


def claimed_or_not(world: World, test_id: str) -> Claimed | Deny:
    world.test(test_id)
    return world.claim(test_id, "calc.py")


# -- what it does


def test_a_test_that_was_given_up_stays_in_its_file_marked_and_its_red_ends(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert skipped(world) == SkippedTests((SUB_ID,), ("tests/test_sub.py",), {})
    assert world.read("tests/test_sub.py") == MARKED
    assert (world.state.reds, world.state.phase) == ({}, Phase.RED)
    (told,) = world.events(TestsBlocked)
    assert isinstance(told, TestsBlocked)
    assert (told.tests, told.why, told.paths) == ((SUB_ID,), "nobody knows how", ("tests/test_sub.py",))


def test_asking_twice_is_asking_once_until_the_test_runs_again(world: World) -> None:
    blocked(world)
    assert skipped(world) == SkippedTests((SUB_ID,), (), {})
    world.test()
    assert list(world.state.blocked) == [SUB_ID]
    world.write("tests/test_sub.py", TEST_SUB)
    world.test()
    assert world.state.blocked == {}
    assert skipped(world).paths == ("tests/test_sub.py",)
    assert len(world.events(TestsBlocked)) == 2


def test_the_next_turn_goes_on_with_the_skipped_test_in_the_file(tmp_path: Path) -> None:
    world = make_green_live_world(tmp_path / "repo")
    world.write("calc.py", CALC + WRONG)
    assert not world.settle().verdict.accepted
    lay_back(world.project, world.state.turn.tree if world.state.turn else "", "stuck")
    world.test(SUB_ID)
    skipped(world)

    world.write("tests/test_sub.py", MARKED + TEST_MUL)
    assert isinstance(claimed_or_not(world, MUL_ID), Claimed)
    world.write("calc.py", CALC + MUL)
    verdict = world.settle().verdict
    assert (verdict.accepted, verdict.reasons, verdict.concerns) == (True, (), ())


def test_taking_the_mark_away_is_allowed_and_the_test_is_red_again(world: World) -> None:
    blocked(world)
    world.write("tests/test_sub.py", TEST_SUB)
    assert isinstance(claimed_or_not(world, SUB_ID), Claimed)
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted


def test_all_cases_of_a_table_are_skipped_by_one_mark_and_so_end_together(world: World) -> None:
    table = "@pytest.mark.parametrize('n', [1, 2])\ndef test_sub(n):\n    assert calc.sub(n, n) == 0\n"
    world.write("tests/test_sub.py", f"import calc\nimport pytest\n\n\n{table}")
    world.test("tests/test_sub.py")
    assert skipped(world, f"{SUB_ID}[1]").tests == (f"{SUB_ID}[1]", f"{SUB_ID}[2]")
    assert world.state.reds == {}


def test_a_report_about_the_test_is_closed_with_it(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    report_bug(world.project, [SUB_ID], "it asks for the moon", cwd=world.root)
    skipped(world)
    assert world.state.test_bugs == {}


def test_a_test_that_cannot_be_marked_stays_red_and_is_named(world: World) -> None:
    made = "import calc\n\n\nfor n in (1, 2):\n    def check():\n        assert calc.sub(1, 1) == 0\n"
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("tests/test_made.py", f"{made}    globals()[f'test_{{n}}'] = check\n")
    world.test()
    done = skipped(world, SUB_ID, "tests/test_made.py::test_1")
    assert (done.tests, list(done.unmarked)) == ((SUB_ID,), ["tests/test_made.py::test_1"])
    assert "tests/test_made.py::test_1" in world.state.reds
    assert SUB_ID not in world.state.reds


def test_a_mark_that_would_skip_a_case_which_passed_is_not_made(world: World) -> None:
    table = "@pytest.mark.parametrize('n', [1{}])\ndef test_sub(n):\n    assert calc.add(n, 0) == 1\n"
    rows = f"import calc\nimport pytest\n\n\n{table}"
    world.write("tests/test_sub.py", rows.format(""))
    world.test()
    world.write("tests/test_sub.py", rows.format(", 2"))
    world.test("tests/test_sub.py")
    done = skipped(world, f"{SUB_ID}[2]")
    assert done.tests == ()
    assert f"{SUB_ID}[1] too" in done.unmarked[f"{SUB_ID}[2]"]
    assert world.events(TestsBlocked) == []


# -- when it is refused


def test_no_agent_skips_a_test(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    assert refused(world, role="agent").rule == "not-an-agents"
    assert (world.read("tests/test_sub.py"), list(world.state.reds)) == (TEST_SUB, [SUB_ID])
    assert world.events(Denied)


def test_only_in_red(green: World) -> None:
    assert refused(green).rule == "not-in-phase"


def test_only_a_test_that_is_red_now(world: World) -> None:
    assert refused(world, ADD_ID).rule == "no-red"


def test_never_a_test_that_was_accepted(green: World) -> None:
    green.write("calc.py", CALC + SUB)
    assert green.settle().verdict.accepted
    green.write("tests/test_sub.py", TEST_SUB.replace("== 2", "== 3"))
    green.test(SUB_ID)
    assert refused(green).rule == "passed-before"


def test_never_a_test_that_passed_with_the_whole_suite(world: World) -> None:
    world.test()
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "== 6"))
    world.test(ADD_ID)
    assert refused(world, ADD_ID).rule == "passed-before"


def test_not_on_a_red_of_another_text_or_with_edits_that_no_claim_covers(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.test(SUB_ID)
    world.write("tests/test_sub.py", TEST_SUB + "\n")
    assert refused(world).rule == "stale-red"
    world.write("calc.py", CALC + WRONG)
    world.test(SUB_ID)
    assert refused(world).rule == "source-before-red"


def test_it_covers_no_loss_of_the_suite(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "> 0"))
    world.test(SUB_ID)
    assert refused(world).rule == "weakened"


def test_a_reason_is_needed(world: World) -> None:
    with pytest.raises(UserError, match="reason"):
        skip_blocked(world.project, [SUB_ID], " ")


# -- nobody else

NOBODYS = {
    "deletes it": ({"tests/test_sub.py": "import calc\n" + TEST_MUL}, "removed"),
    "loosens it": ({"tests/test_sub.py": MARKED.replace("== 2", "> 0") + TEST_MUL}, "weaker"),
    "skips another": (
        {
            "tests/test_sub.py": MARKED + TEST_MUL,
            "tests/test_add.py": f"import pytest\n{TEST_ADD}".replace("def ", f"{MARK}def "),
        },
        "skipped",
    ),
    "moves the mark": (
        {
            "tests/test_sub.py": TEST_SUB + TEST_MUL,
            "tests/test_add.py": f"import pytest\n{TEST_ADD}".replace("def ", f"{MARK}def "),
        },
        "skipped",
    ),
    "moves the mark to a renamed test": (
        {
            "tests/test_sub.py": TEST_SUB + TEST_MUL,
            "tests/test_add.py": f"import pytest\n{TEST_ADD}".replace("def test_add", f"{MARK}def test_sum"),
        },
        "skipped",
    ),
}


@pytest.mark.parametrize("who", NOBODYS)
def test_whoever_does_more_than_the_kernel_did_is_refused(world: World, who: str) -> None:
    files, kind = NOBODYS[who]
    blocked(world)
    for path, text in files.items():
        world.write(path, text)
    denied = claimed_or_not(world, MUL_ID)
    assert isinstance(denied, Deny), denied
    assert denied.rule == "weakened"
    assert f": {kind}:" in denied.reason


def test_a_refactor_does_not_move_the_mark_either(world: World) -> None:
    blocked(world)
    assert not isinstance(begin(world.project, uncovered=False), Deny)
    world.write("tests/test_add.py", f"import pytest\n{TEST_ADD}".replace("def ", f"{MARK}def "))
    world.write("tests/test_sub.py", TEST_SUB)
    done = end(world.project)
    assert not isinstance(done, Deny)
    assert not done.verdict.accepted


# -- kills


def test_a_kill_at_any_step_leaves_the_test_as_it_was_or_marked_and_recorded(
    world: World, tmp_path: Path
) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    done = rehearse(
        world,
        tmp_path,
        lambda w: skip_blocked(w.project, [SUB_ID], "nobody knows how"),
        again=True,
        keeps=False,
    )
    old, new = done.resting
    assert done.kills > 4
    assert (old.files["tests/test_sub.py"][1], new.files["tests/test_sub.py"][1]) == (
        TEST_SUB.encode(),
        MARKED.encode(),
    )
    assert old.state.ground != new.state.ground
    assert (old.state.blocked, new.state.blocked) == ({}, {SUB_ID: "nobody knows how"})
