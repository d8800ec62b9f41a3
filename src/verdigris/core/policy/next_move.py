"""Decides which reds count, what a claim covers, and which move comes next."""

from __future__ import annotations

from functools import lru_cache
from re import Pattern
from re import compile as compile_regex
from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.languages import STUB_MARK, declaration_hint, is_loaded_singly
from verdigris.core.paths import compile_glob
from verdigris.core.policy import cycle as cycles
from verdigris.core.policy.cycle import SOURCE_WAITS, deny_source
from verdigris.core.report import RunEnd, Status
from verdigris.core.state import Phase, Red
from verdigris.core.test_ids import named_tests, shell_words, split_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.core.actions import FileWrite
    from verdigris.core.report import TestReport
    from verdigris.core.state import Claim, WorktreeState


def ended_reds(
    reds: Mapping[str, Red] | Mapping[str, Claim],
    report: TestReport,
    asked: Sequence[str],
) -> tuple[str, ...]:
    """Ids of the reds that this run saw pass, or looked for and did not find.

    `asked`: the requested ids and paths; none stands for all tests.
    """
    passed = {result.native_id for result in report.results if result.status is Status.PASS}
    found = {*report.collected, *(result.native_id for result in report.results)}
    gone = {
        red.native_id
        for red in reds.values()
        if red.native_id not in found and _was_looked_for(red.native_id, report, asked)
    }
    return tuple(test_id for test_id, red in reds.items() if red.native_id in passed | gone)


def _was_looked_for(native: str, report: TestReport, asked: Sequence[str]) -> bool:
    """Whether the run would have found this test if it still existed."""
    path = split_id(native).path
    broken = {error.path for error in report.errors}
    unloaded = path in broken or (broken and not is_loaded_singly(path))
    if report.ended is not RunEnd.FINISHED or unloaded:
        return False
    return not asked or any(covers_test(name.rstrip("/"), native) for name in asked)


def covers_test(name: str, native: str) -> bool:
    """`name`: an id, a group of tests, a file or a folder."""
    path = split_id(native).path
    inside = (f"{name}::", f"{name}[", f"{name}/", f"{name} › ")
    return name in {".", "", native, path} or native.startswith(inside) or path.startswith(f"{name}/")


def named_reds(reds: Mapping[str, Red], word: str) -> tuple[str, ...]:
    """Ids of the reds that a word means: an id, a group or a function with its cases, a file, a bare name."""
    word = word.replace(" > ", " › ")
    if word in reds:
        return (word,)
    name = word.rstrip("/")
    below = [red for red in reds.values() if covers_test(name, red.native_id)]
    if below:
        return tuple(red.test_id for red in below if red.valid) or (below[0].test_id,)
    meant = set(named_tests(word, [red.native_id for red in reds.values()]))
    one = len({(split_id(native).path, split_id(native).function) for native in meant}) == 1
    return tuple(i for i, red in reds.items() if red.native_id in meant) if one else ()


def newest(reds: Iterable[Red], tree: str | None = None) -> Red | None:
    """The valid red that was seen last; with `tree`, only one that was seen on it and can be claimed."""
    seen = [red for red in reds if tree is None or red.tree == tree]
    return max(without_parents(tuple(seen)), key=lambda red: red.seq, default=None)


def without_parents(reds: tuple[Red, ...]) -> tuple[Red, ...]:
    """Leaves out those that are red because one of their own cases is: Go reports both."""
    cases = [red.native_id for red in reds if split_id(red.native_id).case.startswith("/")]
    return tuple(red for red in reds if not any(case.startswith(f"{red.native_id}/") for case in cases))


RED_FIRST = "red-first"


def about_stubs(denial: Deny, file: FileWrite) -> Deny:
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


def implied_claim(state: WorktreeState, edited: str = "") -> Decision:
    """An edit of `edited` claims every valid red when all of them lie in one file."""
    if state.open_cycle is not None:
        return deny_source(state.open_cycle, edited)
    reds = without_parents(state.valid_reds)
    files = {split_id(red.native_id).path for red in reds}
    match len(files):
        case 0:
            return Deny(
                RED_FIRST,
                "Source can be edited only for a test that is red, and no test is red now.",
                "write one failing test, run `tdd test ID`, then `tdd claim ID`; "
                "where behaviour stays as it is: `tdd refactor begin`",
            )
        case 1:
            return Allow(claims=reds)
        case _:
            last = max(reds, key=lambda red: red.seq)
            return Deny(
                "which-red",
                f"{len(reds)} tests are red in {len(files)} files; say which of them this edit is for.",
                f"`tdd claim {shell_words(last.test_id, edited or 'PATH')}`",
            )


@lru_cache(maxsize=512)
def _pattern(target: str) -> Pattern[str]:
    return compile_regex(compile_glob(target))


def covers(target: str, path: str) -> bool:
    """A target is a file, a folder (all below it) or a glob."""
    return (
        target in {path, "."}
        or path.startswith(target.rstrip("/") + "/")
        or bool(_pattern(target).match(path))
    )


def owners(claims: Iterable[Claim], path: str) -> frozenset[str]:
    """The test ids whose claims cover a path."""
    return frozenset(c.test_id for c in claims if any(covers(t, path) for t in c.targets))


def apart(claims: Iterable[Claim], failing: frozenset[str], paths: Iterable[str]) -> frozenset[str] | None:
    """The paths that only failing claims cover; None if a path belongs to passing claims too."""
    claims = tuple(claims)
    alone: set[str] = set()
    for path in paths:
        of = owners(claims, path)
        if not of or (of & failing and of - failing):
            return None
        if of <= failing:
            alone.add(path)
    return frozenset(alone)


SYNCS_IN = (Phase.RED, Phase.OFF)
"""The phases in which `tdd sync` moves the tree."""


FIRST_MOVE = "write one failing test, then `tdd test ID`"
"""Where nothing is red yet."""


def next_move(
    state: WorktreeState, *, claimable: Red | Deny | None = None, in_progress: str | None = None
) -> str:
    """The move that leads on from here, in one line.

    `claimable`: the red that the policy allows to claim now, or its denial. If None, the move is to run again
    the red that was seen last, which is always allowed.
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
    """The move of an agent while all open claims belong to `fellows`, other agents at work here."""
    theirs = {claim.by for claim in state.claims.values()}
    if state.phase is not Phase.GREEN or context in theirs or not theirs.issubset(fellows):
        return ""
    claimed = ", ".join(state.claims)
    return f"wait: another agent has claimed {claimed}; go on when it has settled"


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
    """Under an open turn, and for a bisect, `tdd sync` does not work: then a person uses git."""
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
