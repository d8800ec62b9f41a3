"""What a session leaves, compared with its start."""

from __future__ import annotations

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_ADD, TEST_SUB, World
from verdigris.core.events import SessionStarted, SuiteCollected
from verdigris.core.policy.done import find_notes, find_open
from verdigris.turns.completion import begin_session, gather_work
from verdigris.turns.person import revise, switch_off, switch_on
from verdigris.turns.test_bug import report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")
OTHER = TEST_ADD.replace("add(2, 3) == 5", "add(3, 3) == 6")


@pytest.fixture
def session(world: World) -> World:
    world.test()
    begin_session(world.project, "s1")
    return world


def left(world: World, session: str = "s1") -> str:
    return "\n".join(find_open(gather_work(world.project, session)))


def test_a_start_is_recorded_once_with_the_suite_that_is_known(session: World) -> None:
    begin_session(session.project, "s1")
    begin_session(session.project, "")
    [started] = session.events(SessionStarted)
    assert isinstance(started, SessionStarted)
    assert started.suite == session.state.baseline.record  # type: ignore[union-attr]
    assert left(session) == ""
    assert not session.events(SuiteCollected)


def test_an_accepted_turn_leaves_nothing_open(session: World) -> None:
    session.green()
    assert left(session) == f"{SUB_ID} is claimed and not settled"
    session.write("calc.py", CALC + SUB)
    session.settle()
    assert left(session) == ""


def test_what_is_lost_stays_lost_after_a_commit_and_is_given_up_by_a_person_alone(session: World) -> None:
    (session.root / "tests/test_add.py").unlink()
    session.repo.commit("fewer tests")
    assert "tests/test_add.py" in left(session)
    revise(session.project, ["tests/test_add.py"], "nobody adds any more")
    assert left(session) == ""


def test_a_changed_assertion_needs_a_reason(session: World) -> None:
    session.write("tests/test_add.py", OTHER)
    assert "an assertion changed: tests/test_add.py:5" in left(session)
    report_bug(session.project, ["tests/test_add.py:5"], "three is more", cwd=session.root)
    assert left(session) == ""
    assert any("three is more" in note for note in find_notes(gather_work(session.project, "s1")))


def test_a_branch_that_a_person_chose_is_no_loss(session: World) -> None:
    session.repo.git("switch", "-q", "-c", "other")
    session.write("tests/test_add.py", OTHER)
    session.repo.commit("another requirement")
    session.repo.git("switch", "-q", "main")
    begin_session(session.project, "s2")
    session.repo.git("switch", "-q", "other")
    session.test()
    assert left(session, "s2") == ""


def test_what_happens_while_the_law_is_off_is_a_persons_matter(session: World) -> None:
    switch_off(session.project, "a spike")
    session.write("tests/test_add.py", OTHER)
    assert left(session) == ""
    switch_on(session.project)
    assert left(session) == ""


def test_a_test_file_that_does_not_load_is_open(session: World) -> None:
    session.write("tests/test_sub.py", "import (\n" + TEST_SUB)
    assert "tests/test_sub.py does not load" in left(session)


def test_a_session_that_is_not_known_is_compared_with_the_ground(session: World) -> None:
    session.write("tests/test_add.py", "")
    assert "the suite lost something" in left(session, "unknown")
