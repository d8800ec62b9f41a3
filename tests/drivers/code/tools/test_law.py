from __future__ import annotations

from support.code_sessions import Bench
from support.turns import CALC, SUB, SUB_ID, TEST_SUB
from verdigris.drivers.code.session_file import SessionRecord
from verdigris.drivers.code.tools.law import count_repairs, read_verdicts, settle_turn
from verdigris.drivers.code.tools.workbench import ToolAnswer
from verdigris.models.request import estimate

WRONG = "\n\ndef sub(a, b):\n    return a\n"


def red(tool: Bench) -> None:
    tool("create_file", path="tests/test_sub.py", content=TEST_SUB)
    tool.world.red_by_record(SUB_ID)


def try_edit(tool: Bench, added: str) -> ToolAnswer:
    return tool("edit_file", path="calc.py", search=tool.world.read("calc.py"), replace=CALC + added)


def edit(tool: Bench, added: str) -> None:
    answer = try_edit(tool, added)
    assert answer.outcome == "ok", answer.text


def test_a_run_names_the_red_and_the_next_move_in_words_of_tools(tool: Bench) -> None:
    tool("create_file", path="tests/test_sub.py", content=TEST_SUB)
    answer = tool("run_tests", ids=[SUB_ID])
    assert answer.outcome == "ok"
    assert f"red {SUB_ID}: " in answer.text
    assert answer.text.count(SUB_ID) == 1
    assert answer.text.endswith("next: edit source")
    tool("create_file", path="tests/test_other.py", content=TEST_SUB.replace("test_sub", "test_other"))
    assert tool("run_tests", ids=["tests/test_other.py"]).text.endswith("next: edit source")
    assert "next: edit the source: it claims these 2 tests" in tool("run_tests").text


def test_a_run_of_a_test_that_does_not_exist_is_an_answer(tool: Bench) -> None:
    answer = tool("run_tests", ids=["tests/none.py::test_x"])
    assert answer.outcome == "failed"


def test_missing_names_need_no_stub(tool: Bench) -> None:
    text = "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n"
    tool("create_file", path="tests/test_area.py", content=text)
    answer = tool("run_tests", ids=["tests/test_area.py"])
    assert "it ran over stubs, and no file holds them" in answer.text
    assert answer.text.endswith("next: edit source")


def test_an_edit_of_source_runs_the_changed_tests_itself(tool: Bench) -> None:
    tool("create_file", path="tests/test_sub.py", content=TEST_SUB)
    assert "claims test_sub" in try_edit(tool, SUB).text


def test_source_after_a_test_that_passes_is_denied_with_what_it_did(tool: Bench) -> None:
    again = "import calc\n\n\ndef test_again():\n    assert calc.add(1, 1) == 2\n"
    tool("create_file", path="tests/test_again.py", content=again)
    denied = try_edit(tool, SUB)
    assert denied.outcome == "denied"
    assert "tests/test_again.py::test_again passes" in denied.text


def test_a_turn_is_settled_once_and_its_footer_is_small(tool: Bench) -> None:
    red(tool)
    assert settle_turn(tool.bench) is None
    assert "frozen" in tool("edit_claim", test_ids=[SUB_ID], paths=["calc.py"]).text
    assert settle_turn(tool.bench) is None
    edit(tool, SUB)
    done = settle_turn(tool.bench)
    assert done is not None
    assert (done.verdict, done.accepted) == ("accepted", (SUB_ID,))
    assert done.text == f"[tdd] accepted: {SUB_ID}. phase red"
    assert done.footer == f"[tdd] accepted: {SUB_ID}; edited calc.py. phase red"
    assert estimate(done.footer) <= 80
    assert settle_turn(tool.bench) is None


def test_the_second_strike_sets_edits_aside_and_repairs_are_counted(tool: Bench) -> None:
    red(tool)
    edit(tool, WRONG)
    first = settle_turn(tool.bench)
    assert first is not None
    assert (first.verdict, first.aside) == ("still-red", None)
    assert "assert" in first.text
    edit(tool, WRONG.replace("return a", "return b"))
    second = settle_turn(tool.bench)
    assert second is not None
    assert second.aside is not None
    assert tool.world.read("calc.py") == CALC
    assert count_repairs(tool.bench.project, SessionRecord(), (SUB_ID,)) == 1
    assert count_repairs(tool.bench.project, SessionRecord(), ("other",)) == 0


def test_a_claim_without_a_red_is_denied(tool: Bench) -> None:
    assert tool("edit_claim", test_ids=[SUB_ID]).outcome == "denied"


def test_a_claim_costs_few_tokens() -> None:
    assert estimate(f'edit_claim {{"test_ids": ["{SUB_ID}"]}}') <= 30


def test_a_wrong_test_is_reported_and_may_be_revised_then(tool: Bench) -> None:
    red(tool)
    edit(tool, WRONG)
    answer = tool("test_bug", place=SUB_ID, why="5 - 3 is 2, and it asks for 3")
    assert answer.outcome == "ok"
    assert tool.world.read("calc.py") == CALC
    assert tool("edit_file", path="tests/test_sub.py", search="== 2", replace="== 2  # right").outcome == "ok"


def test_a_refactor_is_begun_ended_and_counted_for_the_plan(tool: Bench) -> None:
    tool("submit_plan", steps=[{"title": "tidy up"}])
    assert tool("mark_step", step=1).outcome == "failed"
    assert "A refactor is open" in tool("refactor_begin").text
    tool(
        "edit_file",
        path="calc.py",
        search="def add(a, b):\n    return a + b",
        replace="def add(x, y):\n    return x + y",
    )
    ended = tool("refactor_end")
    assert ended.text.startswith("[tdd] accepted"), ended.text
    assert read_verdicts(tool.bench.project, SessionRecord()).refactors == 1
    assert tool("mark_step", step=1).text == "1 step, 1 green"
    assert tool("refactor_end").outcome == "denied"


def test_a_refactor_may_be_given_up(tool: Bench) -> None:
    tool("refactor_begin")
    tool("edit_file", path="calc.py", search="a + b", replace="b + a")
    assert "given up" in tool("refactor_end", abort=True).text
    assert tool.world.read("calc.py") == CALC


def test_a_plan_is_coloured_by_the_log_and_linted(tool: Bench) -> None:
    shown = tool("submit_plan", steps=[{"title": "subtract", "test_id": SUB_ID}]).text
    assert shown.startswith("1 step\n")
    assert "no test_file_path" in shown
    red(tool)
    assert (
        "1 red"
        in tool(
            "revise_plan",
            reason="file",
            remaining_steps=[{"title": "subtract", "test_id": SUB_ID, "test_file_path": "tests/test_sub.py"}],
        ).text
    )
    assert "still red" in tool("mark_step", step=1).text
    edit(tool, SUB)
    settle_turn(tool.bench)
    assert "1 green" in tool("mark_step", step=1).text
