"""What the tree shows decides the next move, in a fixed order."""

from __future__ import annotations

from typing import Any

import pytest

from verdigris.core.actions import Deny, Unclaimed
from verdigris.core.policy.next_move import FIRST_MOVE, Asker, TreeFacts, next_move
from verdigris.core.report import Status
from verdigris.core.state import Claim, LaidAside, OpenTestBug, Phase, Red, Turn, WorktreeState
from verdigris.core.value import replace

pytestmark = pytest.mark.quick

RED = Red("t.py::a", "t.py::a", "native", 1, "tree", "pytest", Status.FAIL, "valid")
KNOWN = replace(RED, test_id="old.py::b", native_id="old.py::b", known=True)
STATE = WorktreeState(ground="ground")
BUGGED = replace(STATE, test_bugs={"b1": OpenTestBug("b1", ("t.py:3",), "why", "tree", ("t.py::a",))})
ORDER: list[tuple[dict[str, Any], str]] = [
    ({"in_progress": "merge"}, "drop it with `tdd sync -- merge --abort`"),
    ({"hindrance": "install pytest"}, "install pytest"),
    ({"unclassed": ("app/tests.py",)}, "a person names app/tests.py under `test:`"),
    ({"unclaimed": (Unclaimed("a.py", 1, "why"),)}, "`tdd aside`"),
    ({"losses": ("t.py:3: removed: was `x`",)}, "put back what t.py lost"),
    ({"unparsed": ("a.py",)}, "mend a.py, which does not parse, then `tdd test`"),
    ({"claimable": (RED,)}, "`tdd claim t.py::a`"),
    ({"undeclared": "t.py"}, "`tdd stub t.py`"),
    ({"unloaded": "t.py", "touched": True}, "`tdd test t.py`"),
    ({"struck": ("t.py::a",)}, "`tdd test t.py::a` shows"),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_each_fact_comes_before_those_below_it(first: int) -> None:
    facts = {key: value for shown, _ in reversed(ORDER[first:]) for key, value in shown.items()}
    assert next_move(STATE, TreeFacts(**facts)).startswith(ORDER[first][1])


def test_a_file_that_did_not_load_is_run_again_only_if_something_changed() -> None:
    assert (
        next_move(STATE, TreeFacts(unloaded="t.py"))
        == "correct t.py, which does not load, then `tdd test t.py`"
    )


def test_a_known_failure_is_offered_and_does_not_come_first() -> None:
    assert next_move(STATE, TreeFacts(claimable=(KNOWN,))).startswith(f"{FIRST_MOVE}; a known failure")
    wrong = replace(STATE, reds={"old.py::b": replace(KNOWN, why="import")})
    assert next_move(wrong) == FIRST_MOVE


@pytest.mark.parametrize(("why", "told"), [("import", "asks for a name"), ("fixture", "t.py::a: repair it")])
def test_a_red_that_does_not_count_says_what_to_correct(why: str, told: str) -> None:
    state = replace(STATE, reds={"t.py::a": replace(RED, why=why)})
    assert told in next_move(state)


def test_a_revised_test_of_a_report_is_run() -> None:
    assert next_move(BUGGED).startswith("revise t.py::a")
    assert next_move(BUGGED, TreeFacts(revised=frozenset({"b1"}))) == "`tdd test t.py::a`"


def test_reports_are_named_together() -> None:
    bugs = {"b1": OpenTestBug("b1", ("t.py:3",), "", "x", ("t.py::a",))}
    bugs["b2"] = OpenTestBug("b2", ("t.py:8",), "", "x", ("t.py::b",))
    state = replace(STATE, test_bugs=bugs)
    assert next_move(state).startswith("revise t.py::a, t.py::b, then `tdd test t.py::a t.py::b`")
    half = next_move(state, TreeFacts(revised=frozenset({"b1"})))
    assert half.startswith("revise t.py::b, then `tdd test t.py::a t.py::b`")
    assert next_move(state, TreeFacts(revised=frozenset(bugs))) == "`tdd test t.py::a t.py::b`"


def test_a_test_with_two_reports_is_named_once() -> None:
    bugs = {name: OpenTestBug(name, ("t.py:3",), "", "x", ("t.py::a",)) for name in ("b1", "b2")}
    told = next_move(replace(STATE, test_bugs=bugs))
    assert told.startswith("revise t.py::a, then `tdd test t.py::a` (or")


def test_a_report_and_what_is_lost_are_named_together() -> None:
    losses = ("u.py:3: removed: was `x`",)
    told = "revise t.py::a, put back what u.py lost, then `tdd test t.py::a` (or, if the test is "
    assert next_move(BUGGED, TreeFacts(losses=losses)).startswith(told)
    told = "put back what u.py lost, then `tdd test t.py::a`; or a person gives it up"
    assert next_move(BUGGED, TreeFacts(losses=losses, revised=frozenset({"b1"}))).startswith(told)


def test_all_that_a_person_has_to_write_is_named_before_one_run_of_all_that_waits_for_it() -> None:
    other = replace(RED, test_id="u.py::b", native_id="u.py::b")
    state = replace(BUGGED, reds={"u.py::b": other, "old.py::b": KNOWN}, unloaded={"v.py": "tree"})
    facts = TreeFacts(losses=("u.py:3: removed: was `x`",), unparsed=("a.py",))
    told = (
        "revise t.py::a, put back what u.py lost, mend a.py, which does not parse, "
        "then `tdd test t.py::a u.py::b v.py` (or, if the test is right, `tdd test-bug close b1`)"
    )
    assert next_move(state, facts) == told


def test_an_agent_asks_for_source_that_does_not_parse_where_no_test_runs() -> None:
    agent = Asker(is_agent=True)
    broken = TreeFacts(unparsed=("a.py",))
    assert next_move(STATE, broken, agent).startswith("`tdd refactor begin` opens a.py")
    silent = TreeFacts(unparsed=("a.py", "b.py"), silent=True)
    assert next_move(STATE, silent, agent).startswith("ask the person to mend a.py, which does not parse: ")
    assert next_move(STATE, silent) == "mend a.py, b.py, which do not parse, then `tdd test`"
    assert "mend" not in next_move(BUGGED, broken, agent)


def test_a_denied_claim_names_its_way_out() -> None:
    assert next_move(STATE, TreeFacts(claimable=Deny("x", "why", "do this"))) == "do this"


def test_what_waits_for_a_claim_is_named_to_a_person_who_may_restore_it() -> None:
    laid = LaidAside("a1", ("a.py",), "edited", "start", "why", back_at_claim=True)
    state = replace(STATE, aside={"a1": laid})
    assert "`tdd restore a1`" in next_move(state)
    assert next_move(state, asker=Asker(is_agent=True)) == FIRST_MOVE


GREEN = replace(
    STATE,
    phase=Phase.GREEN,
    turn=Turn("t1", "tree"),
    claims={"t.py::a": Claim("t.py::a", "t.py::a", 1, (".",))},
)


def test_in_green_drift_comes_first_and_then_the_verdict_on_an_edit() -> None:
    back = "put d.csv back as the open turn froze it (`tdd restore d.csv`)"
    assert next_move(GREEN, TreeFacts(drift=("d.csv",), edited=True)) == f"{back}, then `tdd settle`"
    assert next_move(GREEN, TreeFacts(edited=True)) == "`tdd settle`"
    assert next_move(GREEN, TreeFacts(edited=True, returned=True)).startswith("finish the source edits that")
    assert next_move(GREEN) == "edit the claimed source, then `tdd settle`"


def test_what_strikes_set_aside_is_offered_with_the_new_claim() -> None:
    laid = LaidAside("a1", ("a.py",), "edited", "start", "2 strikes", test_ids=("t.py::a",))
    told = next_move(replace(GREEN, aside={"a1": laid}))
    assert (
        told == "edit the claimed source (`tdd restore a1` brings your former edits back), then `tdd settle`"
    )


def test_an_agent_waits_for_a_fellows_claim_and_for_nobody_who_has_left() -> None:
    theirs = replace(GREEN, claims={"t.py::a": replace(GREEN.claims["t.py::a"], by="s2")})
    asker = Asker(is_agent=True, context="s1", fellows=frozenset({"s2"}))
    assert next_move(theirs, asker=asker).startswith("wait: another agent")
    assert "wait" not in next_move(theirs, asker=Asker(is_agent=True, context="s1"))
    assert "wait" not in next_move(theirs, asker=Asker(is_agent=True, context="s2"))
