"""What a person is shown of a session, beside what happens in it."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest

from support.code_sessions import GREEN, RED, TEST_ID, session_after
from verdigris.core.events import Accepted, Event, RefactorEnded, Repair, Settled
from verdigris.drivers.code.facts import StepFacts, VerdictFacts, read_changes, read_facts, verdict_after
from verdigris.models.protocol import Usage

STILL_RED = Settled(turn="t1", verdict="still-red", tree="x", reasons=("2 is not 3",), concerns=("odd",))
GOOD = Settled(turn="t1", verdict="accepted", tree="x")


def accepted(test_id: str) -> Accepted:
    return Accepted(test_id=test_id, red=1, before="a", after="b", paths=("x.py",), green=2)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("events", "last"),
    [
        ((), VerdictFacts()),
        ((STILL_RED,), VerdictFacts("still-red", reasons=("2 is not 3",), concerns=("odd",))),
        ((STILL_RED, GOOD, accepted("a"), accepted("b")), VerdictFacts("accepted", tests=("a", "b"))),
        (
            (STILL_RED, Repair(why="2 strikes", test_ids=("a",), aside="a1")),
            VerdictFacts("still-red", reasons=("2 is not 3",), concerns=("odd",), aside="a1"),
        ),
        (
            (GOOD, RefactorEnded(verdict="regressed", tree="y", reasons=("b fails",))),
            VerdictFacts("regressed", reasons=("b fails",), refactor=True),
        ),
    ],
)
def test_the_last_verdict_is_what_the_log_says_of_it(events: tuple[Event, ...], last: VerdictFacts) -> None:
    assert reduce(verdict_after, events, VerdictFacts()) == last


@pytest.mark.slow
def test_the_facts_of_a_session_are_those_of_the_log_the_worktree_and_the_meter(tmp_path: Path) -> None:
    prices = "code: {prices: {input: 1.0, output: 2.0}}\n"
    with session_after(tmp_path, *RED, GREEN, turns=2, config=prices) as (played, session):
        changes = read_changes(session)
        facts = read_facts(session, changes)
        assert (facts.session, facts.model, facts.phase) == (session.file.name, "scripted", "red")
        assert facts.steps == (StepFacts("add two numbers", TEST_ID, "red"),)
        assert facts.verdict == VerdictFacts()
        assert changes.of == "the last turn"
        assert "+def add(a, b):" in changes.lines
        assert facts.usage == session.meter.usage != Usage()
        assert facts.cost is not None
        assert facts.cost > 0
        played.repo.write("calculator.py", "def add(a, b):\n    return 0\n")
        assert "+    return 0" in read_changes(session).lines


@pytest.mark.slow
def test_an_accepted_step_is_green(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, turns=3) as (_, session):
        facts = read_facts(session)
        assert facts.steps == (StepFacts("add two numbers", TEST_ID, "green"),)
        assert facts.verdict == VerdictFacts("accepted", tests=(TEST_ID,))
        assert facts.cost is None
