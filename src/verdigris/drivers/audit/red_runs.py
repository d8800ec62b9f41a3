"""Lays the tests of after over the source of before, and judges which of them are red, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from verdigris.checks.evidence import red_of, with_subjects
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.checks.verdict_checks import traced_tests
from verdigris.core.languages import declares_packages
from verdigris.core.paths import FILE, PathClass
from verdigris.core.report import CollectError, Failure, Status, TestReport, TestResult
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.core.verdict import first_line
from verdigris.core.verdict.redness import UNDECLARED, VALID, judge_collect_error
from verdigris.drivers.audit.report import FLAKY, RedTest
from verdigris.drivers.audit.tree_runs.suite import TestRuns
from verdigris.languages.findings import TestText
from verdigris.languages.registry import holds_tests, reader_of
from verdigris.storage.project import Project

_STUBBED = UNDECLARED | {"collection", "not-collected"}
"""Reasons of a red that may only mean that source lacks a declaration."""
_SHOWN_BY_GREEN = frozenset({"not-behaviour", "fixture", "teardown", "timeout", "crash"})
"""Reasons for which a claim is refused, since the test may be at fault. Here the same test passes after the
change, so source was at fault.
"""
_REPEATED = 25
"""How many reds are run twice: one that repeats is enough to call a change test-driven."""
_TURNS = 4
"""How often tests are run again that a crash of another test kept from running."""


def lay_tests(project: Project, before: str, after: str, oracle: Sequence[str]) -> str:
    """Returns the tree of before with the tests of after; a file with both has each part from its side."""
    laid = project.workspace.graft(before, after, oracle)
    mixed = [path for path in oracle if holds_tests(path, project.classify(path))]
    contents: dict[str, tuple[str, bytes] | None] = {}
    entries = project.workspace.entries(after, mixed)
    for path, entry in entries.items():
        regions = reader_of(path).test_regions()
        old, new = (project.workspace.read(tree, path) for tree in (before, after))
        if regions is None or new is None:
            continue
        if old is None:
            contents[path] = (entry.mode, regions.only_tests(new))
            continue
        made = regions.with_tests_of(new, old) or regions.with_tests_of(new, regions.without_tests(old))
        if made is not None:
            contents[path] = (entry.mode, made)
    return project.workspace.compose(laid, contents)


def find_reds(
    runs: TestRuns, tree: str, sides: tuple[str, str], passing: Iterable[str]
) -> dict[str, RedTest]:
    """Returns reds by native id, among the native ids `passing`, which pass after the change.

    `tree`: see `lay_tests`; `sides`: the trees before and after.
    """
    before, after = sides
    wanted = sorted(set(passing))
    if not wanted:
        return {}
    names = sorted({split_id(native).path for native in wanted})
    reds = judge_reds(runs.at(tree), runs.run_like(tree, names, before), tree, wanted)
    unloaded = {native: red for native, red in reds.items() if red.why in _STUBBED}
    found = reds | repeat_reds(runs, tree, reds)
    for make in (declare_after, partial(declare_after, old_work=False), add_stubs):
        stubbed, shown = make(runs.at(tree), tree, after, unloaded.values()) if unloaded else (tree, "")
        if stubbed == tree:
            continue
        again = _run_stubbed(runs, stubbed, before, unloaded)
        right = {
            native: replace(red, why=f"import, then {red.why}", stub=shown)
            for native, red in again.items()
            if red.valid
        }
        found |= right | repeat_reds(runs, stubbed, right)
        # A test that loads has given its answer; a stub that is guessed from its text gives no other.
        unloaded = {native: red for native, red in again.items() if red.why in _STUBBED}
    return found


def repeat_reds(runs: TestRuns, tree: str, reds: Mapping[str, RedTest]) -> dict[str, RedTest]:
    """Returns the valid reds that pass when they are run once more, as flaky: they prove nothing."""
    deciding = [native for native, red in reds.items() if red.valid][:_REPEATED]
    names = deciding if runs.reuse else sorted({split_id(native).path for native in deciding})
    report = runs.run(tree, names) if names else None
    passed = {r.native_id for r in report.results if r.status is Status.PASS} if report else ()
    return {native: replace(reds[native], why=FLAKY, valid=False) for native in deciding if native in passed}


def _run_stubbed(runs: TestRuns, tree: str, before: str, wanted: Iterable[str]) -> dict[str, RedTest]:
    """A stub that panics may end the run before other tests had their turn; those are run again."""
    found: dict[str, RedTest] = {}
    left = sorted(wanted)
    names = sorted({split_id(native).path for native in left})
    for turn in range(_TURNS):
        report = runs.run(tree, names) if turn else runs.run_like(tree, names, before)
        told = {result.native_id for result in report.results}
        found |= judge_reds(runs.at(tree), report, tree, left)
        names = left = [native for native in left if native not in told]
        if not left or not told:
            break
    return found


def judge_reds(project: Project, report: TestReport, tree: str, wanted: Sequence[str]) -> dict[str, RedTest]:
    """Returns those of the wanted tests that do not pass, by native id; a skip is no red.

    All of them pass after the change, and `tree` has their texts of after.
    """
    results = {result.native_id: result for result in with_subjects(project, report.results)}
    held = frozenset(project.workspace.entries(tree, {split_id(native).path for native in wanted}))
    found: dict[str, RedTest] = {}
    for native in wanted:
        result = results.get(native)
        if result is None:
            if (red := _uncollected(native, report.errors, results.values())) is not None:
                found[native] = red
        elif (why := red_of(project, result, held)) is not None:
            shown = why in _SHOWN_BY_GREEN and project.settings.red == "behaviour"
            found[native] = _red(result, VALID if shown else why)
    return found


def list_idle(project: Project, reds: Iterable[RedTest]) -> tuple[str, ...]:
    """Returns valid reds that assert nothing: all they ask is that the code raises no error."""
    doubtful = [split_id(red.id) for red in reds if red.valid and red.why != "assertion"]
    texts = traced_tests(project, project.workspace.snapshot()) if doubtful else {}
    return tuple(
        f"{test.path}::{test.function}"
        for test in doubtful
        if not reader_of(test.path).validation.asserts(TestText(test.path, test.function, texts))
    )


def _red(result: TestResult, why: str) -> RedTest:
    failure = result.failure
    place = None if failure is None else failure.own_place
    return RedTest(
        id=result.id,
        why=_kind(failure) if why == VALID else why,
        path="" if place is None else place.path,
        line=0 if place is None else place.line,
        message="" if failure is None else f"{failure.kind}: {first_line(failure.message)}",
        valid=why == VALID,
    )


def _kind(failure: Failure | None) -> str:
    if failure is None:
        return "crash"
    if failure.assertion:
        return "assertion"
    return failure.kind.lower() if failure.kind in {"Timeout", "Crash"} and not failure.bases else "exception"


def _uncollected(native: str, errors: Sequence[CollectError], others: Iterable[TestResult]) -> RedTest | None:
    """Judges a test that was not reported: its file did not load, or its cases have other names there."""
    test = split_id(native)
    same = [r for r in others if split_id(r.native_id).path == test.path]
    if any(split_id(r.native_id).function == test.function and r.status is Status.PASS for r in same):
        return None
    error = next((one for one in errors if one.path == test.path), None)
    if error is None and not same:
        error = next(iter(errors), None)
    if error is None:
        return None if same else RedTest(native, "not-collected", test.path, valid=False)
    message = f"{error.kind}: {first_line(error.message)}"
    return RedTest(native, judge_collect_error(error), error.path, 0, message, valid=False)


def declare_after(
    project: Project, tree: str, after: str, _: Collection[RedTest], *, old_work: bool = True
) -> tuple[str, str]:
    """Returns the tree with the declarations of after and the bodies of before, and the diff to it.

    Without `old_work`, whatever changed is a stub, and what is gone after is gone: some compilers refuse
    bodies of before beside declarations of after.
    """
    contents: dict[str, tuple[str, bytes] | None] = {}
    for change in project.workspace.changes(tree, after):
        if project.classify(change.path) is not PathClass.SOURCE:
            if not change.deleted and declares_packages(change.path):
                manifest = project.workspace.read(after, change.path) or b""
                contents[change.path] = (change.new_mode or FILE, manifest)
            continue
        if change.deleted:
            contents |= {} if old_work else {change.path: None}
            continue
        old, new = (project.workspace.read(side, change.path) for side in (tree, after))
        reader = reader_of(change.path)
        made = None if new is None else reader.stubs.declare(change.path, old or b"", new, old_work=old_work)
        if made is not None and (made != old or old is None):
            contents[change.path] = (change.old_mode or change.new_mode or FILE, made)
    if not any(project.classify(path) is PathClass.SOURCE for path in contents):
        return tree, ""
    return _compose(project, tree, contents)


def add_stubs(project: Project, tree: str, _: str, reds: Collection[RedTest]) -> tuple[str, str]:
    """Returns the tree with stubs for what the tests lack, as they use it, and the diff to it."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    modes = {entry.path: entry.mode for entry in project.workspace.files(tree)}
    for path in sorted({split_id(red.id).path for red in reds} | {red.path for red in reds if red.path}):
        if path not in modes:
            continue
        for stub in missing_stubs(project, path):
            contents[stub.path] = (
                modes.get(stub.path, FILE),
                stub.whole.encode("utf-8", "surrogateescape"),
            )
    return _compose(project, tree, contents)


def _compose(
    project: Project, tree: str, contents: Mapping[str, tuple[str, bytes] | None]
) -> tuple[str, str]:
    if not contents:
        return tree, ""
    made = project.workspace.compose(tree, contents)
    return made, project.workspace.diff(tree, made, sorted(contents))
