from __future__ import annotations

import json

from verdigris.core.report import Status
from verdigris.core.state import PassedStep, Red
from verdigris.drivers import happenings as w
from verdigris.drivers.machine.history import CODER, TESTER, MachineSurvey
from verdigris.views import run, run_live, status
from verdigris.views.run_live import Glance

RUN: list[w.Happening] = [
    w.RunBegan(4, 5, resumed=True, worktree="/w", branch="main", models=(("tester", "m"),)),
    w.StepBegan(4, TESTER.name, "m", 5),
    w.Attempted(4, TESTER.name, 1),
    w.Delayed("over its limit; try 2 in 3 s"),
    w.Asked(4, TESTER.name, 100, 60, 10, 0.9, 110),
    w.Refused(4, TESTER.name, 1, "no test fails"),
    w.Attempted(4, TESTER.name, 2),
    w.StepEnded(
        4,
        TESTER.name,
        "committed",
        "",
        "0123456789abcdef",
        "test: one",
        "red",
        ("a.py:1: odd",),
        ("tests/t.py::test_one\nassert one() == 1\nAssertionError: assert -1 == 1",),
        "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1 +1,2 @@\n kept\n-old\n+def test_one():\n",
        100,
        60,
        10,
    ),
    w.StepBegan(5, CODER.name, "m", 5),
    w.Refused(5, CODER.name, 1, "still-red: it is"),
    w.StepEnded(5, CODER.name, "sent-back", "The implementor failed 1 times:\n1. still-red: it is"),
    w.StepEnded(6, TESTER.name, "blocked", "still-red: it is"),
    w.RunEnded(
        *("blocked", "still-red: it is", 2, ("0123456789abcdef",), 110, 60, 40, 0.9, "read"),
        points=("2 (two)",),
        lines=("a.py:3-4",),
    ),
]


def test_plain_lines_tell_a_run_in_order() -> None:
    told = [line.text for happening in RUN for line in run.lines(happening)]
    assert told == [
        "steps 4 to 5, taken up again, for main",
        "  tester: m",
        "  in /w",
        "step 4: tester (m)",
        "  waiting: over its limit; try 2 in 3 s",
        "  attempt 1 not accepted: no test fails",
        "step 4: red: 012345678 test: one",
        "    tests/t.py::test_one",
        "      assert one() == 1",
        "      AssertionError: assert -1 == 1",
        "    t.py",
        "      -old",
        "      +def test_one():",
        "    concern: a.py:1: odd",
        "    110 tokens: 40 read and 60 cached (60%), 10 written",
        "step 5: implementor (m)",
        "  attempt 1 not accepted: still-red: it is",
        "step 5: implementor: sent-back: The implementor failed 1 times",
        "step 6: tester: blocked: no attempt was accepted",
        "blocked",
        "  2 steps, 1 commit; 110 tokens: 40 read and 60 cached (60%), 10 written",
        "  points of the kata that no test was written for: 2 (two)",
        "  lines that no test runs: a.py:3-4",
        "next: read",
    ]


def test_each_event_is_a_json_document_with_all_its_fields() -> None:
    documents = [json.loads(json.dumps(run.document(happening))) for happening in RUN]
    assert [document["event"] for document in documents][:3] == ["run_began", "step_began", "attempted"]
    assert documents[7]["why"] == ""
    assert documents[7]["role"] == "tester"


def test_a_glance_has_role_step_attempt_tokens_dots_and_the_last_verdict() -> None:
    glance = Glance()
    for happening in RUN[:8]:
        glance = run_live.after(glance, happening)
    assert (glance.dots, glance.verdict) == ((("●", "red"),), "red")
    assert run_live.glance_lines(glance, 75.2) == [
        "step 4 of 5: the tester, attempt 2 of 5  (m)",
        "1:15  110 tokens (60 cached)  red",
    ]


def test_status_tells_the_next_step_the_last_commit_and_what_fails() -> None:
    red = Red("t::x", "t::x", "native", 1, "tree", "pytest", Status.FAIL, "valid", "AssertionError: 1", "t:3")
    stopped = PassedStep(5, "implementor", "blocked", "used up", "")
    found = MachineSurvey(
        5,
        "implementor",
        9,
        running=False,
        root="/w",
        commit="0123456789",
        subject="test: one",
        stopped=stopped,
        reds=(red,),
    )
    assert [line.text for line in status.machine_lines(found)] == [
        "machine: step 5 is the implementor's; a run to step 9 was interrupted: `tdd run` goes on  (in /w)",
        "  last commit 012345678 test: one",
        "  step 5, implementor: blocked: used up",
        "  red t::x at t:3: AssertionError: 1",
    ]
    assert status.machine_document(None) is None
    document = status.machine_document(found)
    assert document is not None
    assert document["stopped"]["outcome"] == "blocked"
