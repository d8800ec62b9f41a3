from __future__ import annotations

import pytest

from verdigris.cli import worktree as view
from verdigris.core.actions import Unclaimed
from verdigris.core.report import Status
from verdigris.core.state import Claim, LaidAside, OpenTestBug, Phase, Red, Turn, WorktreeState
from verdigris.core.value import replace
from verdigris.turns.survey import Survey

pytestmark = pytest.mark.quick

RED = Red("t::a", "t::a", "native", 3, "tree", "pytest", Status.FAIL, "valid", "AssertionError: no", "t.py:3")
NOT_VALID = Red("t::b", "t::b", "native", 4, "tree", "pytest", Status.ERROR, "import")
CONTRACT = ("phase", "reds", "claims", "violations", "next")
MORE = ("aside", "test_bugs", "unclaimed", "drift", "worktree", "branch")


def _survey(state: WorktreeState, **facts: object) -> Survey:
    return Survey("main", "trunk", state, **facts)  # type: ignore[arg-type]


def _texts(survey: Survey) -> list[str]:
    return [line.text for line in view.survey_lines(survey)]


def test_a_fresh_worktree_says_phase_and_next_move() -> None:
    assert _texts(_survey(WorktreeState(), next="write a test")) == [
        "phase red  (worktree main, trunk)",
        "next: write a test",
    ]


def test_one_line_with_a_red_dot_per_open_red() -> None:
    lines = list(view.survey_lines(_survey(WorktreeState(reds={"t::a": RED, "t::b": NOT_VALID}))))
    assert [(line.text, line.dot) for line in lines[1:3]] == [
        ("red t::a  AssertionError: no", "red"),
        ("red t::b (not claimable: import)", "red"),
    ]


def test_a_claim_is_red_until_its_last_run_passed_and_is_not_listed_twice() -> None:
    claims = {
        "t::a": Claim("t::a", "t::a", 3, ("calc.py",)),
        "t::c": Claim("t::c", "t::c", 3, ("x", "y"), implied=True),
    }
    state = WorktreeState(
        phase=Phase.GREEN, turn=Turn("t1", "tree"), claims=claims, reds={"t::a": RED}, strikes={"t::a": 1}
    )
    lines = list(view.survey_lines(_survey(state)))
    assert [(line.text, line.dot) for line in lines[1:-1]] == [
        ("red t::a → calc.py (claimed, 1 strike)", "red"),
        ("green t::c → x, y (claimed, implied)", "green"),
    ]


def test_what_waits_is_listed_with_the_way_to_have_it_back() -> None:
    state = WorktreeState(
        aside={
            "a1": LaidAside("a1", ("calc.py",), "e", "s", "2 strikes"),
            "a2": LaidAside("a2", ("b.py",), "e", "s", "test-bug", back_at_claim=True),
        },
        test_bugs={"b1": OpenTestBug("b1", ("t.py:3",), "wrong sign", "tree")},
    )
    texts = _texts(_survey(state))
    assert "set aside a1: calc.py (2 strikes); claim a red, then `tdd restore a1`" in texts
    assert "set aside a2: b.py (test-bug); a claim of its tests or files brings it back" in texts
    assert "test-bug b1 at t.py:3: wrong sign" in texts


def test_edits_before_a_red_are_told() -> None:
    survey = _survey(WorktreeState(), unclaimed=(Unclaimed("calc.py", 3, "a body changed"),))
    assert "unclaimed: calc.py:3 a body changed" in _texts(survey)


def test_a_known_failure_is_told_apart() -> None:
    survey = _survey(WorktreeState(reds={"t::a": replace(RED, known=True)}))
    assert _texts(survey)[1].startswith("known failure t::a")
    assert view.survey_document(survey)["reds"][0]["known"] is True


def test_drift_in_green_is_told() -> None:
    state = WorktreeState(phase=Phase.GREEN, turn=Turn("t1", "tree"), violations=("conftest.py",))
    texts = _texts(_survey(state, drift=("t.py",)))
    assert "violation: conftest.py" in texts
    assert any(text.startswith("drift: t.py") for text in texts)


def test_off_suspended_and_detached_are_told() -> None:
    off = WorktreeState(phase=Phase.OFF, off_why="spike")
    assert _texts(Survey("main", None, off))[0] == "phase off: spike  (worktree main, detached)"
    suspended = WorktreeState(phase=Phase.GREEN, turn=Turn("t1", "tree", suspended=True))
    assert "suspended" in _texts(_survey(suspended))[0]
    assert view.survey_document(_survey(suspended))["suspended"] is True


def test_the_document_has_the_keys_of_the_contract() -> None:
    document = view.survey_document(_survey(WorktreeState(reds={"t::a": RED}), notes=("n",)))
    assert document.keys() >= {*CONTRACT, *MORE}
    assert document["reds"][0]["id"] == "t::a"
    assert (document["worktree"], document["branch"], document["notes"]) == ("main", "trunk", ["n"])
