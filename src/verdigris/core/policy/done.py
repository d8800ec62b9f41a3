"""Decides whether work is done: what of it is open, and what an end with nothing open is worth.

One rule for a session, the machine, the loop and every agent's stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from verdigris.core.report import Status
from verdigris.core.test_ids import function_of
from verdigris.core.value import field, value

Ending = Literal["done", "answered", "not-done"]
_FAILED = frozenset({Status.FAIL, Status.ERROR})


@value
class SuiteComparison:
    """The tests of the tree that the work began with, and those of the tree that it leaves."""

    before: Mapping[str, Status | None] = field(default_factory=dict)
    """By native id; None where nobody knows how the test ended there."""
    now: Mapping[str, Status | None] | None = None
    """None: they were not looked at, because nothing that decides about them changed."""
    written: frozenset[str] = frozenset()
    """Of those that are no longer collected: ids of tests that are still in their file."""
    given_up: frozenset[str] = frozenset()
    """By a person, with a reason, or renamed by an accepted refactor."""


@value
class WorkFacts:
    """What was found about the work since its start."""

    standing: tuple[str, ...] = ()
    """What the phase leaves open: a cycle's stage, a suspended turn, an open refactor."""
    claims: tuple[str, ...] = ()
    """Claimed and not settled."""
    reds: Mapping[str, str] = field(default_factory=dict)
    """Native id of a failing test → how it fails."""
    aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What strikes set aside and nobody brought back, each with its tests that were not accepted since."""
    suite: SuiteComparison = SuiteComparison()
    since_accepted: SuiteComparison = SuiteComparison()
    """The same, with the tests of the ground instead of those of the start."""
    losses: tuple[str, ...] = ()
    """Tests and assertions that became weaker, by their text."""
    changed: tuple[str, ...] = ()
    """Assertions that ask for something else now, and that no test-bug and no revision covers."""
    unclaimed: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    """What the work decides and no test notices."""
    bugs: tuple[str, ...] = ()
    """Reports of wrong tests that wait for a person."""
    noted: tuple[str, ...] = ()
    """What a person should know, and what leaves nothing open."""


def find_open(facts: WorkFacts) -> tuple[str, ...]:
    """What is left open, a line each; nothing: the work is proven."""
    failed_before = {i for i, status in facts.suite.before.items() if status in _FAILED}
    lost = (*facts.losses, *lost_tests(facts.suite), *lost_tests(facts.since_accepted))
    return tuple(
        dict.fromkeys(
            (
                *facts.standing,
                *(f"{test} is claimed and not settled" for test in facts.claims),
                *(f"{test} is red: {how}" for test, how in facts.reds.items() if test not in failed_before),
                *(f"{name} was set aside after strikes: {_about(of)}" for name, of in facts.aside.items()),
                *(f"the suite lost something: {loss}" for loss in lost),
                *(f"an assertion changed: {change}" for change in facts.changed),
                *(f"no claim covers {edit}" for edit in facts.unclaimed),
                *facts.owed,
                *facts.bugs,
            )
        )
    )


def find_notes(facts: WorkFacts) -> tuple[str, ...]:
    """What a person is told beside it: failures that were there before, and what was noted."""
    failed_before = {i for i, status in facts.suite.before.items() if status in _FAILED}
    old = (f"{test} fails as before: {how}" for test, how in facts.reds.items() if test in failed_before)
    return (*old, *facts.noted)


def _about(tests: tuple[str, ...]) -> str:
    return f"{', '.join(tests)} is not accepted" if tests else "a refactor"


def lost_tests(suite: SuiteComparison) -> tuple[str, ...]:
    """Tests of the start that are no longer run, by whatever means, a line each."""
    if suite.now is None:
        return ()
    return (*hidden_tests(suite), *_unreplaced(suite), *_skipped(suite))


def hidden_tests(suite: SuiteComparison) -> tuple[str, ...]:
    """Tests that are still in their file and not collected, and tables with fewer cases, a line each."""
    had, has = (Counter(map(function_of, tests)) for tests in (suite.before, suite.now or ()))
    written = {function_of(test) for test in suite.written}
    lines = {
        function: f"{function}: it has {has[function]} cases, and had {had[function]}"
        if has[function]
        else f"{function}: it is still in its file, and is no longer collected"
        for function in _gone(suite)
        if (has[function] or function in written) and has[function] < had[function]
    }
    return tuple(lines.values())


def _unreplaced(suite: SuiteComparison) -> Iterator[str]:
    """A test that is gone from its file may have a new name: then as many new tests are collected."""
    had, has = (frozenset(map(function_of, tests)) for tests in (suite.before, suite.now or ()))
    written = {function_of(test) for test in suite.written}
    away = [function for function in _gone(suite) if function not in has | written]
    yield from (
        f"{function}: it is gone, and no new test takes its place" for function in away[len(has - had) :]
    )


def _gone(suite: SuiteComparison) -> tuple[str, ...]:
    """The tests of which something is not collected any more."""
    now = suite.now or {}
    gone = (test for test in suite.before if test not in now and test not in suite.given_up)
    return tuple(dict.fromkeys(map(function_of, gone)))


def _skipped(suite: SuiteComparison) -> Iterator[str]:
    for test, status in (suite.now or {}).items():
        if status is Status.SKIP and suite.before.get(test) is Status.PASS and test not in suite.given_up:
            yield f"{test}: it passed before and is skipped now"


_GIVES_UP = re.compile(
    r"\b(?:I|we)\b[^.!?\n]{0,20}\b(?:give|giving|given) up\b"
    r"|\b(?:I|we)(?:'m| am| are| was| were)? (?:can ?not|can't|could not|couldn't|unable to|not able to) "
    r"(?:do|complete|finish|solve|carry out|understand) (?:this|that|the|your|it)\b"
    r"|\b(?:I|we) do(?:n't| not) understand (?:this|the|your) task\b",
    re.IGNORECASE,
)


def judge_end(reply: str, *, changed: Collection[str], accepted: Collection[str], tried: bool) -> Ending:
    """What an end with nothing open is worth. `tried`: the model tried to change something.

    Who changed nothing and did not try to was asked a question.
    """
    if changed or accepted:
        return "done"
    return "not-done" if tried or _GIVES_UP.search(reply) else "answered"
