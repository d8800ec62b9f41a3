"""What the machine asks of a role beyond what the kernel asks of everybody."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support.machines import (
    EMPTY,
    NUMBER,
    ONE,
    STUB,
    TALK,
    TEST,
    ZERO,
    Kata,
    edit,
    make_kata,
    recording,
    stop,
)
from support.turns import QUICK
from verdigris.drivers.happenings import Refused, StepEnded

NOTHING = [stop("nothing-to-do", "fine")]


def refusals(kata: Kata) -> list[str]:
    return [refused.why for refused in kata.of(Refused)]


# -- the implementor ------------------------------------------------------------------------------


def test_code_that_no_test_asks_for_is_refused_with_its_lines(red: Kata) -> None:
    whole = "def add(numbers):\n    if not numbers:\n        return 0\n    return int(numbers)\n"
    red.plays(
        step_2_implementor=[
            edit("feat", "all of it", {"calculator.py": whole}),
            edit("feat", "zero", {"calculator.py": ZERO}),
        ]
    )
    assert red.run(1).outcome == "steps-made"
    assert refusals(red) == [
        "hollow: unasked: calculator.py:4 add: no test runs it; claim a red for it, or take it out"
    ]


def test_lines_that_an_older_test_runs_are_asked_for(green: Kata) -> None:
    """The claimed test runs only the other branch."""
    branches = "def add(numbers):\n    if not numbers:\n        return 0\n    return int(numbers)\n"
    green.plays(
        step_3_refactorer=NOTHING,
        step_5_implementor=[edit("feat", "one number", {"calculator.py": branches})],
    )
    assert green.run(3).outcome == "steps-made"
    assert refusals(green) == []


TABLE_TEST = """\
from calculator import add


def test_sums():
    assert add('17,25') == 42
    assert add('1,2') == 3
