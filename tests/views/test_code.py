from __future__ import annotations

from verdigris.drivers import happenings as w
from verdigris.views.code import describe_cost, lines


def texts(happening: w.Happening) -> list[str]:
    return [line.text for line in lines(happening)]


def test_a_call_that_went_well_is_one_line_and_a_denial_says_why() -> None:
    call = w.ToolCalled(1, "edit_file", '{"path": "calc.py", "search": "x"}', "ok", "written")
    assert texts(call) == ["  edit_file calc.py"]
    no = w.ToolCalled(1, "edit_file", '{"path": "calc.py"}', "denied", "denied [red-first]\nNo test is red.")
    assert texts(no) == ["edit_file calc.py: denied", "      denied [red-first]", "      No test is red."]
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
    assert texts(bad)[1] == "  repair: the edits are set aside as a1"


def test_the_end_names_the_next_move() -> None:
    ended = w.SessionEnded(
        "0123abcd", "limit-reached", "", "3 turns were made", following="`tdd code …` goes on"
    )
    assert texts(ended)[0] == "limit-reached: 3 turns were made"
    assert texts(ended)[-1] == "next: `tdd code …` goes on"
