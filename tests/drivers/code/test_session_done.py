"""`done` means proven: how sessions end that leave something open, lose something, or do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.code_sessions import GREEN, HONEST, RED, TEST, TEST_ID, Played, Worked, call, playing, turn, work
from support.openai_server import Answer, Step
from verdigris.drivers.code.outcome import EXIT_CODES, End
from verdigris.drivers.happenings import PlanShown, TurnJudged

pytestmark = pytest.mark.slow

SUMS = "tests/test_sums.py"
SUM_TESTS = """\
import pytest

from sums import double, total


def test_total():
    assert total(2, 3) == 5


def test_double():
    assert double(4) == 8


@pytest.mark.parametrize("given, wanted", [(1, 2), (2, 4), (3, 6)])
def test_table(given, wanted):
    assert double(given) == wanted
"""
SOURCE = "def total(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"
FILES = {"sums.py": SOURCE, SUMS: SUM_TESTS, "conftest.py": ""}
BODY = "    raise NotImplementedError  # STUB:TDD\n"


def finish(summary: str = "It is done and tested.") -> Step:
    return turn(call("finish", summary=summary))


def edit(path: str, search: str, replace: str) -> Step:
    return turn(call("edit_file", path=path, search=search, replace=replace))


def again(step: Step, times: int = 6) -> tuple[Step, ...]:
    return (step,) * times


def is_open(done: Worked, *words: str) -> None:
    """The session ended with exit code 1, and lists what is open in the words."""
    assert EXIT_CODES[End(done.ended.outcome)] == 1, done.ended
    listed = "\n".join(done.ended.open)
    for word in words:
        assert word in listed, listed


def sent_back(played: Played) -> list[str]:
    """What the model was told after its first `finish`."""
    return [str(message["content"]) for message in played.messages if message["role"] in {"tool", "user"}]


# -- something is left open -----------------------------------------------------------------------


def test_a_red_that_the_session_brought_is_open(tmp_path: Path) -> None:
    red = turn(*RED[0].calls[1:], *RED[1].calls, call("finish", summary="add is done and tested."))
    with playing(tmp_path, (red, *again(finish()))) as played:
        done = work(played)
        assert any(TEST_ID in text and "red" in text for text in sent_back(played))
    is_open(done, TEST_ID)
    assert 2 <= done.ended.turns <= 5


def test_a_model_that_is_sent_back_may_go_on_and_be_done(tmp_path: Path) -> None:
    red = turn(*RED[0].calls[1:], *RED[1].calls, call("finish", summary="add is done and tested."))
    with playing(tmp_path, (red, GREEN, finish("add sums."))) as played:
        done = work(played)
    assert (done.ended.outcome, done.ended.text) == (End.DONE, "add sums.")
    assert done.ended.accepted == (TEST_ID,)
    assert set(done.ended.files) == {TEST, "calculator.py"}
    assert not done.ended.open


def test_edits_that_strikes_set_aside_are_open(tmp_path: Path) -> None:
    wrong = (edit("calculator.py", BODY, "    return a - b\n"), edit("calculator.py", "a - b", "b - a"))
    with playing(tmp_path, (*RED, *wrong, *again(finish()))) as played:
        done = work(played)
    is_open(done, "a1", TEST_ID)


def test_a_new_test_that_nobody_ran_is_run_at_the_stop(tmp_path: Path) -> None:
    new = "\n\ndef test_more():\n    assert double(1) == 3\n"
    steps = (edit(SUMS, "    assert double(4) == 8\n", f"    assert double(4) == 8\n{new}"), *again(finish()))
    with playing(tmp_path, steps, files=FILES) as played:
        done = work(played)
    is_open(done, "test_more")


def test_a_failure_that_was_there_before_may_stay_and_is_named(tmp_path: Path) -> None:
    old = SUM_TESTS.replace("== 8", "== 9")
    new = turn(
        call(
            "create_file",
            path=TEST,
            content="from sums import total\n\n\ndef test_zero():\n    assert total(0, 0) == 0\n",
        ),
        call("run_tests"),
        call("finish", summary="Pinned."),
    )
    with playing(tmp_path, (new, finish()), files={**FILES, SUMS: old}) as played:
        done = work(played)
    assert done.ended.outcome == End.DONE
    assert any("test_double" in concern and "before" in concern for concern in done.ended.concerns)


def test_words_after_still_red_send_the_model_back(tmp_path: Path) -> None:
    wrong = edit("calculator.py", BODY, "    return a - b\n")
    right = edit("calculator.py", "a - b", "a + b")
    with playing(
        tmp_path, (*RED, wrong, Answer("I think it works."), right, Answer("Now it does."))
    ) as played:
        done = work(played)
    assert done.ended.outcome == End.DONE
    assert done.ended.accepted == (TEST_ID,)


# -- the suite lost something ---------------------------------------------------------------------

DESELECT = "[pytest]\naddopts = --deselect tests/test_sums.py::test_total\n"
LOSSES = {
    "addopts --deselect": turn(call("create_file", path="pytest.ini", content=DESELECT)),
    "addopts -k": turn(
        call("create_file", path="pytest.ini", content="[pytest]\naddopts = -k 'not total'\n")
    ),
    "python_files": turn(
        call("create_file", path="pytest.ini", content="[pytest]\npython_files = test_calculator.py\n")
    ),
    "a hook": turn(
        call(
            "write_file",
            path="tests/conftest.py",
            content="def pytest_collection_modifyitems(items):\n"
            "    items[:] = [item for item in items if item.name != 'test_total']\n",
        )
    ),
    "deleted": edit(SUMS, "def test_total():\n    assert total(2, 3) == 5\n", ""),
    "skipped": edit(SUMS, "def test_total", "@pytest.mark.skip\ndef test_total"),
    "skipped at run time": edit(
        SUMS, "    assert total(2, 3) == 5", "    pytest.skip('later')\n    assert total(2, 3) == 5"
    ),
    "renamed away": edit(SUMS, "def test_total", "def check_total"),
    "fewer rows": edit(SUMS, "(1, 2), (2, 4), (3, 6)", "(1, 2)"),
}


@pytest.mark.parametrize("how", LOSSES)
def test_a_test_of_the_start_that_is_lost_by_whatever_means_is_open(tmp_path: Path, how: str) -> None:
    with playing(tmp_path, (LOSSES[how], *again(finish())), files=FILES) as played:
        done = work(played)
    is_open(done, "test_table" if how == "fewer rows" else "test_total")


def test_a_deselected_test_is_not_accepted_away(tmp_path: Path) -> None:
    ini = turn(call("create_file", path="pytest.ini", content=DESELECT))
    with playing(tmp_path, (ini, *RED, GREEN, *again(finish())), files=FILES) as played:
        done = work(played)
    is_open(done, TEST_ID)
    [judged] = done.of(TurnJudged)
    assert (judged.verdict, "test_total" in judged.footer) == ("weakened", True)


def test_a_first_run_with_a_smaller_suite_is_no_baseline(tmp_path: Path) -> None:
    ini = turn(call("create_file", path="pytest.ini", content=DESELECT), call("run_tests"))
    with playing(tmp_path, (ini, *RED, GREEN, *again(finish())), files=FILES) as played:
        done = work(played)
    is_open(done, TEST_ID)
    assert [judged.verdict for judged in done.of(TurnJudged)] == ["weakened"]


# -- assertions of committed tests ----------------------------------------------------------------

WRONG = {**FILES, SUMS: SUM_TESTS.replace("double(4) == 8", "double(4) == 9")}
BENT = edit(SUMS, "double(4) == 9", "double(4) == 8")


def test_an_expectation_that_was_edited_until_it_passes_is_open(tmp_path: Path) -> None:
    with playing(tmp_path, (turn(call("run_tests")), BENT, *again(finish())), files=WRONG) as played:
        done = work(played, "The suite is red. Fix it.")
        assert any("test_bug" in text for text in sent_back(played))
    is_open(done, "test_sums.py:11", "double(4) == 9")


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_the_same_edit_with_a_test_bug_is_done_and_told(tmp_path: Path, first: bool) -> None:
    bug = turn(call("test_bug", place=f"{SUMS}:11", why="twice four is eight"))
    steps = (bug, BENT) if first else (BENT, finish(), bug)
    with playing(tmp_path, (turn(call("run_tests")), *steps, *again(finish())), files=WRONG) as played:
        done = work(played, "The suite is red. Fix it.")
    assert done.ended.outcome == End.DONE, done.ended
    assert any("twice four is eight" in concern for concern in done.ended.concerns)


def test_a_test_bug_that_waits_for_a_person_is_open(tmp_path: Path) -> None:
    bug = turn(call("test_bug", place=f"{SUMS}:11", why="twice four is eight"))
    with playing(tmp_path, (bug, *again(finish())), files=WRONG) as played:
        done = work(played)
    is_open(done, "twice four is eight")


def test_a_requirement_that_the_task_changes_is_said_once_and_done(tmp_path: Path) -> None:
    asks = edit(SUMS, "double(4) == 8", "double(4) == 12")
    table = edit(SUMS, "(1, 2), (2, 4), (3, 6)", "(1, 3), (2, 6), (3, 9)")
    source = turn(
        call("run_tests", ids=[SUMS]),
        call("edit_file", path="sums.py", search="return a * 2", replace="return a * 3"),
        call("finish", summary="It triples now."),
    )
    said = turn(
        call("test_bug", place=f"{SUMS}:11", why="the task asks for three times"),
        call("test_bug", place=f"{SUMS}:16", why="the task asks for three times"),
        call("finish", summary="It triples now."),
    )
    with playing(tmp_path, (asks, table, source, said, *again(finish())), files=FILES) as played:
        done = work(played, "Let double triple.")
    assert (done.ended.outcome, done.ended.turns) == (End.DONE, 4), done.ended
    assert f"{SUMS}::test_double" in done.ended.accepted
    assert any("three times" in concern for concern in done.ended.concerns)


GOLDEN = {
    **FILES,
    "tests/wanted.txt": "9",
    "tests/test_golden.py": "from pathlib import Path\n\nfrom sums import double\n\n\ndef test_golden():\n"
    "    wanted = Path(__file__).with_name('wanted.txt').read_text()\n    assert str(double(4)) == wanted\n",
}


def test_golden_data_that_was_edited_until_a_red_passes_is_open(tmp_path: Path) -> None:
    bent = edit("tests/wanted.txt", "9", "8")
    steps = (turn(call("run_tests")), bent, turn(call("run_tests")), *again(finish()))
    with playing(tmp_path, steps, files=GOLDEN) as played:
        done = work(played, "The suite is red. Fix it.")
    is_open(done, "tests/test_golden.py::test_golden", "wanted.txt")
    bug = turn(call("test_bug", place="tests/test_golden.py::test_golden", why="twice four is eight"))
    with playing(tmp_path / "honest", (*steps[:3], finish(), bug, finish()), files=GOLDEN) as played:
        assert work(played, "The suite is red. Fix it.").ended.outcome == End.DONE


# -- honest work ----------------------------------------------------------------------------------

HONEST_EDITS = {
    "a renamed test": edit(SUMS, "def test_total", "def test_sum_of_two"),
    "more rows": edit(SUMS, "(3, 6)", "(3, 6), (4, 8)"),
    "a test that pins": edit(
        SUMS, "def test_double", "def test_nothing():\n    assert total(0, 0) == 0\n\n\ndef test_double"
    ),
    "a marker": turn(call("create_file", path="pytest.ini", content="[pytest]\nmarkers = slow\n")),
    "a document": edit("README.md", "A calculator.", "A calculator that adds."),
}


@pytest.mark.parametrize("what", HONEST_EDITS)
def test_honest_edits_are_done(tmp_path: Path, what: str) -> None:
    with playing(tmp_path, (HONEST_EDITS[what], finish("Done."), finish("Done.")), files=FILES) as played:
        done = work(played)
    assert (done.ended.outcome, done.ended.turns) == (End.DONE, 2), done.ended
    assert len(done.ended.files) == 1


def test_a_refactor_may_rename_what_the_tests_call(tmp_path: Path) -> None:
    steps = (
        turn(
            call("refactor_begin"),
            call("edit_file", path="sums.py", search="def total", replace="def sum_of"),
            call("edit_file", path=SUMS, search="double, total", replace="double, sum_of"),
            call("edit_file", path=SUMS, search="    assert total(2", replace="    assert sum_of(2"),
            call("refactor_end"),
            call("finish", summary="Renamed."),
        ),
        *again(finish()),
    )
    with playing(tmp_path, steps, files=FILES) as played:
        done = work(played)
    assert (done.ended.outcome, done.ended.turns) == (End.DONE, 1), done.ended
    assert [judged.verdict for judged in done.of(TurnJudged)] == ["accepted"]


# -- nothing was done -----------------------------------------------------------------------------


def test_an_empty_reply_is_asked_again_and_is_no_answer(tmp_path: Path) -> None:
    with playing(tmp_path, again(Answer(""), 8)) as played:
        done = work(played)
        assert len(played.server.requests) in range(2, 5)
    assert done.ended.outcome == End.PROVIDER
    assert "empty" in done.ended.text


def test_an_empty_reply_in_between_does_no_harm(tmp_path: Path) -> None:
    with playing(tmp_path, (Answer(""), *HONEST)) as played:
        assert work(played).ended.outcome == End.DONE


def test_who_gives_up_is_not_done(tmp_path: Path) -> None:
    with playing(tmp_path, again(Answer("I give up: I do not understand this task."))) as played:
        done = work(played)
    assert (EXIT_CODES[End(done.ended.outcome)], done.ended.files) == (1, ())


def test_an_edit_that_failed_is_not_done(tmp_path: Path) -> None:
    failed = edit("README.md", "no such words", "Run pytest.")
    with playing(tmp_path, (failed, *again(Answer("The README now says how to run the tests.")))) as played:
        done = work(played)
        assert any("README.md" in text and "failed" in text for text in sent_back(played))
    assert EXIT_CODES[End(done.ended.outcome)] == 1
    assert done.ended.why == "nothing changed; the last edit failed"


def test_a_question_is_answered(tmp_path: Path) -> None:
    steps = (turn(call("read_file", path="README.md")), Answer("It is a calculator."))
    with playing(tmp_path, steps) as played:
        done = work(played, "What is this?")
    assert (done.ended.outcome, EXIT_CODES[End(done.ended.outcome)]) == ("answered", 0)
    assert done.ended.text == "It is a calculator."


# -- the verdict and the plan at the end ----------------------------------------------------------


def test_a_verdict_is_told_also_when_finish_stands_in_the_reply_of_the_edits(tmp_path: Path) -> None:
    whole = turn(*GREEN.calls, call("finish", summary="add sums."))
    with playing(tmp_path, (*RED, whole, *again(finish()))) as played:
        done = work(played)
    assert (done.ended.outcome, done.ended.turns) == (End.DONE, 3)
    [judged] = done.of(TurnJudged)
    assert (judged.verdict, judged.accepted) == ("accepted", (TEST_ID,))
    assert done.of(PlanShown)[-1].lines[0].startswith("1. ● green")


def test_copied_answers_are_refused_also_when_finish_stands_in_their_reply(tmp_path: Path) -> None:
    table = "    return {(17, 25): 42, (100, 23): 123}[a, b]\n"
    whole = turn(
        call("edit_file", path="calculator.py", search=BODY, replace=table), call("finish", summary=".")
    )
    with playing(tmp_path, (*RED, whole, *again(finish()))) as played:
        done = work(played)
    is_open(done, TEST_ID)


def test_the_concerns_of_the_accepting_verdict_are_in_the_result(tmp_path: Path) -> None:
    body = "    if a == 12345:\n        return 7\n    return a + b\n"
    whole = turn(
        call("edit_file", path="calculator.py", search=BODY, replace=body), call("finish", summary=".")
    )
    with playing(tmp_path, (*RED, whole, *again(finish())), "uncovered: record\n", live=True) as played:
        done = work(played)
    assert any("calculator.py" in concern for concern in done.ended.concerns), done.ended


def test_the_last_line_says_what_happened(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        ran = played.code("-p", "Write a calculator that adds.")
        assert ran.code == 0
        assert "● done: 2 files, 1 test accepted" in ran.err
        documents = played.events("-p", "Go on.")
    assert documents[-1]["open"] == []


def test_a_session_goes_on_with_its_own_start(tmp_path: Path) -> None:
    lost = LOSSES["deleted"]
    with playing(tmp_path, (lost, *again(finish()), *again(finish())), files=FILES) as played:
        is_open(work(played), "test_total")
        is_open(work(played, "Go on.", resume=""), "test_total")