"""
TABLE = "def add(numbers):\n    return {'17,25': 42, '1,2': 3}[numbers]\n"
SPLIT = "def add(numbers):\n    return sum(map(int, numbers.split(',')))\n"


def test_a_table_of_answers_is_refused_and_noted_where_the_configuration_says_so(tmp_path: Path) -> None:
    first = edit("test", "sums", {TEST: TABLE_TEST, "calculator.py": STUB})
    table = edit("feat", "a table", {"calculator.py": TABLE})
    kata = make_kata(tmp_path / "a", "machine: {sandbox: false}\n")
    kata.plays(
        step_1_tester=[first], step_2_implementor=[table, edit("feat", "sum", {"calculator.py": SPLIT})]
    )
    assert kata.run(2).outcome == "steps-made"
    assert "calculator.py:2 looks up what the tests expect" in refusals(kata)[0]

    noted = make_kata(tmp_path / "b", "machine: {sandbox: false, expected_literals: record}\n")
    noted.plays(step_1_tester=[first], step_2_implementor=[table])
    assert noted.run(2).outcome == "steps-made"
    assert refusals(noted) == []
    concerns = noted.of(StepEnded)[1].concerns
    assert any("expected-literals" in concern for concern in concerns)
    assert "TDD-Concern: calculator.py:2: expected-literals" in noted.repo.git("log", "--format=%B", "main")
    log = json.loads((noted.root / ".tdd/logs/step-2-implementor.json").read_text())
    assert log["concerns"] == list(concerns)


def test_a_constant_that_the_first_test_asks_for_is_an_honest_step(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", "machine: {sandbox: false}\n")
    asked = "from rover import execute\n\n\ndef test_start():\n    assert execute('') == '0:0:N'\n"
    stub = "def execute(commands):  # STUB:TDD\n    return ''\n"
    kata.plays(
        step_1_tester=[edit("test", "where it starts", {"tests/test_rover.py": asked, "rover.py": stub})],
        step_2_implementor=[
            edit("feat", "start", {"rover.py": "def execute(commands):\n    return '0:0:N'\n"})
        ],
    )
    assert kata.run(2).outcome == "steps-made"
    assert refusals(kata) == []


def test_a_marker_that_is_left_behind_is_refused(red: Kata) -> None:
    left = edit("feat", "zero", {"calculator.py": STUB.replace("-1", "0")})
    red.plays(step_2_implementor=[left, edit("feat", "zero", {"calculator.py": ZERO})])
    assert red.run(1).outcome == "steps-made"
    assert "calculator.py:1 still says STUB:TDD" in refusals(red)[0]


# -- the tester -----------------------------------------------------------------------------------


def test_a_red_that_runs_nothing_of_the_source_is_none(green: Kata) -> None:
    vain = EMPTY + "\n\ndef test_arithmetic():\n    assert 1 + 1 == 3\n"
    green.plays(
        step_3_refactorer=NOTHING,
        step_4_tester=[edit("test", "vain", {TEST: vain}), edit("test", "one number", {TEST: ONE})],
    )
    assert green.run(2).outcome == "steps-made"
    assert "test_arithmetic fails, but runs nothing of the source" in refusals(green)[0]


def test_a_step_has_one_new_test_and_a_parametrised_one_is_one(green: Kata) -> None:
    many = ONE + "\n\ndef test_two():\n    assert add('1,2') == 3\n"
    cases = f"import pytest\n{EMPTY}\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_a_number(n):\n"
    green.plays(
        step_3_refactorer=NOTHING,
        step_4_tester=[
            edit("test", "two at once", {TEST: many}),
            edit("test", "numbers", {TEST: f"{cases}    assert add(str(n)) == n\n"}),
        ],
    )
    assert green.run(2).outcome == "steps-made"
    assert refusals(green)[0].startswith(
        "there are 2 new tests (test_one_number, test_two), and a step has one"
    )
    assert len(green.subjects()) == 3


def test_a_test_that_passes_with_its_own_stub_is_told_so(kata: Kata) -> None:
    passing = edit("test", "zero", {TEST: EMPTY, "calculator.py": STUB.replace("-1", "0")})
    kata.plays(step_1_tester=[passing, edit("test", "zero", {TEST: EMPTY, "calculator.py": STUB})])
    assert kata.run(1).outcome == "steps-made"
    assert refusals(kata) == [f"no test fails: {TEST}::test_empty_is_zero passes with its own stub"]


def test_a_kata_with_a_red_test_is_not_done(red: Kata) -> None:
    wrong = edit("feat", "one", {"calculator.py": ZERO.replace("0", "1")})
    done = stop("kata-done", "all is shown")
    red.plays(step_2_implementor=[wrong] * 3, step_3_tester=[done] * 3)
    ended = red.run(5)
    assert ended.outcome == "blocked"
    assert "kata-done needs tests that all pass, and these fail: " in ended.why
    assert "test_empty_is_zero" in ended.why


def test_a_kata_that_is_done_says_which_points_and_lines_no_test_shows(green: Kata) -> None:
    green.repo.write("spare.py", "def spare():\n    return 1\n")
    green.repo.commit("feat: by a person")
    green.project.log.state()
    with_point = json.loads(edit("test", "one number", {TEST: ONE})) | {"points": [2]}
    green.plays(
        step_3_refactorer=NOTHING,
        step_4_tester=[json.dumps(with_point)],
        step_5_implementor=[edit("feat", "one number", {"calculator.py": NUMBER})],
        step_6_refactorer=NOTHING,
        step_7_tester=[stop("kata-done", "I think so")],
    )
    _take_in(green)
    ended = green.run(20)
    assert ended.outcome == "kata-done"
    assert [point[:1] for point in ended.points] == ["1", "3"]
    assert "two numbers" in ended.points[-1]
    assert ended.lines == ("spare.py:2",)


def _take_in(kata: Kata) -> None:
    """What a person committed without a red, taken in by switching off and on."""
    from verdigris.turns.person import switch_off, switch_on

    switch_off(kata.project, "mine")
    switch_on(kata.project)


# -- the refactorer -------------------------------------------------------------------------------


def test_a_refactor_neither_adds_nor_renames_a_test(green: Kata) -> None:
    more = edit("refactor", "more", {TEST: EMPTY + "\n\ndef test_true():\n    assert add('') is not None\n"})
    renamed = edit("refactor", "names", {TEST: EMPTY.replace("test_empty_is_zero", "test_nothing_is_zero")})
    green.plays(step_3_refactorer=[more, renamed, *NOTHING])
    assert green.run(1).outcome == "steps-made"
    assert f"{TEST}::test_true is a new test: a refactor adds none" in refusals(green)[0]
    assert "test_nothing_is_zero is a new test" in refusals(green)[1]


def test_a_refactor_that_breaks_the_tests_hears_of_that_and_not_of_coverage(green: Kata) -> None:
    broken = edit("refactor", "elsewhere", {"calculator.py": f"import missing_module\n\n\n{ZERO}"})
    green.plays(step_3_refactorer=[broken, *NOTHING])
    assert green.run(1).outcome == "steps-made"
    assert "%" not in refusals(green)[0]
    assert "missing_module" in refusals(green)[0]


# -- time -----------------------------------------------------------------------------------------


def test_a_test_that_hangs_ends_by_a_limit_of_its_own(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", "machine: {sandbox: false, test_seconds: 3}\n")
    endless = "def add(numbers):\n    while True:\n        numbers = ''\n"
    kata.plays(
        step_2_implementor=[
            edit("feat", "endless", {"calculator.py": endless}),
            edit("feat", "zero", {"calculator.py": ZERO}),
        ]
    )
    began = time.monotonic()
    assert kata.run(2).outcome == "steps-made"
    assert time.monotonic() - began < 60
    assert len(refusals(kata)) == 1


# -- a test that came back --------------------------------------------------------------------------


def test_the_tester_may_keep_a_test_and_every_reason_is_passed_on(red: Kata) -> None:
    wrongs = [edit("feat", str(n), {"calculator.py": ZERO.replace("0", str(n))}) for n in (1, 2, 3)]
    red.plays(
        step_2_implementor=wrongs,
        step_3_tester=[stop("test-is-right", "the kata says 0")],
        step_4_implementor=[edit("feat", "zero", {"calculator.py": ZERO})],
    )
    assert red.run(3).outcome == "steps-made"
    assert [ended.outcome for ended in red.of(StepEnded)] == ["sent-back", "test-is-right", "committed"]
    returned, upheld = red.of(StepEnded)[:2]
    assert [f"assert {n} == 0" in returned.why for n in (1, 2, 3)] == [True] * 3
    assert "the kata says 0" in upheld.why
    assert "assert 2 == 0" in upheld.why
    assert red.project.state().test_bugs == {}
    assert red.subjects()[-1] == "feat: zero"


def test_a_revised_test_is_committed_with_the_reason_why(red: Kata) -> None:
    revised = EMPTY.replace("test_empty_is_zero", "test_nothing_is_zero")
    red.plays(
        step_2_implementor=[stop("test-is-wrong", "the name says nothing")],
        step_3_tester=[edit("test", "a better name", {TEST: revised})],
    )
    assert red.run(2).outcome == "steps-made"
    message = " ".join(red.repo.git("log", "-1", "--format=%B").split())
    assert "Revised because The implementor says that the test is wrong: the name says nothing" in message


def test_what_failed_attempts_left_aside_goes_with_the_commit(red: Kata) -> None:
    wrong = edit("feat", "one", {"calculator.py": ZERO.replace("0", "1")})
    red.plays(step_2_implementor=[wrong, edit("feat", "zero", {"calculator.py": ZERO})])
    red.run(1)
    assert red.project.state().aside == {}


def test_no_recording_is_longer_than_one_answer_a_step(kata: Kata) -> None:
    kata.repo.write(
        TALK, recording({"step-1-tester": [edit("test", "zero", {TEST: EMPTY, "calculator.py": STUB})]})
    )
    assert kata.run(1).outcome == "steps-made"


# -- what no test notices --------------------------------------------------------------------------

GUARDED = "def add(numbers):\n    return int(numbers) if numbers and len(numbers) < 1000 else 0\n"
LONG = f"""\
{ONE}

