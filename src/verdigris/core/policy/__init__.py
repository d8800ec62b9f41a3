"""Decides whether an actor may do something now; every denial names the next allowed move."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from verdigris.core import cycle as cycles
from verdigris.core.actions import Action, Allow, BlockTests, ClaimTest, Decision, Deny, Do, FileWrite, Write
from verdigris.core.languages import language_of
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import SYNCS_IN, finish_git, next_move
from verdigris.core.policy.reds import about_stubs, implied_claim, owners
from verdigris.core.state import Phase, Turn, WorktreeState
from verdigris.core.test_ids import shell_words
from verdigris.core.verdict.redness import WHY_NOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.settings import Settings

_MANY_LOSSES = 20
"""Losses of a suite that are named one by one."""


def decide(
    state: WorktreeState, action: Action, settings: Settings, *, in_progress: str | None = None
) -> Decision:
    """`in_progress` names a merge, rebase … that git has not finished in this worktree."""
    match action:
        case Write():
            return _write(state, action, settings)
        case ClaimTest():
            return _deny_unfinished(state, in_progress) or _claim(state, action)
        case BlockTests():
            return _deny_unfinished(state, in_progress) or _block(state, action)
        case Do(verb="on" | "off" | "test-bug" | "aside" | "restore" | "sync"):
            return _verb(state, action)
        case Do():
            return _deny_unfinished(state, in_progress) or _verb(state, action)
        case _:
            assert_never(action)


def _deny_unfinished(state: WorktreeState, in_progress: str | None) -> Deny | None:
    if in_progress is None:
        return None
    return Deny(
        "git-in-progress",
        f"A {in_progress} is in progress: the tree is between two states and proves nothing.",
        finish_git(state, in_progress),
    )


# -- writes -----------------------------------------------------------------------------------


def _write(state: WorktreeState, action: Write, settings: Settings) -> Decision:
    joins: list[str] = []
    edits: list[FileWrite] = []
    for file in action.files:
        match _deny_beyond(state, file, settings) or _write_one(state, file, settings):
            case Deny() as no:
                return no
            case "claim":
                edits.append(file)
            case "join" if file.path is not None:
                joins.append(file.path)
    if not edits:
        return Allow(joins=tuple(joins))
    decision = implied_claim(state, edits[0].path or "")
    return about_stubs(decision, edits[0]) if isinstance(decision, Deny) else decision


def _deny_beyond(state: WorktreeState, file: FileWrite, settings: Settings) -> Deny | None:
    if settings.bounds is None or file.path is None or state.phase is Phase.OFF:
        return None
    from verdigris.core.policy.bounds import deny_beyond

    return deny_beyond(settings.bounds, file.path, file.cls)


def _write_one(state: WorktreeState, file: FileWrite, settings: Settings) -> Deny | str:
    name = file.path or file.spelling
    match file.cls, state.phase:
        case PathClass.SWITCH, _:
            return Deny(
                "switch",
                f"{name} turns Verdigris itself on or off, so no agent may write it.",
                "leave it as it is",
            )
        case _, Phase.OFF:
            return "ok"
        case _ if state.open_cycle is not None and file.path == state.open_cycle.spec_path:
            return cycles.deny_spec(state.open_cycle)
        case PathClass.OTHER, phase:
            return "ok" if phase is Phase.RED else _decide_mixed(file, name)
        case _, (Phase.PLAN | Phase.HELD) if state.open_cycle is not None:
            return cycles.deny_write(state.open_cycle, name)
        case ((PathClass.TEST | PathClass.SPEC), Phase.GREEN):
            return _deny_frozen(name)
        case PathClass.SOURCE, (Phase.GREEN | Phase.RED) if file.only_tests:
            return _deny_frozen(name) if state.phase is Phase.GREEN else "ok"
        case PathClass.SPEC, Phase.REFACTOR:
            return Deny(
                "spec-in-refactor",
                f"{name} is specification: a refactor keeps it.",
                "`tdd refactor end` first",
            )
        case PathClass.SOURCE, Phase.GREEN:
            return _source_in_green(state, file, settings)
        case PathClass.SOURCE, Phase.RED:
            return _source_in_red(file)
        case _:
            return "ok"


def _deny_frozen(name: str) -> Deny:
    wrong = (
        "if it is what you are to write, a person may name it under `oracle.exclude`"
        if language_of(name) is None
        else f'if the test is wrong: `tdd test-bug {name}:LINE "WHY"`'
    )
    return Deny(
        "frozen-oracle",
        f"{name} decides the verdict, so it is frozen from claim to verdict.",
        f"make the source pass it; {wrong}",
    )


def _decide_mixed(file: FileWrite, name: str) -> Deny | str:
    if not file.changes_oracle:
        return "ok"
    return Deny(
        "frozen-oracle",
        f"the test runner's keys in {name} decide the verdict, so they are frozen until it is given.",
        "change its other keys only, or settle first",
    )


def _source_in_green(state: WorktreeState, file: FileWrite, settings: Settings) -> Deny | str:
    if state.turn is not None and state.turn.suspended:
        return _deny_suspended(state, state.turn)
    name = file.path or file.spelling
    if file.changes_oracle:
        return _tests_among_source(name)
    if file.path is None or owners(state.claims.values(), file.path):
        return "ok"
    if settings.claims == "strict":
        first = next(iter(state.claims), "TEST_ID")
        return Deny(
            "outside-targets",
            f"{file.path} is outside the targets of the open claims (`claims: strict`).",
            f"`tdd claim {shell_words(first, file.path)}`",
        )
    return "join"


def _tests_among_source(name: str) -> Deny:
    return Deny(
        "frozen-oracle",
        f"the tests in {name} are frozen from claim to verdict; where they cannot be told"
        " from the rest (a string without an end), all of it is.",
        f'edit the code around them; if a test is wrong: `tdd test-bug {name}:LINE "WHY"`; new tests come '
        "after the verdict",
    )


def _deny_suspended(state: WorktreeState, turn: Turn) -> Deny:
    why = turn.why or "HEAD moved under the open turn: its reds are not proven on the new baseline"
    return Deny("suspended", f"{why}.", f"`tdd test {shell_words(*state.claims)}`")


def _source_in_red(file: FileWrite) -> str:
    return "ok" if file.after is not None and file.beyond_stubs == "" else "claim"


# -- claims -----------------------------------------------------------------------------------


def _claim(state: WorktreeState, action: ClaimTest) -> Decision:
    in_cycle = cycles.deny_claim(state.open_cycle, action.test_id) if state.open_cycle else None
    return _claim_phase(state) or in_cycle or _claim_targets(action) or _claim_red(state, action) or Allow()


def _claim_phase(state: WorktreeState) -> Deny | None:
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
            return _deny_suspended(state, state.turn)
        case _:
            return None


def _claim_targets(action: ClaimTest) -> Deny | None:
    for target in action.targets:
        if target.path is None:
            return Deny(
                "outside", f"{target.spelling} lies outside the repository.", "name a source path inside it"
            )
        if not target.classes & {PathClass.SOURCE, PathClass.OTHER}:
            found = min(target.classes, key=list(PathClass).index)
            return Deny(
                "claim-target",
                f"{target.path} is of class {found}, and a claim names source.",
                "name the source file to edit",
            )
    return None


def _claim_red(state: WorktreeState, action: ClaimTest) -> Deny | None:
    red = state.reds.get(action.test_id)
    if action.drift:
        return Deny(
            "oracle-drift",
            f"{action.drift[0]} changed since the open turn froze it.",
            f"put {action.drift[0]} back as it was, then claim again",
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
    """What the tree shows against citing these reds."""
    if action.moved:
        return Deny(
            "stale-red",
            f"{action.moved[0]} changed since that red was seen.",
            f"run `tdd test {shell_words(*test_ids)}` again",
        )
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
            f"`tdd aside` sets the edit of {first.path} aside, which was made before a red; "
            "then `tdd test` and claim: the claim brings it back",
        )
    return None


def give_up_losses(losses: Sequence[str]) -> str:
    """One `tdd revise` line that gives up all losses, each of which begins with `path:line: `."""
    files = dict.fromkeys(loss.partition(": ")[0].rpartition(":")[0] for loss in losses)
    named = ", ".join([*list(files)[:3], *(["others"] if len(files) > 3 else [])])  # noqa: PLR2004 - some are enough
    return (
        f'put back what {named} lost, or a person gives it up: `tdd revise {shell_words(*files)} --why "WHY"`'
    )


def _no_red(action: ClaimTest) -> Deny:
    """A name that is nearly that of a red is a typing error: repeating it would lead nowhere."""
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
    reason, following = WHY_NOT.get(why, (f"it failed for another reason ({why})", "revise the test"))
    return Deny(f"red-{why}", f"{test_id} is not red for the right reason: {reason}", following)


def _block(state: WorktreeState, action: BlockTests) -> Decision:
    """Only what is red now and never passed: a skip gives nothing up that the suite had."""
    if state.phase is not Phase.RED or state.open_cycle is not None:
        where = f"phase {state.phase}" if state.open_cycle is None else f"cycle {state.open_cycle.id}"
        return Deny(
            "not-in-phase", f"A test is given up in red, outside a cycle ({where}).", next_move(state)
        )
    for test_id in action.test_ids:
        if test_id not in state.reds:
            run = f"`tdd test {shell_words(test_id)}`"
            return Deny("no-red", f"{test_id} is not red now, so it is not skipped.", run)
    if action.passed:
        return Deny(
            "passed-before",
            f"{action.passed[0]} passed before, so it is not skipped: something broke it.",
            'mend the source; if it asks for what nobody wants any more: `tdd revise TEST --why "WHY"`',
        )
    return _deny_observed(action, *action.test_ids) or Allow()


# -- verbs ------------------------------------------------------------------------------------

_NEEDS: dict[str, tuple[Phase, ...]] = {
    "settle": (Phase.GREEN,),
    "refactor begin": (Phase.RED,),
    "refactor end": (Phase.REFACTOR,),
    "refactor abort": (Phase.REFACTOR,),
    "test-bug": (Phase.RED, Phase.GREEN),
    "aside": (Phase.RED,),
    "restore": (Phase.GREEN, Phase.REFACTOR, Phase.OFF),
    "sync": SYNCS_IN,
    "holdout": (Phase.RED,),
    "on": (Phase.OFF,),
    "off": (Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.PLAN, Phase.HELD),
}


_MISPLACED = {
    ("settle", Phase.RED): "Nothing to settle: no test is claimed",
    ("settle", Phase.REFACTOR): "Nothing to settle: a refactor is open, `tdd refactor end` judges it",
    ("refactor begin", Phase.GREEN): "A turn is open: settle it before you begin a refactor",
    ("refactor begin", Phase.REFACTOR): "A refactor is open already",
    ("refactor end", Phase.RED): "No refactor is open",
    ("refactor abort", Phase.RED): "No refactor is open",
    ("aside", Phase.GREEN): "A turn is open, so its edits stay until the verdict",
    ("aside", Phase.REFACTOR): "A refactor is open: `tdd refactor abort` sets its edits aside",
    ("aside", Phase.OFF): "Verdigris is off here, so nothing has to wait for a red",
    ("restore", Phase.RED): "Source edits come back in green: claim a red first",
    ("sync", Phase.GREEN): "A turn is open: settle it before git moves the tree",
    ("sync", Phase.REFACTOR): "A refactor is open: end it before git moves the tree",
    ("on", Phase.RED): "The laws are on already",
    ("on", Phase.GREEN): "The laws are on already",
    ("on", Phase.REFACTOR): "The laws are on already",
}


def _verb(state: WorktreeState, action: Do) -> Decision:
    if action.verb == "refactor begin" and state.open_cycle is not None:
        why = f"The cycle {state.open_cycle.id} is open, and has no stage for a refactor."
        return Deny("in-cycle", why, next_move(state))
    if state.phase not in _NEEDS[action.verb]:
        why = _MISPLACED.get((action.verb, state.phase), f"`tdd {action.verb}` does nothing in this phase")
        return Deny("not-in-phase", f"{why} (phase {state.phase}).", next_move(state))
    if action.verb == "settle" and state.turn is not None and state.turn.suspended:
        return _claim_phase(state) or Allow()
    if action.verb == "refactor begin" and action.unclaimed:
        first = action.unclaimed[0]
        return Deny(
            "source-before-red",
            f"{first.path}:{first.line} was edited outside any turn: {first.why}.",
            "`tdd aside`, then `tdd refactor begin`",
        )
    return Allow()
