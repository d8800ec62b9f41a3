"""What a role may not do comes back to it with the reason, and leaves nothing behind."""

from __future__ import annotations

from support.machines import EMPTY, FIRST, ONE, STUB, TEST, ZERO, Kata, edit, stop
from verdigris.drivers.happenings import Refused, StepEnded

GOOD_ZERO = edit("feat", "zero", {"calculator.py": ZERO})


def refusals(kata: Kata) -> list[str]:
    return [refused.why for refused in kata.of(Refused)]


def test_a_tester_that_answers_junk_is_told_and_tries_again(kata: Kata) -> None:
    kata.plays(step_1_tester=["A plan.", "I would write a test.", '{"verdict": "edit", ', FIRST])
    assert kata.run(1).outcome == "steps-made"
    assert ["no JSON object" in refusals(kata)[0], "cut off" in refusals(kata)[1]] == [True, True]
    assert kata.subjects() == ["test: an empty string is zero"]


def test_a_tester_writes_no_source_and_no_test_that_passes_already(kata: Kata) -> None:
    done = edit("test", "all at once", {TEST: EMPTY, "calculator.py": ZERO})
    passing = edit("test", "nothing new", {TEST: "def test_true():\n    assert 1\n"})
    broken = edit("test", "no such name", {TEST: EMPTY})
    kata.plays(step_1_tester=[done, passing, broken])
    assert kata.run(1).outcome == "blocked"
    assert "STUB:TDD" in refusals(kata)[0]
    assert "no test fails" in refusals(kata)[1]
    assert TEST in refusals(kata)[2]
    assert kata.subjects() == []
    assert kata.repo.git("status", "--porcelain") == ""
    assert kata.project.state().machine.stopped is not None
    assert kata.project.log.verify().whole


def test_an_implementor_leaves_tests_alone(red: Kata) -> None:
    weaker = edit(
        "feat", "an easier test", {TEST: EMPTY.replace("== 0", "is not None"), "calculator.py": ZERO}
    )
    configured = edit(
        "feat", "skip it", {"conftest.py": "collect_ignore = ['tests']\n", "calculator.py": ZERO}
    )
    red.plays(step_2_implementor=[weaker, configured, GOOD_ZERO])
    assert red.run(1).outcome == "steps-made"
    assert TEST in refusals(red)[0]
    assert "conftest.py" in refusals(red)[1]
    assert red.subjects()[-1] == "feat: zero"


def test_what_does_not_pass_is_taken_back_before_the_next_attempt(red: Kata) -> None:
    wrong = edit("feat", "one", {"calculator.py": ZERO.replace("0", "1"), "more.py": "X = 1\n"})
    red.plays(step_2_implementor=[wrong, GOOD_ZERO])
    assert red.run(1).outcome == "steps-made"
    assert "still-red" in refusals(red)[0]
    assert not (red.root / "more.py").exists()


def test_a_refactor_keeps_every_test_and_its_limits(green: Kata) -> None:
    fewer = edit(
        "refactor",
        "fewer tests",
        {TEST: "from calculator import add\n\n\ndef test_empty_is_zero():\n    add('')\n"},
    )
    large = edit("refactor", "large", {"calculator.py": ZERO + "\n" * 401})
    idle = edit("refactor", "unused", {"calculator.py": ZERO + "\n\ndef unused():\n    return 1\n"})
    green.plays(step_3_refactorer=[fewer, large, idle])
    assert green.run(1).outcome == "blocked"
    assert "weakened" in refusals(green)[0]
    assert "lines" in refusals(green)[1]
    assert "%" in refusals(green)[2]
    assert green.repo.read("calculator.py").decode() == ZERO
    assert green.repo.git("status", "--porcelain") == ""


def test_a_stub_alone_is_no_implementation(red: Kata) -> None:
    assert red.repo.read("calculator.py").decode() == STUB
    unchanged = edit("feat", "nothing", {"calculator.py": STUB})
    red.plays(step_2_implementor=[unchanged, GOOD_ZERO])
    assert red.run(1).outcome == "steps-made"
    assert "nothing would change" in refusals(red)[0]


def test_neither_a_move_nor_the_runners_keys_nor_an_exit_make_a_test_pass(red: Kata) -> None:
    moved = {"path": TEST, "action": "move", "intent": "", "content": None, "to": "docs/old.txt"}
    away = edit("feat", "elsewhere", {}, edits=[moved])
    keys = edit("feat", "keys", {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--ignore=tests'\n"})
    leaving = edit("feat", "leave", {"calculator.py": "import os\n\nos._exit(0)\n"})
    red.plays(step_2_implementor=[away, keys, leaving])
    assert red.run(1).outcome == "steps-made"
    assert [TEST in refusals(red)[0], "pyproject.toml" in refusals(red)[1]] == [True, True]
    assert "broken" in refusals(red)[2]
    assert red.of(StepEnded)[-1].outcome == "sent-back"
    assert red.repo.read("calculator.py").decode() == STUB
    assert red.repo.git("status", "--porcelain") == ""
    assert red.project.log.verify().whole


def test_a_refactor_neither_deletes_a_test_nor_changes_behaviour(green: Kata) -> None:
    deleted = edit("refactor", "fewer files", {TEST: None})
    other = edit("refactor", "one is nicer", {"calculator.py": ZERO.replace("0", "1")})
    green.plays(step_3_refactorer=[deleted, other, stop("nothing-to-do", "it is fine")])
    assert green.run(1).outcome == "steps-made"
    assert "keeps every test" in refusals(green)[0]
    assert refusals(green)[1].startswith("regressed: ")
    assert green.repo.read("calculator.py").decode() == ZERO
    assert green.repo.git("status", "--porcelain") == ""


def test_a_tester_asserts_something_and_takes_nothing_away(green: Kata) -> None:
    vain = edit("test", "nothing is asserted", {TEST: EMPTY + "\n\ndef test_one():\n    add('7').missing\n"})
    skipped = ONE.replace("def test_empty", "@pytest.mark.skip\ndef test_empty")
    easier = edit("test", "skip the old one", {TEST: f"import pytest\n{skipped}"})
    green.plays(
        step_3_refactorer=[stop("nothing-to-do", "fine")],
        step_4_tester=[vain, easier, edit("test", "one number", {TEST: ONE})],
    )
    assert green.run(2).outcome == "steps-made"
    assert "not red for the right reason" in refusals(green)[0]
    assert "the suite lost something" in refusals(green)[1]
    assert green.subjects()[-1] == "test: one number"


def test_a_tester_that_configures_a_test_of_the_start_away_comes_to_no_good_end(green: Kata) -> None:
    away = f"[pytest]\naddopts = --deselect {TEST}::test_empty_is_zero\n"
    green.plays(
        step_3_refactorer=[stop("nothing-to-do", "it is fine")],
        step_4_tester=[edit("test", "one number", {TEST: ONE, "pytest.ini": away})],
    )
    ended = green.run(2)
    assert (ended.outcome, f"{TEST}::test_empty_is_zero: it is still in its file" in ended.why) == (
        "not-proven",
        True,
    )