def test_a_long_number():
    assert add('1' * 1000) == 0
    assert add('2' * 999) == int('2' * 999)
"""
NOTICED_NOT = "no test notices `len(numbers) < 1000` in calculator.py:2: add a case that does, or take it out"


@pytest.fixture
def owing(tmp_path: Path) -> Kata:
    """Mutants are tried here; the fifth step decides something that no test notices."""
    kata = make_kata(tmp_path / "project", "machine: {sandbox: false, max_attempts_per_agent: 2}\n")
    kata.repo.write("tdd.yaml", (kata.root / "tdd.yaml").read_text().replace(QUICK, ""))
    kata.repo.commit("chore: live assertions")
    return kata


def play_owing(kata: Kata, *step_7: str) -> None:
    kata.plays(
        step_3_refactorer=NOTHING,
        step_4_tester=[edit("test", "one number", {TEST: ONE})],
        step_5_implementor=[edit("feat", "one number", {"calculator.py": GUARDED})],
        step_6_refactorer=NOTHING,
        step_7_tester=step_7,
        step_9_refactorer=NOTHING,
        step_10_tester=[stop("kata-done", "all is shown")],
    )


def test_a_kata_that_owes_is_not_done_and_a_test_that_passes_at_once_pays(owing: Kata) -> None:
    play_owing(owing, stop("kata-done", "all is shown"), edit("test", "a long number", {TEST: LONG}))
    ended = owing.run(20)
    assert refusals(owing) == [
        f"kata-done needs tests that notice the code's decisions; one may pass at once: {NOTICED_NOT}"
    ]
    assert ended.outcome == "kata-done", ended.why
    assert "TDD-Verdict: characterization" in owing.repo.git("log", "--format=%B", "main")


def test_a_test_that_passes_and_pays_nothing_is_no_step_of_a_tester(owing: Kata) -> None:
    again = ONE + "\n\ndef test_one_again():\n    assert add('2') == 2\n"
    play_owing(owing, edit("test", "again", {TEST: again}), edit("test", "long", {TEST: LONG}))
    assert owing.run(7).outcome == "steps-made"
    assert refusals(owing) == [f"no test fails: {TEST}::test_one_again passes already"]
