"""Decides how long a red lives, which reds a word means or an edit implies, and which claims cover a path."""

from __future__ import annotations

from functools import lru_cache
from re import Pattern
from re import compile as compile_regex
from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.cycle import SOURCE_WAITS, deny_source
from verdigris.core.languages import STUB_MARK, declaring, is_loaded_singly
from verdigris.core.paths import compile_glob
from verdigris.core.report import RunEnd, Status
from verdigris.core.test_ids import named_tests, shell_words, split_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.actions import FileWrite
    from verdigris.core.report import TestReport
    from verdigris.core.state import Claim, Red, WorktreeState


def ended_reds(
    reds: Mapping[str, Red] | Mapping[str, Claim],
    report: TestReport,
    asked: Sequence[str],
) -> tuple[str, ...]:
    """Ids of the reds that this run saw pass, or looked for and did not find.

    `asked`: the ids and paths that the run was asked for; none stands for all there are.
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
    """Without those that are red because one of their own cases is: Go reports both."""
    cases = [red.native_id for red in reds if split_id(red.native_id).case.startswith("/")]
    return tuple(red for red in reds if not any(case.startswith(f"{red.native_id}/") for case in cases))


RED_FIRST = "red-first"


def about_stubs(denial: Deny, file: FileWrite) -> Deny:
    """Said to who tried one, and where a test may not run before all that it names is declared."""
    if denial.rule not in {RED_FIRST, SOURCE_WAITS} or file.after is None:
        return denial
    reason, following = denial.reason, denial.next
    mark = STUB_MARK.encode()
    if file.beyond_stubs and mark in file.after and mark not in (file.before or b""):
        reason += f" More than a stub: {file.beyond_stubs}."
    if way := declaring(file.path or ""):
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
                "No source edit without a test that is red now.",
                "write one failing test, run `tdd test ID`, then `tdd claim ID`; "
                "where behaviour stays as it is: `tdd refactor begin`",
            )
        case 1:
            return Allow(claims=reds)
        case _:
            last = max(reds, key=lambda red: red.seq)
            return Deny(
                "which-red",
                f"{len(reds)} tests are red in {len(files)} files; the edit must say which it advances.",
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
    """The paths of failing claims alone; None when they cannot be told apart from passing ones."""
    claims = tuple(claims)
    alone: set[str] = set()
    for path in paths:
        of = owners(claims, path)
        if not of or (of & failing and of - failing):
            return None
        if of <= failing:
            alone.add(path)
    return frozenset(alone)
