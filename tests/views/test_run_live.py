from __future__ import annotations

import pytest
from rich.console import Console

from verdigris.drivers import happenings as w
from verdigris.views import run, run_live
from verdigris.views.status import count_harness, harness_marks, sparkline


def test_a_harness_is_a_mark_for_each_behaviour_and_of_many_the_newest() -> None:
    assert harness_marks(["passing", "failing", "blocked", "odd"]) == "●○✗·"
    assert harness_marks(["failing", "passing", "passing"], 2) == "…●●"


def test_statuses_are_counted_in_one_order() -> None:
    assert count_harness(["odd", "failing", "passing", "passing"]) == "2 passing, 1 failing, 1 odd"


def test_a_sparkline_spans_what_it_shows() -> None:
    assert sparkline([]) == ""
    assert sparkline([2, 2]) == "▄▄"
    assert sparkline([0, 7, 3]) == "▁█▄"
    assert sparkline([9, 1, 2], 2) == "▁█"


RUN: list[w.Happening] = [
    w.ProgramBegan(
        *("port", "test-driven", "autoloop/port", "/w"),
        resumed=False,
        models=(("test_writer", "m"),),
        harness=("passing", "blocked"),
        metrics=(1.0, 2.0),
        target_metric=4.0,
    ),
    w.Noted("the base measures 2 (it is new)"),
    w.IterationBegan("port", 3, "new"),
    w.StepBegan(61, "test_writer", "m", 4, "red"),
    w.Attempted(61, "test_writer", 1),
    w.Asked(61, "test_writer", 100, 60, 10, 0.9, 110, cost=0.25),
    w.StepEnded(61, "test_writer", "red", "last is the last item", prompt=100, cached=60, completion=10),
    w.StepBegan(62, "code_writer", "m", 3, "green"),
    w.Attempted(62, "code_writer", 2),
    w.StepEnded(62, "code_writer", "green", "the last item"),
    w.IterationDone(
        *("port", 3, "accepted", "last is the last item", "last", "0123456789abcdef", 4.0, 2.0),
        notes=("4 is better than 2",),
        harness=("passing", "blocked", "passing"),
        metrics=(1.0, 2.0, 4.0),
    ),
    w.RunEnded(
        "completed",
        "the target 4 is met by 4",
        1,
        ("0123456789abcdef",),
        110,
        60,
        40,
        cost=0.25,
        program="port",
    ),
]


def test_plain_lines_tell_a_program_in_order() -> None:
    told = [line.text for happening in RUN for line in run.lines(happening)]
    assert told == [
        "program port (test-driven), on autoloop/port",
        "  test_writer: m",
        "  in /w",
        "note: the base measures 2 (it is new)",
        "iteration 3: one more behaviour",
        "step 61: red: test_writer (m)",
        "step 61: test_writer: red: last is the last item",
        "    110 tokens: 40 read and 60 cached (60%), 10 written",
        "step 62: green: code_writer (m)",
        "step 62: code_writer: green: the last item",
        "iteration 3: accepted: 012345678 last is the last item, metric 4 (+2)",
        "    4 is better than 2",
        "completed: the target 4 is met by 4",
        "  1 iteration, 1 commit; 110 tokens: 40 read and 60 cached (60%), 10 written; cost 0.2500",
        "next: ",
    ]


def test_a_step_shows_its_dot_in_the_colour_of_what_it_made() -> None:
    dots = [run.lines(happening)[0].dot for happening in RUN if isinstance(happening, w.StepEnded)]
    assert dots == ["red", "green"]
    blocked = run.lines(w.StepEnded(62, "code_writer", "blocked", "still-red"))[0]
    assert (blocked.text, blocked.dot) == ("step 62: code_writer: blocked: no attempt was accepted", "yellow")


def test_a_glance_at_a_program_has_phase_attempt_harness_metric_tokens_and_money() -> None:
    glance = run_live.Glance()
    shown = []
    for happening in RUN:
        glance = run_live.after(glance, happening)
        shown.append((glance.harness, run_live.glance_lines(glance, 75.2)))
    assert shown[8] == (
        ("passing", "blocked", "failing"),
        [
            "port, iteration 3: green: the code_writer writes, attempt 2 of 3  (m)",
            "1:15  metric ▁█ 2 of 4  110 tokens (60 cached)  cost 0.25  red",
            "the base measures 2 (it is new)",
        ],
    )
    evaluated = run_live.after(glance, w.PhaseBegan("port", 3, "evaluate"))
    assert run_live.glance_lines(evaluated, 0)[0] == "port, iteration 3: evaluate"
    assert shown[9][0] == ("passing", "blocked", "passing")
    assert shown[10][1][1] == "1:15  metric ▁▃█ 4 of 4  110 tokens (60 cached)  cost 0.25  accepted"


def test_events_of_a_program_are_json_documents() -> None:
    kinds = [run.document(happening)["event"] for happening in RUN]
    assert kinds[0] == "program_began"
    assert {"iteration_began", "iteration_done", "run_ended"} <= set(kinds)
    assert run.document(RUN[0])["target_metric"] == 4.0


@pytest.mark.parametrize(
    "happening", [RUN[0], RUN[4], RUN[10], w.DaemonRests("2026-01-01", "nothing is due")]
)
def test_the_live_part_keeps_its_height_whatever_it_shows(happening: w.Happening) -> None:
    screen = run_live.RunScreen()
    for one in (RUN[0], happening):
        screen.glance = run_live.after(screen.glance, one)
    console = Console(width=80, height=24)
    assert len(console.render_lines(screen.render())) == 4
