"""Decides whether an actor may do something now; every denial names the next allowed move."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from verdigris.core.actions import Action, Allow, BlockTests, ClaimTest, Decision, Deny, Do, FileWrite, Write
from verdigris.core.languages import STUB_MARK, declaration_hint, language_of
from verdigris.core.paths import Classes, PathClass
from verdigris.core.policy import cycle as cycles
from verdigris.core.policy.claims import decide_block, decide_claim, decide_claim_phase, deny_suspended
from verdigris.core.policy.cycle import SOURCE_WAITS
from verdigris.core.policy.next_move import (
    RED_FIRST,
    SYNCS_IN,
    finish_git,
    implied_claim,
    next_move,
    owners,
    report_wrong_test,
)
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import shell_words

if TYPE_CHECKING:
    from verdigris.core.settings import Bounds, Settings


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


BY_PHASE = frozenset({"not-in-phase", "in-cycle"})
"""Rules of denials that leave open what the actor wanted: what comes next depends on the tree as well."""


def decide(
    state: WorktreeState, action: Action, settings: Settings, *, in_progress: str | None = None
) -> Decision:
    """`in_progress` names a merge, rebase … that git has not finished in this worktree."""
    match action:
        case Write():
            return _write(state, action, settings)
        case ClaimTest():
            return _deny_unfinished(state, in_progress) or decide_claim(state, action)
        case BlockTests():
            return _deny_unfinished(state, in_progress) or decide_block(state, action)
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
    return _about_stubs(decision, edits[0]) if isinstance(decision, Deny) else decision


def _about_stubs(denial: Deny, file: FileWrite) -> Deny:
    """Adds advice about stubs: if the edit tried one, or if a test needs declarations to load."""
    if denial.rule not in {RED_FIRST, SOURCE_WAITS} or file.after is None:
        return denial
    reason, following = denial.reason, denial.next
    mark = STUB_MARK.encode()
    if file.beyond_stubs and mark in file.after and mark not in (file.before or b""):
        reason += f" More than a stub: {file.beyond_stubs}."
    if way := declaration_hint(file.path or ""):
        following += f"; {way}"
    if file.stub:
        following += f"; as a stub: `{file.stub}`"
    return Deny(denial.rule, reason, following)


def _deny_beyond(state: WorktreeState, file: FileWrite, settings: Settings) -> Deny | None:
    if settings.bounds is None or file.path is None or state.phase is Phase.OFF:
        return None
    return deny_beyond(settings.bounds, file.path, file.cls)


def _write_one(state: WorktreeState, file: FileWrite, settings: Settings) -> Deny | str:
    name = file.path or file.spelling
    match file.cls, state.phase:
        case PathClass.SWITCH, _:
            return Deny(
                "switch",
                f"{name} turns Verdigris itself on or off, or names what a person's tools run outside the "
                "sandbox: no agent may write it.",
                "leave it as it is, and tell the person what to change",
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
            return _deny_frozen(state, name)
        case PathClass.SOURCE, (Phase.GREEN | Phase.RED) if file.only_tests:
            return _deny_frozen(state, name) if state.phase is Phase.GREEN else "ok"
        case PathClass.SPEC, Phase.REFACTOR:
            return Deny(
                "spec-in-refactor",
                f"{name} is a specification, and a refactor does not change it.",
                "`tdd refactor end` first",
            )
        case PathClass.SOURCE, Phase.GREEN:
            return _source_in_green(state, file, settings)
        case PathClass.SOURCE, Phase.RED:
            return "ok" if file.after is not None and file.beyond_stubs == "" else "claim"
        case _:
            return "ok"


def _deny_frozen(state: WorktreeState, name: str) -> Deny:
    wrong = (
        "if it is what you are to write, a person may name it under `oracle.exclude`"
        if language_of(name) is None
        else report_wrong_test(state.claims.values(), name)
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
        return deny_suspended(state, state.turn)
    name = file.path or file.spelling
    if file.changes_oracle:
        return _tests_among_source(state, name)
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


def _tests_among_source(state: WorktreeState, name: str) -> Deny:
    return Deny(
        "frozen-oracle",
        f"the tests in {name} are frozen from claim to verdict; where they cannot be told"
        " from the rest (a string without an end), the whole file is.",
        f"edit the code around them; {report_wrong_test(state.claims.values(), name)}; new tests come after "
        "the verdict",
    )


# -- verbs ------------------------------------------------------------------------------------


def _verb(state: WorktreeState, action: Do) -> Decision:
    if action.verb == "refactor begin" and state.open_cycle is not None:
        why = f"The cycle {state.open_cycle.id} is open, and has no stage for a refactor."
        return Deny("in-cycle", why, next_move(state))
    if state.phase not in _NEEDS[action.verb] and not (action.free and state.phase is Phase.RED):
        why = _MISPLACED.get((action.verb, state.phase), f"`tdd {action.verb}` does nothing in this phase")
        return Deny("not-in-phase", f"{why} (phase {state.phase}).", next_move(state))
    if action.verb == "settle" and state.turn is not None and state.turn.suspended:
        return decide_claim_phase(state) or Allow()
    if action.verb == "refactor begin" and action.unclaimed:
        first = action.unclaimed[0]
        return Deny(
            "source-before-red",
            f"{first.path}:{first.line} was edited outside any turn: {first.why}.",
            "`tdd aside`, `tdd refactor begin`, then `tdd restore` brings the edit back",
        )
    return Allow()


def deny_beyond(bounds: Bounds, path: str, cls: PathClass) -> Deny | None:
    """None if the program may write it; the phase is checked elsewhere."""
    if is_measuring(bounds, path):
        return Deny(
            "program-measure",
            f"{path} is part of what measures the program {bounds.program}, so nobody writes it meanwhile.",
            "leave it as it is, and change what it measures",
        )
    if _matches(bounds.closed, path):
        return Deny(
            "program-closed",
            f"the program {bounds.program} says not to modify {path}.",
            "leave it as it is, and reach the goal without it",
        )
    if is_within(bounds, path, cls):
        return None
    return Deny(
        "outside-program",
        f"{path} is not among the targets of the program {bounds.program}.",
        "change the targets only; a person may add it to the list below `## Target` in its program.md",
    )


def is_closed(bounds: Bounds, path: str) -> bool:
    """Whether it measures the program, or the program says not to modify it."""
    return is_measuring(bounds, path) or _matches(bounds.closed, path)


def is_measuring(bounds: Bounds, path: str) -> bool:
    return _matches(bounds.measuring, path)


def is_within(bounds: Bounds, path: str, cls: PathClass) -> bool:
    """Whether the program may change it."""
    if is_closed(bounds, path):
        return False
    if not bounds.targets or _matches(bounds.targets, path):
        return True
    return bounds.tests and cls is PathClass.TEST


def bound_classes(classes: Classes, bounds: Bounds) -> Classes:
    """Files that measure the program are protected as switches are, in every phase; files that it says not to
    modify, as specifications. Tests stay tests: they have to be run, claimed and compared as such.
    """
    more = ((PathClass.SWITCH, bounds.measuring), (PathClass.SPEC, bounds.closed))
    last = max((at for at, (cls, _) in enumerate(classes.rules, 1) if cls is PathClass.TEST), default=0)
    added = tuple(rule for rule in more if rule[1])
    return Classes((*classes.rules[:last], *added, *classes.rules[last:]))


def _matches(regex: str, path: str) -> bool:
    return bool(regex) and _compile(regex).fullmatch(path) is not None


@lru_cache(maxsize=8)
def _compile(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.DOTALL)
