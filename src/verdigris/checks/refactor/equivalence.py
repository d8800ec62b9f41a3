"""Checks that a refactor kept the behaviour: tests with other inputs end alike on both trees.

What the tests ask is all that they pin down; a table of their answers passes them, and a refactor may not
become one. So each test asks for something near, and only the comparison of the two trees counts.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass
from verdigris.core.report import Ended
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.execution.test_run import execute
from verdigris.languages.literals import Replaced, answers, apply, differences
from verdigris.languages.registry import language_for, reader_of
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.report import TestReport
    from verdigris.execution.room.layers import Layer
    from verdigris.languages.literals import EndOfTest
    from verdigris.storage.project import Project

WAVES = 2
"""Each is a run on either tree."""
SECONDS = 45.0
_SAMPLE_MS = 5_000
"""Of a suite that takes longer, so many files are drawn that they take about this long."""


@value
class _Trees:
    start: str
    tree: str
    room: Layer


def behaviour_changes(
    project: Project, start: str, tree: str, edits: TreeDifference, ran: TestReport, room: Layer | None
) -> tuple[str, ...]:
    """What ended otherwise, in words; `ran`: the suite on `tree`."""
    changed = [c.path for c in (*edits.source, *edits.other)]
    if room is None or not edits.source:
        return ()
    lot = random.SystemRandom()
    texts = _tests(project, tree, edits, ran, lot)
    trees = _Trees(project.workspace.graft(tree, start, changed), tree, room)
    ends = time.monotonic() + SECONDS
    for _ in range(WAVES):
        drawn = {path: reader_of(path).other_inputs(path, data, lot) for path, data in texts.items()}
        asked = {path: made for path, made in drawn.items() if made}
        left = ends - time.monotonic()
        if not asked or left <= 0:
            break
        if found := _compare_answers(project, trees, texts, asked, left):
            return tuple(_describe_difference(name, pair, asked) for name, pair in found.items())
    return ()


def _tests(
    project: Project, tree: str, edits: TreeDifference, ran: TestReport, lot: random.Random
) -> dict[str, bytes]:
    """The files of tests that are the same on both trees, by lot where they are many."""
    touched = {*edits.oracle, *(c.path for c in edits.source)}
    files = {split_id(result.native_id).path for result in ran.results} - touched
    read = [p for p in sorted(files) if _has_reader(p)]
    tests = [path for path in read if project.classify(path) is PathClass.TEST]
    most = max(1, len(tests) * _SAMPLE_MS // max(ran.duration_ms, _SAMPLE_MS))
    chosen = lot.sample(tests, min(most, len(tests)))
    texts = project.workspace.read_many(tree, chosen)
    return {path: data for path, data in texts.items() if data is not None}


def _has_reader(path: str) -> bool:
    language = language_for(path)
    return language is not None and (language.traces or language.has_grammar(path))


def _compare_answers(
    project: Project,
    trees: _Trees,
    texts: Mapping[str, bytes],
    asked: Mapping[str, tuple[Replaced, ...]],
    left: float,
) -> dict[str, tuple[EndOfTest, EndOfTest]]:
    """What differs twice, in the same way: what depends on the moment is no behaviour."""
    modes = {e.path: e.mode for e in project.workspace.files(trees.tree) if e.path in asked}
    contents: dict[str, tuple[str, bytes] | None] = {
        path: (modes[path], apply(texts[path], made)) for path, made in asked.items()
    }
    before, after = (
        replace(trees.room, wanted=project.workspace.compose(base, contents), worktree=trees.tree)
        for base in (trees.start, trees.tree)
    )

    def differing() -> dict[str, tuple[EndOfTest, EndOfTest]]:
        runs = [
            execute(project, TestRequest(tuple(sorted(asked)), timeout=left, sources=()), layer=layer)
            for layer in (before, after)
        ]
        return differences(*map(answers, runs)) if all(_whole(run) for run in runs) else {}

    first = differing()
    if not first:
        return {}
    again = differing()
    return {name: pair for name, pair in first.items() if again.get(name) == pair}


def _whole(report: TestReport) -> bool:
    return report.ended is Ended.FINISHED and bool(report.results)


def _describe_difference(
    name: str, pair: tuple[EndOfTest, EndOfTest], asked: Mapping[str, Iterable[Replaced]]
) -> str:
    made = asked.get(split_id(name).path, ())
    before, after = (f"{one.status} {one.what}".strip() for one in pair)
    what = ", ".join(f"line {one.line}: `{one.was}` → `{one.now}`" for one in made)
    return f"{name} asked otherwise ({what}) ended with `{before}` before the refactor, with `{after}` now"
