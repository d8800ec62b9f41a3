"""What each pane of the session's screen shows, as values."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest

from verdigris.drivers import happenings as w
from verdigris.drivers.code.commands import CommandAnswer
from verdigris.drivers.code.facts import Changes, SessionFacts, StepFacts, VerdictFacts
from verdigris.models.protocol import Message, ToolCall, Usage
from verdigris.views.code import (
    PermissionAsked,
    SessionView,
    answer_meanwhile,
    cost_line,
    diff_lines,
    earlier_lines,
    folds,
    head_line,
    plan_lines,
    plan_strip,
    short_count,
    verdict_lines,
    verdict_strip,
    view_after,
    working_line,
)
from verdigris.views.lines import Line
from verdigris.views.run import describe_cost, lines


def texts_of(happening: w.Happening) -> list[str]:
    return [line.text for line in lines(happening)]


def test_a_call_that_went_well_is_one_line_and_a_denial_says_why() -> None:
    call = w.ToolCalled(1, "edit_file", '{"path": "calc.py", "search": "x"}', "ok", "written")
    assert texts_of(call) == ["  edit_file calc.py"]
    no = w.ToolCalled(1, "edit_file", '{"path": "calc.py"}', "denied", "denied [red-first]\nNo test is red.")
    assert texts_of(no) == [
        "edit_file calc.py: denied",
        "      denied [red-first]",
        "      No test is red.",
    ]
    assert lines(no)[0].dot == "red"


def test_what_no_server_told_is_unknown_and_money_is_shown_where_it_can_be() -> None:
    ended = w.SessionEnded("0123abcd", "done", "text", turns=2, tokens=100, completion=10, seconds=3.2)
    assert describe_cost(ended) == "2 turns; 100 tokens: unknown cached, unknown uncached, 10 written; 3 s"
    told = w.SessionEnded("0", "done", "", tokens=100, cached=60, uncached=30, completion=10, cost=0.25)
    assert "60 cached, 30 uncached, 10 written; cost 0.2500" in describe_cost(told)


def test_a_verdict_has_its_colour_and_a_repair_its_line() -> None:
    good = w.TurnJudged(1, "accepted", "[tdd] accepted: t")
    assert [(line.text, line.dot) for line in lines(good)] == [("[tdd] accepted: t", "green")]
    bad = w.TurnJudged(2, "still-red", "[tdd] still-red: t", aside="a1")
    assert texts_of(bad)[1] == "  repair: the edits are set aside as a1"


def test_the_end_names_the_next_move() -> None:
    ended = w.SessionEnded(
        "0123abcd", "limit-reached", "", "3 turns were made", following="`tdd code …` goes on"
    )
    assert texts_of(ended)[0] == "limit-reached: 3 turns were made"
    assert texts_of(ended)[-1] == "next: `tdd code …` goes on"


pytestmark = pytest.mark.quick

STEPS = (
    StepFacts("add", "t::add", "green"),
    StepFacts("subtract", "t::sub", "red"),
    StepFacts("tidy up", "", "none"),
)


def view_of(*messages: object) -> SessionView:
    return reduce(view_after, messages, SessionView())  # type: ignore[arg-type]


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def test_the_plan_has_a_dot_for_each_step_in_the_colour_of_its_verdict() -> None:
    facts = SessionFacts(steps=STEPS)
    assert plan_lines(facts) == [
        Line("1. add · green", "green"),
        Line("2. subtract · red", "red"),
        Line("○ 3. tidy up"),
    ]
    assert plan_strip(facts) == Line("plan: 1 of 3 green; 2. subtract", "red")
    assert plan_lines(SessionFacts()) == [Line("no plan yet")]
    assert plan_strip(SessionFacts()) == Line("plan: none yet")
    done = SessionFacts(steps=STEPS[:1])
    assert plan_strip(done) == Line("plan: all 1 green", "green")


def test_the_last_verdict_has_its_reasons() -> None:
    bad = SessionFacts(verdict=VerdictFacts("still-red", (), ("2 is not 3",), ("odd",), "a1"))
    assert verdict_lines(bad) == [
        Line("still-red", "red"),
        Line("  2 is not 3"),
        Line("  concern: odd"),
        Line("  the edits are set aside as a1; /restore a1 brings them back"),
    ]
    assert verdict_strip(bad) == Line("verdict: still-red: 2 is not 3", "red")
    good = SessionFacts(verdict=VerdictFacts("accepted", ("t::add", "t::sub")))
    assert verdict_lines(good) == [Line("accepted", "green"), Line("  t::add"), Line("  t::sub")]
    assert verdict_strip(good) == Line("verdict: accepted: t::add, t::sub", "green")
    ended = SessionFacts(verdict=VerdictFacts("accepted", refactor=True))
    assert verdict_strip(ended) == Line("verdict: accepted (refactor)", "green")
    assert verdict_lines(SessionFacts()) == [Line("no verdict yet")]


def test_a_diff_says_since_when_and_what_is_left_out() -> None:
    changes = Changes("the open turn", ("@@", "+\tnew"), 7)
    assert diff_lines(SessionFacts(changes=changes)) == [
        Line("changed in the open turn:"),
        Line("@@", code=True),
        Line("+       new", code=True),
        Line("… 7 more lines; `git diff` has them"),
    ]
    assert diff_lines(SessionFacts()) == [Line("nothing is changed")]


@pytest.mark.parametrize(
    ("usage", "cost", "told"),
    [
        (Usage(8910, 6900, 210), None, "9120 tokens: 6900 cached, 2010 uncached, 210 written; 1:05"),
        (
            Usage(100, 0, 5, cache_known=False),
            0.25,
            "105 tokens: cached unknown, 5 written; cost 0.2500; 1:05",
        ),
        (Usage(0, 0, 0), None, "no tokens yet; 1:05"),
        (Usage(90, 0, 5, estimated=True), None, "about 95 tokens: 0 cached, 90 uncached, 5 written; 1:05"),
    ],
)
def test_tokens_that_nobody_counted_are_unknown_and_money_is_shown_where_prices_are(
    usage: Usage, cost: float | None, told: str
) -> None:
    assert cost_line(SessionFacts(usage=usage, cost=cost), 65) == told


def test_large_numbers_are_short_so_that_the_line_fits_eighty_columns() -> None:
    assert [short_count(n) for n in (0, 9999, 10_000, 123_456, 999_999, 1_234_567)] == [
        "0",
        "9999",
        "10k",
        "123k",
        "999k",
        "1.2M",
    ]
    facts = SessionFacts(usage=Usage(98_765_432, 87_654_321, 1_234_567), cost=123.4567)
    assert len(cost_line(facts, 36_000)) <= 80


def test_what_is_said_is_kept_in_order_and_the_plan_is_not_repeated_in_it() -> None:
    view = view_of(
        w.ModelSpoke(1, "First a test."),
        w.PlanShown(("1. ○ add",)),
        w.ToolCalled(1, "create_file", '{"path": "t.py"}', "ok", "written"),
        w.TurnJudged(1, "accepted", "[tdd] accepted: t"),
    )
    assert texts(list(view.said)) == ["  First a test.", "  create_file t.py", "[tdd] accepted: t"]


def test_a_summary_that_the_model_has_just_said_is_not_said_twice() -> None:
    ended = w.SessionEnded("0123abcd", "done", "All\ndone.", turns=1, following="`tdd code --resume 0`")
    view = view_of(w.ModelSpoke(1, "All\ndone.\n"), ended, CommandAnswer(("All", "done.")))
    assert texts(list(view.said)) == ["  All", "  done.", "done: nothing changed"]
    assert texts(list(view_of(CommandAnswer(("All done.",))).said)) == ["All done."]


def test_what_is_under_way_is_named_and_ends_with_the_answer() -> None:
    view = SessionView().begin("Add things.")
    assert texts(list(view.said)) == ["", "> Add things."]
    assert view.doing == "the model is asked"
    view = view_after(view, w.ModelWrote("I look\nat it\n"))
    assert view.doing == "the model writes: at it"
    view = view_after(view, w.CallMade(1, "1-a", "shell", '{"command": "make all"}'))
    view = view_after(view, w.CallBegan(1, "1-a"))
    assert view.doing == "shell make all"
    assert working_line(view, 75) == "shell make all · 1:15 · Ctrl-C cancels"
    ended = w.ToolCalled(1, "shell", "{}", "ok", "", "1-a")
    assert view_after(view, ended).doing == "the turn is judged"
    assert view_after(view, replace(ended, tool="read_file")).doing == "the model is asked"
    assert view_after(view, w.Delayed("over the limit")).doing == "waits: over the limit"
    assert view_after(view, CommandAnswer(("done",))).doing == ""


def test_a_question_shows_all_of_the_command_and_goes_with_the_answer() -> None:
    command = "echo " + "x" * 300 + "\nrm -r build"
    view = view_after(
        SessionView(doing="works"), PermissionAsked("shell", f'{{"command": {command!r}}}'.replace("'", '"'))
    )
    shown = "".join(texts(list(view.question)))
    assert "x" * 300 in shown
    assert "rm -r build" in shown
    assert view.without_question().question == ()


def test_what_was_said_before_a_resume_is_told_shortly() -> None:
    messages = (
        Message("user", "Add things.\n\n[tdd] where things stand:\nphase red"),
        Message("assistant", "I look.", (ToolCall("a", "read_file", '{"path": "x.py"}'),)),
        Message("tool", "long text", call_id="a"),
    )
    assert earlier_lines(messages) == (
        Line(""),
        Line("> Add things."),
        Line("  I look."),
        Line("  read_file x.py"),
    )


def test_the_head_names_session_model_and_phase() -> None:
    facts = SessionFacts("0123abcd", "ollama:qwen3-coder", "green")
    assert head_line(facts) == "tdd code 0123abcd · ollama:qwen3-coder · phase green"
    assert head_line(SessionFacts()) == "tdd code"


@pytest.mark.parametrize(
    ("width", "height", "folded"), [(80, 24, True), (120, 40, False), (200, 20, True), (100, 60, True)]
)
def test_panes_fold_where_there_is_no_room_for_all(width: int, height: int, folded: bool) -> None:
    assert folds(width, height) is folded


def test_a_long_conversation_is_cut_at_its_beginning() -> None:
    view = reduce(lambda seen, n: view_after(seen, w.Noted(str(n))), range(6000), SessionView())
    assert len(view.said) <= 5000
    assert view.said[-1].text == "note: 5999"
    assert view.dropped + len(view.said) == 6000


def test_a_failed_edit_shows_its_lines_with_blanks_for_tabs() -> None:
    call = w.ToolCalled(1, "edit_file", '{"path": "a.py"}', "failed", "0 matches\n20\t- one", "1-a")
    assert texts(lines(call))[-1].split() == ["20", "-", "one"]
    assert "\t" not in texts(lines(call))[-1]


def test_commands_that_only_read_are_answered_during_a_turn() -> None:
    facts = SessionFacts("0123abcd", "scripted", "red", changes=Changes("the open turn", ("+one",)))
    assert [line.text for line in answer_meanwhile(facts, "/diff", 1.0)][1].strip() == "+one"
    assert "phase red" in answer_meanwhile(facts, "/status", 1.0)[0].text
    assert answer_meanwhile(facts, "/cost", 1.0)[0].text
    assert answer_meanwhile(facts, "/undo", 1.0) == ()


def test_the_last_line_says_what_changed_and_what_is_open() -> None:
    ended = w.SessionEnded("0", "done", "", files=("a.py", "b.py"), accepted=("t::a",), concerns=("odd",))
    assert texts(lines(ended))[:2] == ["done: 2 files, 1 test accepted, 1 concern", "  concern: odd"]
    ended = w.SessionEnded("0", "not-done", "", "nothing changed; the last edit failed")
    assert texts(lines(ended))[0] == "not-done: nothing changed; the last edit failed"
    assert texts(lines(w.SessionEnded("0", "answered", "It is so.")))[0] == "answered: nothing changed"
