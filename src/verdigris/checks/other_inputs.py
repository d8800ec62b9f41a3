"""Checks that a refactor kept the behaviour: tests with other inputs end alike before and after.

What the tests ask is all that they pin down; a table of their answers passes them, and a refactor may not
become one. So each test asks for something near, and only the comparison of the two trees counts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verdigris.checks.changed_runs import ChangedTree, ForkedRuns, run_forked
from verdigris.checks.test_reach import may_run, places_in
from verdigris.core.paths import PathClass
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.execution.test_run import execute
from verdigris.execution.test_selection import stack_of
from verdigris.languages.literals import EndOfTest, Replaced, answers, differences, variant_answers
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import language_for, reader_of
from verdigris.runners.protocol import Progress, TestRequest, announce
from verdigris.storage.draws import lot_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.core.settings import Stack
    from verdigris.execution.room import Layer
    from verdigris.storage.project import Project


WAVES = 2
"""Each is a run on either tree."""
EQUIVALENCE_SECONDS = 45.0
_SAMPLE_MS = 5_000
"""Of a suite that takes longer, so many files are drawn that they take about this long."""


@value
class _Trees:
    project: Project
    start: str
    tree: str
    room: Layer

    def change_functions_alone(self, paths: Sequence[str]) -> bool:
        """Whether these files are the same apart from their functions; whoever calls those was seen."""
        before, after = (texts_at(self.project, at, paths) for at in (self.start, self.tree))
        return all(
            path in before
            and path in after
            and (tracing := reader_of(path).tracing()) is not None
            and (delta := tracing.compare_modules(before[path], after[path])) is not None
            and not (delta.more or delta.classes or delta.names - delta.added - delta.gone)
            for path in paths
        )


def behaviour_changes(
    candidate: Candidate, ran: TestReport, progress: Progress | None = None
) -> tuple[str, ...]:
    """What ended otherwise, in words; `ran`: the suite on the tree."""
    project, tree, edits = candidate.project, candidate.tree, candidate.edits
    changed = [c.path for c in (*edits.source, *edits.other)]
    if candidate.room is None or not edits.source:
        return ()
    lot = lot_of(project, candidate.start, tree, "other inputs")
    trees = _Trees(project, project.workspace.graft(tree, candidate.start, changed), tree, candidate.room)
    texts = _tests(trees, edits, ran, lot)
    ends = time.monotonic() + EQUIVALENCE_SECONDS
    waves = _draw_waves(texts, lot)
    announce(progress, "other inputs")
    stack = _forking_stack(trees, edits, texts) if waves else None
    found = None if stack is None else _compare_in_set(trees, stack, edits, texts, waves, ran)
    if found is not None:
        return found
    for replaced in waves:
        if found := _compare_answers(trees, texts, replaced, ends):
            return found
    return ()


def _draw_waves(texts: Mapping[str, bytes], lot: Random) -> list[Mapping[str, tuple[Replaced, ...]]]:
    """What each wave replaces; none replaces the same literal again."""
    waves: list[Mapping[str, tuple[Replaced, ...]]] = []
    tried: dict[str, set[int]] = {path: set() for path in texts}
    for _ in range(WAVES):
        drawn = {p: reader_of(p).liveness.other_inputs(p, data, lot, tried[p]) for p, data in texts.items()}
        if replaced := {path: replacements for path, replacements in drawn.items() if replacements}:
            waves.append(replaced)
        for path, replacements in replaced.items():
            tried[path].update(replacement.start for replacement in replacements)
    return waves


def _forking_stack(trees: _Trees, edits: TreeDifference, texts: Iterable[str]) -> Stack | None:
    """The stack whose runs on both trees can be forked from one process: they differ in functions alone."""
    stacks = {stack_of(trees.project.settings.stacks, path) for path in texts}
    if len(stacks) != 1 or edits.other or not trees.change_functions_alone([c.path for c in edits.source]):
        return None
    [stack] = stacks
    return stack


def _compare_in_set(
    trees: _Trees,
    stack: Stack,
    edits: TreeDifference,
    texts: Mapping[str, bytes],
    waves: Sequence[Mapping[str, tuple[Replaced, ...]]],
    ran: TestReport,
) -> tuple[str, ...] | None:
    """The same as `_compare_answers` for all waves, by runs that are forked from one process.

    None if one of these did not come to its end.
    """
    paths = [change.path for change in edits.source]
    sides = [trees.project.workspace.read_many(at, paths) for at in (trees.start, trees.tree)]
    tests = [{path: apply_edits(texts[path], wave[path]) for path in wave} for wave in waves]
    runs = ForkedRuns(
        [_present(side) | wave for wave in tests for side in sides],
        [tuple(sorted(wave)) for wave in waves for _ in sides],
        EQUIVALENCE_SECONDS,
        EQUIVALENCE_SECONDS,
        preload=ran.installed,
    )

    def differing() -> list[dict[str, tuple[EndOfTest, EndOfTest]]]:
        outcomes = run_forked(ChangedTree(trees.project, trees.tree, trees.room), stack, runs).runs
        ends = [variant_answers(outcome) for outcome in outcomes if outcome is not None and not outcome.why]
        if len(ends) < len(runs.texts):
            return []
        return [differences(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)]

    first = differing()
    again = differing() if any(first) else first
    if not again:
        return None
    return tuple(
        _describe_difference(name, pair, replaced)
        for replaced, one, other in zip(waves, first, again, strict=True)
        for name, pair in one.items()
        if other.get(name) == pair
    )


def _tests(trees: _Trees, edits: TreeDifference, ran: TestReport, lot: Random) -> dict[str, bytes]:
    """The files of tests that are the same on both trees and ran what changed; by lot where they are many."""
    touched = {*edits.oracle, *(c.path for c in edits.source)}
    files = {split_id(name).path for name in _tests_that_ran(trees, edits, ran)} - touched
    read = [p for p in sorted(files) if _has_reader(p)]
    project = trees.project
    tests = [path for path in read if project.classify(path) is PathClass.TEST]
    most = max(1, len(tests) * _SAMPLE_MS // max(ran.duration_ms, _SAMPLE_MS))
    chosen = lot.sample(tests, min(most, len(tests)))
    return _present(project.workspace.read_many(trees.tree, chosen))


def _tests_that_ran(trees: _Trees, edits: TreeDifference, ran: TestReport) -> list[str]:
    """The tests that ran a function of a changed file, if nothing but functions changed; else all of them."""
    names, uses = [result.native_id for result in ran.results], ran.uses
    paths = [change.path for change in edits.source]
    if uses is None or uses.problem or edits.other or not trees.change_functions_alone(paths):
        return names
    places = places_in(uses, paths)
    return [name for name in names if may_run(uses, name, places)] or names


def _has_reader(path: str) -> bool:
    language = language_for(path)
    return language is not None and language.source.reads(path)


def _compare_answers(
    trees: _Trees,
    texts: Mapping[str, bytes],
    replaced: Mapping[str, tuple[Replaced, ...]],
    ends: float,
) -> tuple[str, ...]:
    """What differs twice, in the same way: what depends on the moment is no behaviour."""
    project, left = trees.project, ends - time.monotonic()
    if left <= 0:
        return ()
    modes = {e.path: e.mode for e in project.workspace.files(trees.tree) if e.path in replaced}
    contents: dict[str, tuple[str, bytes] | None] = {
        path: (modes[path], apply_edits(texts[path], replacements)) for path, replacements in replaced.items()
    }
    before, after = (
        replace(trees.room, wanted=project.workspace.compose(base, contents), worktree=trees.tree)
        for base in (trees.start, trees.tree)
    )

    def differing() -> dict[str, tuple[EndOfTest, EndOfTest]]:
        runs = [
            execute(project, TestRequest(tuple(sorted(replaced)), timeout=left, sources=()), layer=layer)
            for layer in (before, after)
        ]
        return differences(*map(answers, runs)) if all(_whole(run) for run in runs) else {}

    first = differing()
    again = differing() if first else {}
    return tuple(
        _describe_difference(name, pair, replaced) for name, pair in first.items() if again.get(name) == pair
    )


def _present(texts: Mapping[str, bytes | None]) -> dict[str, bytes]:
    return {path: data for path, data in texts.items() if data is not None}


def _whole(report: TestReport) -> bool:
    return report.ended is RunEnd.FINISHED and bool(report.results)


def _describe_difference(
    name: str, pair: tuple[EndOfTest, EndOfTest], replaced: Mapping[str, Iterable[Replaced]]
) -> str:
    replacements = replaced.get(split_id(name).path, ())
    before, after = (f"{end.status} {end.what}".strip() for end in pair)
    what = ", ".join(f"line {r.line}: `{r.was}` → `{r.text}`" for r in replacements)
    return f"{name} with another input ({what}) ended with `{before}` before the refactor, with `{after}` now"
