"""Judges the refactorer's edits: they are small, and keep coverage, tests and behaviour."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import SequenceMatcher

from verdigris.checks.coverage import added_lines, uncovered_lines
from verdigris.core.actions import Deny
from verdigris.core.languages import has_tests_in_source
from verdigris.core.paths import PathClass
from verdigris.core.report import Status
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.drivers.edits import (
    Bad,
    Seen,
    StepRules,
    forbid,
    format_changes,
    refuse,
    refuse_judged,
    with_changes,
    write_changes,
)
from verdigris.execution.room import Layer
from verdigris.execution.rooms import possible
from verdigris.execution.test_run import collect, execute_suite
from verdigris.languages.registry import is_traced, language_named
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project, text_of, texts_at
from verdigris.turns import refactor


@value
class Extent:
    files: int
    lines: int
    """Added and removed; a file that only moves counts as a file, without lines."""


def extent(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Extent:
    """Measures a change by path; None stands for a file that does not exist."""
    gone = {path: text for path, text in before.items() if text is not None and after.get(path) is None}
    come = {path: text for path, text in after.items() if text is not None and before.get(path) is None}
    moved = {path: next((p for p, t in gone.items() if t == text), None) for path, text in come.items()}
    pure = {*(p for p, origin in moved.items() if origin), *filter(None, moved.values())}
    touched = [p for p in {*before, *after} if before.get(p) != after.get(p)]
    lines = 0
    for path in (path for path in touched if path not in pure):
        old, new = ((texts.get(path) or b"").splitlines() for texts in (before, after))
        spans = SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
        lines += sum((i2 - i1) + (j2 - j1) for tag, i1, i2, j1, j2 in spans if tag != "equal")
    return Extent(len(touched) - sum(1 for origin in moved.values() if origin), lines)


def too_large(
    project: Project, rules: StepRules, tree: str, changes: Mapping[str, bytes | None]
) -> Bad | None:
    found = extent(project.workspace.read_many(tree, changes), changes)
    if found.files > rules.refactor_files:
        return forbid(f"it touches {found.files} files, and a refactor may touch {rules.refactor_files}")
    if found.lines > rules.refactor_lines:
        return forbid(f"it changes {found.lines} lines, and a refactor may change {rules.refactor_lines}")
    return None


def judge_refactoring(
    project: Project,
    rules: StepRules,
    changes: Mapping[str, bytes | None],
    seen: Seen,
    *,
    optimizes: bool = False,
) -> Bad | None:
    """None: accepted. `optimizes`: a metric judges it too, so tests need only run the new lines."""
    start = project.workspace.snapshot()
    if large := too_large(project, rules, start, changes):
        return large
    begun = refactor.begin(project, uncovered=False, known=True, optimizes=optimizes)
    if isinstance(begun, Deny):
        return refuse(begun)
    return write_changes(project, changes) or judge_restructured(project, rules, start, seen)


def judge_restructured(project: Project, rules: StepRules, start: str, seen: Seen) -> Bad | None:
    """Judges the present tree in the refactor phase against the step's start."""
    if unformatted := format_changes(project, start):
        return unformatted
    if project.workspace.snapshot() == start:
        return forbid("nothing differs from before, once it is formatted")
    if other := _other_tests(project, start):
        return other
    if rules.coverage_guard and (why := why_lowered(project, start)):
        return forbid(why)
    return refuse_judged(project, refactor.end(project), seen)


def _other_tests(project: Project, start: str) -> Bad | None:
    """Refuses a refactor that adds, renames or removes tests."""
    changed = [change.path for change in project.workspace.changes(start, project.workspace.snapshot())]
    refactor_ = project.state().refactor
    touched = [p for p in changed if project.classify(p) is PathClass.TEST or has_tests_in_source(p)]
    if not touched or refactor_ is None:
        return None
    before = frozenset(json.loads(project.workspace.blob_bytes(refactor_.record) or b"{}"))
    after = collect(project)
    if not after or any(stack.suite for stack in project.settings.stacks):
        return None  # the run itself says why tests are not found
    if new := sorted(after - before):
        return forbid(f"{new[0]} is a new test: a refactor adds none and renames none")
    if gone := [test for test in sorted(before - after) if not _is_written(project, test)]:
        return forbid(f"{gone[0]} is gone: a refactor keeps every test under its name")
    return None


