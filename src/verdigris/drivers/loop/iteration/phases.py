"""The order of an iteration, and when a program stops: decisions on its state, without any effect."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.loop.history import BLOCKED, CI_EXHAUSTED, REJECTED

if TYPE_CHECKING:
    from verdigris.drivers.loop.history import OpenIteration, ProgramState

RETRIES = 3
"""Attempts to make a test pass before the test itself is doubted."""
ERRORS = 3
"""Iterations in a row with an error, after which the test is rethought; one more pauses the program."""
PLATEAU = 5
"""Rejections in a row that pause the program."""


class LoopPhase(StrEnum):
    RED = "red"
    GREEN = "green"
    RETHINK = "rethink-test"
    BLOCK = "block"
    REFACTOR = "refactor"
    OPTIMIZE = "optimize"
    COMMIT = "commit"
    EVALUATE = "evaluate"
    ACCEPT = "accept"


def choose_iteration(state: ProgramState) -> str:
    """A red that was left comes before anything new; three errors in a row doubt the test."""
    if state.errors >= ERRORS:
        return "rethink"
    return "failing" if state.failing else "new"


def next_phase(now: OpenIteration, *, is_test_driven: bool, committed: bool, attempts: int) -> LoopPhase:
    """`attempts`: the most there may be to make a pinned test pass."""
    if is_test_driven and (phase := _pinning(now, attempts)) is not None:
        return phase
    if now.refactor is None:
        return LoopPhase.REFACTOR if is_test_driven else LoopPhase.OPTIMIZE
    if not committed:
        return LoopPhase.COMMIT
    return LoopPhase.EVALUATE if now.measured is None else LoopPhase.ACCEPT


def _pinning(now: OpenIteration, attempts: int) -> LoopPhase | None:
    if now.pinned is None:
        return LoopPhase.RED
    if now.made is not None:
        return None
    if now.attempts >= attempts:
        return LoopPhase.BLOCK
    doubted = now.attempts >= RETRIES or now.choice == "rethink"
    return LoopPhase.RETHINK if doubted and not now.rethought else LoopPhase.GREEN


def attempts_left(now: OpenIteration, attempts: int) -> int:
    """How often the code may still be tried before the test is doubted or given up."""
    return (attempts if now.rethought else min(RETRIES, attempts)) - now.attempts


# -- when it stops ----------------------------------------------------------------------------


class LoopOutcome(StrEnum):
    """How a run ends: one vocabulary for all programs."""

    COMPLETED = "completed"
    NOTHING_DUE = "nothing-due"
    LIMIT = "limit"
    STUCK = "stuck"
    BLOCKED = "blocked"
    PAUSED = "paused"
    INFRASTRUCTURE = "infrastructure"


EXIT_CODES = {
    LoopOutcome.COMPLETED: 0,
    LoopOutcome.LIMIT: 0,
    LoopOutcome.NOTHING_DUE: 1,
    LoopOutcome.STUCK: 5,
    LoopOutcome.BLOCKED: 6,
    LoopOutcome.PAUSED: 7,
    LoopOutcome.INFRASTRUCTURE: 69,
}


@value
class LoopEnd:
    outcome: LoopOutcome
    why: str
    next: str


def pause_reason(state: ProgramState) -> str:
    """Why the program stops itself after its last iteration; empty: it goes on."""
    last = state.iterations[-1] if state.iterations else None
    if last is None:
        return ""
    if last.status == BLOCKED:
        return f"td-stuck: {last.target}"
    if last.status == CI_EXHAUSTED:
        return last.notes[0] if last.notes else "ci-fix-exhausted"
    if state.errors > ERRORS:
        return f"consecutive errors: {state.errors}, the test was rethought in between"
    recent = state.recent[-PLATEAU:]
    if len(recent) == PLATEAU and set(recent) == {REJECTED}:
        return f"plateau: the last {PLATEAU} iterations were rejected"
    return ""


def end_of_pause(name: str, reason: str) -> LoopEnd:
    """As a run is ended by a pause, whoever made it."""
    following = f"look at `tdd loop status {name}`, then `tdd loop resume {name}`"
    if reason.startswith("td-stuck"):
        return LoopEnd(LoopOutcome.BLOCKED, reason, following)
    stuck = ("consecutive errors", "plateau", "ci-", "stuck in CI")
    return LoopEnd(LoopOutcome.STUCK if reason.startswith(stuck) else LoopOutcome.PAUSED, reason, following)


_REPORTING = frozenset(
    {
        "added",
        "implemented",
        "fixed",
        "wrote",
        "refactored",
        "made",
        "changed",
        "created",
        "updated",
        "i",
        "we",
    }
)
_REPORTED = ("this iteration", "in iteration", "the test passes", "all tests pass", "now passes")


def is_report(lesson: str) -> bool:
    """Whether a lesson tells what was done instead of what holds."""
    words = lesson.casefold().split()
    return bool(words) and (
        not _REPORTING.isdisjoint(words[:3])
        or any(f" {phrase} " in f" {' '.join(words)} " for phrase in _REPORTED)
    )
