"""Names the move that leads on from a state, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core import cycle as cycles
from verdigris.core.actions import Deny
from verdigris.core.policy.reds import newest
from verdigris.core.state import Phase, Red
from verdigris.core.test_ids import shell_words

if TYPE_CHECKING:
    from collections.abc import Collection

    from verdigris.core.state import WorktreeState

SYNCS_IN = (Phase.RED, Phase.OFF)
"""The phases in which `tdd sync` moves the tree."""


FIRST_MOVE = "write one failing test, then `tdd test ID`"
"""Where nothing is red yet."""


def next_move(
    state: WorktreeState, *, claimable: Red | Deny | None = None, in_progress: str | None = None
) -> str:
    """The move that leads on from here, in one line.

    `claimable`: the red that this policy lets anyone claim now, or its denial; where nobody asked it, the red
    that was seen last is run again first, which is always allowed.
    """
    if in_progress is not None and state.phase is not Phase.OFF:
        return finish_git(state, in_progress)
    suspended = state.turn is not None and state.turn.suspended
    if state.open_cycle is not None and state.phase is not Phase.OFF and not suspended:
        return cycles.next_step(state.open_cycle, turn=state.turn is not None)
    match state.phase:
        case Phase.OFF:
            return "run `tdd on` to resume (a person's command)"
        case Phase.REFACTOR:
            return "restructure, then `tdd refactor end` (or `tdd refactor abort`)"
        case Phase.GREEN if state.turn is not None and state.turn.suspended:
            return (
                f"`tdd test {shell_words(*state.claims)}`{'' if state.turn.why else ' on the new baseline'}"
            )
        case Phase.GREEN:
            return "edit the claimed source, then `tdd settle`"
        case Phase.RED if state.test_bugs:
            bug = next(iter(state.test_bugs.values()))
            test = next(iter(bug.tests), bug.places[0].rpartition(":")[0])
            return (
                f"revise the test at {bug.places[0]}, then `tdd test {shell_words(test)}` "
                f"(or, if it is right, `tdd test-bug close {bug.id}`)"
            )
        case _:
            return _next_claim(state, claimable)


def next_after(state: WorktreeState, context: str, fellows: Collection[str]) -> str:
    """What an agent does while the open claims are all those of `fellows`, other agents of its session."""
    theirs = {claim.by for claim in state.claims.values()}
    if state.phase is not Phase.GREEN or context in theirs or not theirs.issubset(fellows):
        return ""
    claimed = ", ".join(state.claims)
    return f"wait: another agent of this session has claimed {claimed}; go on when it has settled"


def next_red(state: WorktreeState, tree: str) -> Red | None:
    """The red that the next claim cites: seen last, and on this tree where there is one."""
    return newest(state.valid_reds, tree) or newest(state.valid_reds)


def _next_claim(state: WorktreeState, claimable: Red | Deny | None) -> str:
    match claimable:
        case Red(test_id=test_id):
            return f"`tdd claim {shell_words(test_id)}`"
        case Deny(next=following):
            return following
        case None:
            red = newest(state.valid_reds)
            return f"`tdd test {shell_words(red.test_id)}`" if red else FIRST_MOVE


def finish_git(state: WorktreeState, in_progress: str) -> str:
    """`tdd sync` moves nothing under an open turn, and knows no bisect: then it is a person's own git."""
    if in_progress == "bisect":
        return "end it with `git bisect reset` (a person's command)"
    if state.phase not in SYNCS_IN:
        return (
            f"drop it with `git {in_progress} --abort`, or resolve it and finish it with "
            f"`git {in_progress} --continue` (a person's command)"
        )
    return (
        f"drop it with `tdd sync -- {in_progress} --abort`, "
        f"or resolve it and finish it with `tdd sync -- {in_progress} --continue`"
    )
