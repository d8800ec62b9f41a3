from __future__ import annotations

import pytest

from verdigris.cli import turn as view
from verdigris.core.report import RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.verdict import Kind, Verdict
from verdigris.turns.settle import Settlement

pytestmark = pytest.mark.quick


def _result(name: str, status: Status) -> TestResult:
    return TestResult(f"t::{name}", f"t::{name}", "native", status, RunPhase.CALL, 1)


REPORT = TestReport(
    "pytest",
    RunEnd.FINISHED,
    0,
    5,
    (_result("claimed", Status.PASS), _result("other", Status.PASS), _result("bad", Status.FAIL)),
    sandbox="overlay",
    wrote=("tests/golden.txt",),
)


def _settlement(verdict: Verdict, **facts: object) -> Settlement:
    usual = {
        "report": REPORT,
        "claimed": ("t::claimed",),
        "accepted": (),
        "paths": ("calc.py",),
        "aside": None,
        "phase": "red",
        "next": "write a test",
        "footer": "[tdd] the footer",
    }
    return Settlement(verdict, **(usual | facts))  # type: ignore[arg-type]


def test_a_person_gets_one_block_and_a_model_the_footer_behind_it() -> None:
    settled = _settlement(Verdict(Kind.ACCEPTED), accepted=("t::claimed",))
    lines = view.settled_lines(settled)
    assert [line.text for line in lines] == ["accepted", "  t::claimed", "next: write a test"]
    assert lines[0].dot == "green"
    assert [line.text for line in view.settled_lines(settled, for_model=True)][-1] == "[tdd] the footer"


def test_claims_are_accepted_in_one_word_with_a_line_of_its_own_and_listed_below_it() -> None:
    settled = _settlement(Verdict(Kind.ACCEPTED, (), ("a table",)), accepted=("t::a", "t::b"))
    texts = [line.text for line in view.settled_lines(settled)]
    assert texts == ["accepted", "  t::a", "  t::b", "  concern: a table", "next: write a test"]


def test_a_first_strike_says_how_many_are_left_and_the_way_out() -> None:
    verdict = Verdict(Kind.STILL_RED, ("tests/t.py::a: AssertionError",))
    texts = [
        line.text
        for line in view.settled_lines(
            _settlement(verdict, claimed=("tests/t.py::a",), strikes=1, limit=2, report_wrong="or report it")
        )
    ]
    assert (
        "  try 1 of 2: after the next one your edits are set aside, and `tdd restore` brings them back"
        in texts
    )
    assert "  or report it" in texts


def test_a_refusal_gives_reasons_concerns_and_the_way_back() -> None:
    verdict = Verdict(Kind.REGRESSED, ("t::bad: AssertionError",), ("unstable: t::x",))
    lines = view.settled_lines(_settlement(verdict, aside="a1", output=("E501 too long\n",)))
    texts = [line.text for line in lines]
    assert lines[0].dot == "red"
    assert texts[:4] == [
        "regressed",
        "  t::bad: AssertionError",
        "  concern: unstable: t::x",
        "    E501 too long",
    ]
    assert any("a1" in text and "tdd restore a1" in text for text in texts)


def test_the_document_names_claimed_tests_and_those_that_do_not_pass() -> None:
    document = view.settled_document(_settlement(Verdict(Kind.STILL_RED, ("why",)), aside="a1"))
    assert document["tests"] == [{"id": "t::claimed", "status": "pass"}, {"id": "t::bad", "status": "fail"}]
    assert {name: document[name] for name in document if name != "tests"} == {
        "sandbox": "overlay",
        "wrote": ["tests/golden.txt"],
        "verdict": "still-red",
        "reasons": ["why"],
        "concerns": [],
        "accepted": [],
        "owed": [],
        "paths": ["calc.py"],
        "aside": "a1",
        "phase": "red",
        "next": "write a test",
        "footer": "[tdd] the footer",
    }


def test_the_end_of_a_refactor_is_told_the_same_way() -> None:
    ended = Settlement(Verdict(Kind.ACCEPTED), REPORT, ("calc.py",), None, "red", "go on", "[tdd] f")
    assert [line.text for line in view.settled_lines(ended)] == ["accepted", "next: go on"]
    assert view.settled_lines(ended, for_model=True)[-1].text == "[tdd] f"
    assert view.refactor_document(ended)["verdict"] == "accepted"
