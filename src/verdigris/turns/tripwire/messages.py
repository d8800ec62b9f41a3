"""What the tripwire protects in each phase, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.cycle import closes_stage
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase
from verdigris.core.test_ids import shell_words
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.actions import Deny
    from verdigris.core.state import WorktreeState

KEYS_PROTECTED = frozenset({Phase.GREEN, Phase.REFACTOR, Phase.PLAN, Phase.HELD})
"""Where the runner's keys of mixed files are protected too."""
_SHOWN = 5


@value
class Tripped:
    """What was found around an agent's call, and done about it; false when nothing was."""

    put_back: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """A person's."""
    moved_back: tuple[str, ...] = ()
    """What went back together with HEAD and index."""
    unproven: tuple[str, ...] = ()
    """What HEAD holds as no tree did."""
    claimed: str = ""
    """The red that source written by a shell claimed by implication."""
    text: str = ""
    """For the agent: what happened, and the next allowed move."""

    def __bool__(self) -> bool:
        return bool(self.put_back or self.kept or self.moved_back or self.unproven or self.claimed)


def base(state: WorktreeState) -> str | None:
    """The tree that what the phase protects should be as; None while nothing but the switches is."""
    match state.phase:
        case Phase.GREEN:
            return state.turn.tree if state.turn else None
        case Phase.REFACTOR:
            return state.refactor.tree if state.refactor else None
        case Phase.RED:
            return state.ground
        case Phase.PLAN | Phase.HELD:
            return state.cycle.tree if state.cycle else None
        case Phase.OFF:
            return None


def put_back_text(paths: Sequence[str], cls: PathClass, denial: Deny | None) -> str:
    """`denial`: why source written in red did not claim, or why a stage of a cycle lets nobody write."""
    why, following = _why(paths[0], cls)
    if denial is not None:
        by_content = cls is PathClass.SOURCE and not closes_stage(denial)
        more = "More changed than comments, layout and stubs. " if by_content else ""
        why, following = f"{more}{denial.reason}", denial.next
    kept = f"What had been written is kept: `tdd displaced {shell_words(paths[0])}`."
    return f"Put back: {_names(paths)}. {why} {kept}\nnext: {following}"


def kept_text(paths: Sequence[str], cls: PathClass, phase: Phase) -> str:
    if cls is PathClass.SWITCH:
        following = "it is a person's to change: go on"
    elif phase is Phase.RED and cls is not PathClass.SPEC:
        following = "`tdd aside`, then `tdd test` and claim: the claim brings the edits back"
    elif phase in {Phase.PLAN, Phase.HELD, Phase.RED}:
        following = "undo it before the cycle goes on: `tdd cycle status` says what its stage may write"
    elif phase is Phase.GREEN:
        following = f'undo it, or `tdd test-bug {paths[0]}:LINE "WHY"` and claim anew; until then `tampered`'
    else:
        following = "undo it before `tdd refactor end`, or `tdd refactor abort`"
    return f"{_names(paths)} changed outside the agent's calls: kept.\nnext: {following}"


def link_put_back_text(path: str) -> str:
    return (
        f"Put back: {path}. It had become a link: what is read through one that leads out of the tree has "
        "no snapshot, and a folder of tests or source stays a folder. The link is kept (`tdd displaced`).\n"
        f"next: write the files themselves at {path}"
    )


def link_kept_text(path: str) -> str:
    return (
        f"{path} became a link outside the agent's calls: kept. While it leads tests or source out of the "
        "worktree, nothing can be claimed or accepted.\n"
        f"next: ask the person to put the files at {path}, or to name it under `generated:` in tdd.yaml"
    )


def commit_undone_text(paths: Sequence[str]) -> str:
    return (
        f"Undone: a commit that held {_names(paths)} unlike every tree of this worktree; nothing proves "
        "such a commit. HEAD and index are where they were, the files are as you left them; the commit is "
        "still an object of the repository (`git reflog`).\n"
        "next: `git add` what lies in the tree, then `git commit`"
    )


def unproven_text(lines: Sequence[str], following: str) -> str:
    more = len(lines) - _SHOWN
    shown = "\n".join((*lines[:_SHOWN], *([f"and {more} more"] if more > 0 else [])))
    return f"{shown}.\nnext: {following}"


def moved_back_text(paths: Sequence[str], phase: Phase) -> str:
    first = "" if phase in {Phase.RED, Phase.OFF} else "settle the open turn, then "
    return (
        f"Git moved, but {_names(paths)} is protected in the {phase} phase: HEAD, index and files went back "
        f"together; commits and stashes made on the way are still objects of the repository (`git reflog`).\n"
        f"next: {first}`tdd sync -- GIT…` (e.g. `tdd sync -- switch BRANCH`)"
    )


def _why(path: str, cls: PathClass) -> tuple[str, str]:
    match cls:
        case PathClass.SWITCH:
            return "It turns Verdigris itself on or off, so no agent may write it.", "leave it as it is"
        case PathClass.SOURCE:
            return "No source edit without a claim.", "write one failing test, run `tdd test ID`, then claim"
        case PathClass.TEST | PathClass.SPEC:
            return (
                "It decides the verdict, so it is frozen from claim to verdict.",
                f'make the source pass it; if the test is wrong: `tdd test-bug {path}:LINE "WHY"`',
            )
        case PathClass.OTHER:
            return (
                "The test runner's keys in it decide the verdict, so they are frozen.",
                "change its other keys only, or settle first",
            )


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
