"""Decides on claims: the phase, the targets, the red that is cited, and what the suite lost."""

from __future__ import annotations

from collections.abc import Sequence

from verdigris.core.actions import Allow, BlockTests, ClaimTest, Decision, Deny
from verdigris.core.paths import PathClass
from verdigris.core.policy import cycle as cycles
from verdigris.core.policy.next_move import give_up_losses, next_move, run_command
from verdigris.core.state import Phase, Turn, WorktreeState
from verdigris.core.test_ids import shell_words, split_id
from verdigris.core.value import replace
from verdigris.core.verdict.redness import way_out, why_not

_MANY_LOSSES = 20
"""The most losses of a suite that are listed."""


def deny_suspended(state: WorktreeState, turn: Turn) -> Deny:
    why = turn.why or "HEAD moved under the open turn: its reds are not proven on the new baseline"
    return Deny("suspended", f"{why}.", f"`tdd test {shell_words(*state.claims)}`")


def decide_claim(state: WorktreeState, action: ClaimTest) -> Decision:
    in_cycle = cycles.deny_claim(state.open_cycle, action.test_id) if state.open_cycle else None
    return (
        decide_claim_phase(state)
        or in_cycle
        or _claim_targets(action)
        or _claim_red(state, action)
        or Allow()
    )


def decide_claim_phase(state: WorktreeState) -> Deny | None:
    match state.phase:
        case Phase.REFACTOR:
            return Deny(
                "not-in-refactor",
                "A refactor is open: it keeps behaviour, so nothing is claimed.",
                "`tdd refactor end`",
            )
        case Phase.OFF:
            return Deny(
                "off",
                f"Verdigris is off here ({state.off_why}).",
                "run `tdd on` to resume (a person's command)",
            )
        case _ if state.turn is not None and state.turn.suspended:
            return deny_suspended(state, state.turn)
        case _:
            return None


def _claim_targets(action: ClaimTest) -> Deny | None:
    for target in action.targets:
        if target.path is None:
            return Deny(
                "outside", f"{target.spelling} lies outside the repository.", "name a source path inside it"
            )
        if not target.classes & {PathClass.SOURCE, PathClass.OTHER}:
            path_class = min(target.classes, key=list(PathClass).index)
            return Deny(
                "claim-target",
                f"{target.path} is of class {path_class}; a claim names source files.",
                "name the source file to edit",
            )
    return None


def _claim_red(state: WorktreeState, action: ClaimTest) -> Deny | None:
    red = state.reds.get(action.test_id)
    if action.drift:
        return Deny(
            "oracle-drift",
            f"{action.drift[0]} changed since the open turn froze it.",
            f"`tdd restore {shell_words(action.drift[0])}` puts it back; then claim again",
        )
    if action.test_id in state.claims:
        return None
    if red is None and action.passing:
        return _wrong_red(action.test_id, "passing")
    if red is None:
        return _no_red(action)
    if not red.valid:
        return _wrong_red(action.test_id, red.why)
    return _deny_observed(action, action.test_id)


def _deny_observed(action: ClaimTest | BlockTests, *test_ids: str) -> Deny | None:
    """Why the tree does not allow these reds to be cited."""
    if action.moved:
        return replace(deny_stale(test_ids), reason=f"{action.moved[0]} changed since that red was seen.")
    if action.weakened:
        more = len(action.weakened) - _MANY_LOSSES
        named = [*action.weakened[:_MANY_LOSSES], *([f"and {more} more"] if more > 0 else [])]
        return Deny(
            "weakened",
            "\n  ".join(("The suite lost something:", *named)),
            give_up_losses(action.weakened),
        )
    if action.unclaimed:
        first = action.unclaimed[0]
        return Deny(
            "source-before-red",
            f"{first.path}:{first.line} was edited before any red: {first.why}.",
            f"`tdd aside` sets the edit of {first.path} aside, since it was made before a red; "
            "then `tdd test` and claim: the claim brings it back",
        )
    return None


def deny_stale(test_ids: Sequence[str]) -> Deny:
    return Deny("stale-red", "The tree changed since these reds were seen.", f"`{run_command(test_ids)}`")


def _no_red(action: ClaimTest) -> Deny:
    """A name close to that of a red is a typing error: running it again would not help."""
    what = f"{action.test_id} is not red now."
    if action.nearest:
        close = action.nearest[0]
        return Deny(
            "no-red", f"{what} Did you mean {close}?", f"`tdd test {shell_words(close)}`, then claim it"
        )
    if not action.written:
        return Deny("no-red", what, "`tdd test` runs all tests and names those that are red")
    return Deny("no-red", what, f"`tdd test {shell_words(action.test_id)}`")


def _wrong_red(test_id: str, why: str) -> Deny:
    reason, _ = why_not(why)
    path = split_id(test_id).path
    return Deny(f"red-{why}", f"{test_id} is not red for the right reason: {reason}", way_out(why, path))


def decide_block(state: WorktreeState, action: BlockTests) -> Decision:
    """Allows to skip tests that are red now and never passed: the suite loses nothing by that."""
    if state.phase is not Phase.RED or state.open_cycle is not None:
        where = f"phase {state.phase}" if state.open_cycle is None else f"cycle {state.open_cycle.id}"
        return Deny(
            "not-in-phase",
            f"A test is given up only in the red phase, outside a cycle (now: {where}).",
            next_move(state),
        )
    for test_id in action.test_ids:
        if test_id not in state.reds:
            run = f"`tdd test {shell_words(test_id)}`"
            return Deny("no-red", f"{test_id} is not red now, so it is not skipped.", run)
    if action.passed:
        return Deny(
            "passed-before",
            f"{action.passed[0]} passed before, so it is not skipped: something broke it.",
            "mend the source; if it asks for what nobody wants any more, a person gives it up: "
            f"tdd revise {shell_words(action.passed[0])}, with --why and the reason",
        )
    return _deny_observed(action, *action.test_ids) or Allow()
