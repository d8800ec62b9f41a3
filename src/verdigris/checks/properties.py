"""Properties in a verdict: what they were tried by, against the same tests with the source as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.propertiesx import judge_properties
from verdigris.execution.execution import execute
from verdigris.execution.proving import on_start_tree
from verdigris.execution.room.held import beside

if TYPE_CHECKING:
    from collections.abc import Collection

    from verdigris.checks.observation import Difference
    from verdigris.core.report import TestReport
    from verdigris.execution.room.layers import Layer
    from verdigris.storage.project import Project


def question_properties(
    project: Project,
    start: str,
    tree: str,
    edits: Difference,
    suite: TestReport,
    claimed: Collection[str] | None,
    room: Layer | None,
) -> tuple[str, ...]:
    """Why properties that pass prove nothing; `claimed` is None where all of the suite's count.

    Only where there are properties, these tests are run once more on the tree that the turn began with.
    """
    tried = [
        result
        for result in suite.results
        if result.property is not None and (claimed is None or result.native_id in claimed)
    ]
    changed = [c.path for c in edits.source]
    if not tried or not changed:
        return ()
    paths = tuple(c.path for c in (*edits.source, *edits.other))
    with on_start_tree(project, start=start, edited=tree, paths=paths) as layer:
        names = [result.native_id for result in tried]
        before = execute(project, names, layer=beside(layer, room))
    return judge_properties(tried, before.results, changed)
