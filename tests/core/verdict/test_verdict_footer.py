from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.verdict import LIMIT, Kind, Verdict, footer

LINES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=400)


def test_it_says_verdict_subject_edits_phase_and_next_move() -> None:
    text = footer(
        Verdict(Kind.ACCEPTED), ["t.py::a", "t.py::b"], ["src/a.py"], "red", "write one failing test"
    )
    assert text == (
        "[tdd] accepted: t.py::a and 1 more; edited src/a.py. phase red; next: write one failing test"
    )


def test_a_reason_takes_the_place_of_the_claims() -> None:
    verdict = Verdict(Kind.STILL_RED, ("t.py::a: AssertionError: assert 1 == 2",))
    assert "AssertionError: assert 1 == 2; edited src/a.py" in footer(
        verdict, ["t.py::a"], ["src/a.py"], "green", "x"
    )


def test_an_accepted_edit_is_told_its_first_concern() -> None:
    verdict = Verdict(Kind.ACCEPTED, concerns=("src/a.py:3: a table of answers", "src/a.py:9: code"))
    assert footer(verdict, ["t.py::a"], ["src/a.py"], "red", "x") == (
        "[tdd] accepted: t.py::a; 2 concerns: src/a.py:3: a table of answers; edited src/a.py. "
        "phase red; next: x"
    )
    one = footer(Verdict(Kind.ACCEPTED, concerns=("no",)), ["t"], [], "red", "x")
    assert one == "[tdd] accepted: t; 1 concern: no. phase red; next: x"


def test_a_refusal_keeps_its_room_for_its_reason() -> None:
    verdict = Verdict(Kind.HOLLOW, ("it still passes",), ("src/a.py:3: a table of answers",))
    assert "table" not in footer(verdict, ["t"], [], "green", "x")


@given(reason=LINES, path=LINES, following=LINES)
def test_it_never_outgrows_its_budget(reason: str, path: str, following: str) -> None:
    text = footer(Verdict(Kind.REGRESSED, (reason,)), ["t"], [path], "green", following)
    assert len(text) <= LIMIT
    assert "\n" not in text
    assert text.startswith("[tdd] regressed: ")
