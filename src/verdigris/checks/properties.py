"""Checks that property tests were tried as their settings say, and not fewer times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.execution.room.rooms import beside
from verdigris.execution.test_run import execute
from verdigris.execution.tree_stability import on_start_tree
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import Property, TestReport, TestResult


def question_properties(
    candidate: Candidate, suite: TestReport, claimed: Collection[str] | None
) -> tuple[str, ...]:
    """Why properties that pass prove nothing; `claimed` is None where all of the suite's count.

    Only where there are properties, these tests are run once more on the tree that the turn began with.
    """
    tried = [
        result
        for result in suite.results
        if result.property is not None and (claimed is None or result.native_id in claimed)
    ]
    changed = [c.path for c in candidate.edits.source]
    if not tried or not changed:
        return ()
    project, paths = candidate.project, candidate.paths
    with on_start_tree(project, start=candidate.start, edited=candidate.tree, paths=paths) as layer:
        names = [result.native_id for result in tried]
        before = execute(project, TestRequest(tuple(names)), layer=beside(layer, candidate.room))
    return judge_properties(tried, before.results, changed)


def judge_properties(
    after: Iterable[TestResult], before: Iterable[TestResult], changed: Collection[str]
) -> tuple[str, ...]:
    """`before`: the same tests with the source as it was. `changed`: paths of source that were edited."""
    known = {result.native_id: result.property for result in before if result.property is not None}
    return tuple(told for result in after for told in _judge(result, known, changed))


def _judge(result: TestResult, known: dict[str, Property], changed: Collection[str]) -> Iterator[str]:
    tried = result.property
    if tried is None:
        return
    was = known.get(result.native_id, tried)
    if was.settings != tried.settings:
        other = _difference(was.settings, tried.settings)
        yield f"{result.id}: its property is tried by other settings since this turn: {other}"
    for path in sorted(set(tried.rejecting) & set(changed)):
        told = "turns inputs of its property down; what a property holds for is the test's to say"
        yield f"{result.id}: {path} {told}"
    if not tried.ran:
        yield f"{result.id}: its property came to its end for no input"


def _difference(before: str, after: str) -> str:
    """The settings that are not the same."""
    old, new = before.split(", "), after.split(", ")
    gone, come = ([one for one in side if one not in other] for side, other in ((old, new), (new, old)))
    return f"{', '.join(gone) or 'none'} → {', '.join(come) or 'none'}"