def _is_written(project: Project, test: str) -> bool:
    """Whether the file still has the test's name: if it does not load, the run says why."""
    named = split_id(test)
    return re.split(r"::| › ", named.function)[-1] in (text_of(project, named.path) or "")


def rebase_changes(
    project: Project, base: str, changes: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Converts edits of `base` to edits of the present tree, which may contain some of them already."""
    now = project.workspace.snapshot()
    target = with_changes(project, base, changes)
    differing = project.workspace.changes(now, target)
    return {c.path: None if c.deleted else project.workspace.read(target, c.path) for c in differing}


@value
class LineCoverage:
    idle: int
    """How many statements no test runs."""
    all: int
    places: tuple[str, ...] = ()
    """Where they are."""
    fails: bool = False
    """A test failed during the measurement."""

    @property
    def share(self) -> float:
        return 1 - self.idle / self.all if self.all else 1.0


def why_unmeasured(project: Project) -> str | None:
    """Why the coverage guard cannot measure here; None if it can."""
    others = sorted({s.language for s in project.settings.stacks if not language_named(s.language).traces})
    if others:
        what = f"which lines the tests run is not measured for {', '.join(others)}"
        return f"{what}: the coverage guard says nothing there"
    if not possible(project).ok:
        return "two trees can only be compared in a sandbox: the coverage guard says nothing here"
    return None


def why_lowered(project: Project, start: str) -> str | None:
    """Why the present tree is less covered than `start`; None if it is not.

    Both have to hold: more statements are not run, and a smaller share is run. To delete covered code lowers
    the share too, and is what a refactor is for.
    """
    if not possible(project).ok:
        return None
    now = project.workspace.snapshot()
    after = _measure_coverage(project, now, now)
    # If tests fail, the refactor is refused for that, and their failures say more than a share.
    if after is None or after.idle == 0 or after.fails:
        return None
    before = _measure_coverage(project, start, now)
    if before is None or after.idle <= before.idle or after.share >= before.share:
        return None
    new = [place for place in after.places if place not in before.places]
    where = ", ".join(new or after.places)
    return (
        f"the tests run {after.share:.1%} of the source, and ran {before.share:.1%} before:"
        f" {after.idle} statements are not run, {before.idle} were not ({where})"
    )


def find_untested_lines(project: Project) -> tuple[str, ...]:
    """Source lines that no test runs, as `src/x.py:12-14`; empty if they cannot be measured."""
    now = project.workspace.snapshot()
    found = _measure_coverage(project, now, now)
    return () if found is None else found.places


def _measure_coverage(project: Project, tree: str, worktree: str) -> LineCoverage | None:
    """Measures by the whole suite; None where nothing can be measured."""
    paths = [
        entry.path
        for entry in project.workspace.files(tree)
        if is_traced(entry.path) and project.classify(entry.path) is PathClass.SOURCE
    ]
    if not paths:
        return None
    layer = None if tree == worktree else Layer(tree, worktree)
    report = execute_suite(project, TestRequest(trace=tuple(paths)), layer=layer)
    texts = texts_at(project, tree, paths)
    statements = added_lines({}, texts)
    idle = sum(len(lines - report.lines.get(path, frozenset())) for path, lines in statements.items())
    places = uncovered_lines({}, texts, {path: report.lines.get(path, frozenset()) for path in texts})
    fails = bool(report.errors) or any(r.status in {Status.FAIL, Status.ERROR} for r in report.results)
    return LineCoverage(idle, sum(map(len, statements.values())), places, fails)
