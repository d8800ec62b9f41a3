"""Decides whose reds, claims and source are whose, where several agents work in one worktree.

A context is one agent: a session, or a subagent of one. What belongs to nobody, to a person, or to an agent
that is not at work any more, is everybody's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import owners
from verdigris.core.state import Claim, Phase, WorktreeState
from verdigris.core.test_ids import shell_words
from verdigris.core.value import replace


def view_of(state: WorktreeState, context: str, at_work: Collection[str]) -> WorktreeState:
    """The state as an agent sees it: the reds of others at work are not for it to claim."""
    theirs = {red.test_id for red in state.reds.values() if _is_others(red.by, (context,), at_work)}
    if not context or not theirs:
        return state
    return replace(state, reds={name: red for name, red in state.reds.items() if name not in theirs})


def claims_of(
    claims: Iterable[Claim], contexts: Collection[str], at_work: Collection[str]
) -> tuple[Claim, ...]:
    return tuple(claim for claim in claims if not _is_others(claim.by, contexts, at_work))


def is_only_others(path: str, own: Iterable[Claim], every: Iterable[Claim]) -> bool:
    """Whether claims cover the path, and none of one's own."""
    return bool(owners(every, path)) and not owners(own, path)


def joined_claims(
    claims: Iterable[Claim], contexts: Collection[str], at_work: Collection[str]
) -> tuple[Claim, ...]:
    """The claims that source of these agents joins: their own, or else those that are everybody's."""
    everybodys = claims_of(claims, contexts, at_work)
    return tuple(claim for claim in everybodys if claim.by in contexts) or everybodys


def claimers(state: WorktreeState) -> frozenset[str]:
    """The agents whose claims alone are open in the turn; none where everybody may go on with it."""
    by = frozenset(claim.by for claim in state.claims.values())
    open_turn = state.phase is Phase.GREEN and state.turn is not None and not state.turn.suspended
    return by if open_turn and state.open_cycle is None and "" not in by else frozenset()


def deny_source(
    state: WorktreeState, path: str, by: Collection[str], at_work: Collection[str]
) -> Deny | None:
    """Why source that `by` wrote, or want to write, is not judged by the open claims of other agents."""
    if not claimers(state) or not by or "" in by:
        return None
    every = state.claims.values()
    own = claims_of(every, by, at_work)
    if owners(own, path) or (own and not owners(every, path)):
        return None
    if own:
        return Deny(
            "others-claim",
            f"{path} is covered by another agent's claim only.",
            f"`tdd claim {shell_words(own[0].test_id, path)}`",
        )
    return Deny(
        "others-claim",
        f"The open turn is another agent's: {path} would be judged by its claims.",
        "wait until that agent has settled, then `tdd test` your own test and edit",
    )


def _is_others(by: str, contexts: Collection[str], at_work: Collection[str]) -> bool:
    return by != "" and by not in contexts and by in at_work
