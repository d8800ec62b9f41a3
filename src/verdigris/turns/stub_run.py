"""Runs tests that do not load over stubs of what source lacks.

The stubs stand in the room of that run alone. A test that fails there asks for behaviour: it is red. One that
passes there asks only whether something exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.changed_runs import ChangedTree
from verdigris.checks.missing_stubs import ProjectFiles, asks_existence
from verdigris.core.report import RunEnd, Status, TestReport, merge_reports
from verdigris.core.test_ids import split_id
from verdigris.core.value import field, replace, value
from verdigris.execution.test_run import execute
from verdigris.languages.registry import reader_of
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verdigris.core.events import TestRun
    from verdigris.execution.room import Layer
    from verdigris.languages.stubs import Stub
    from verdigris.storage.project import Project


@value
class StubRun:
    """A run of tests, with the results over stubs in place of those that could not tell anything."""

    report: TestReport
    stubs: Mapping[str, tuple[Stub, ...]] = field(default_factory=dict)
    """Test file → the stubs that its tests need, whether or not anything fails over them."""
    over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Native id of a test that failed over stubs → the stubs, each as `PATH: TEXT`."""
    existing: tuple[str, ...] = ()
    """Native ids of tests that pass over stubs."""


def run_over_stubs(
    project: Project, asked: StubRun, runs: Sequence[TestRun], natives: Collection[str], layer: Layer
) -> StubRun:
    """`asked`: the run without stubs, and the missing ones. `runs`: as judged. `natives`: as requested."""
    undecided = frozenset(run.native_id for run in runs if run.red not in {None, "valid"})
    doubted = frozenset(run.native_id for run in runs if run.red and asks_existence(project, run))
    for path, stubs in asked.stubs.items():
        names = tuple(name for name in natives if split_id(name).path == path) or (path,)
        files = reader_of(path).stubs.path_files(path, stubs, ProjectFiles.of(project, layer.wanted))
        texts = {one.path: one.whole.encode("utf-8", "surrogateescape") for one in (*files, *stubs)}
        laid = ChangedTree(project, layer.worktree, layer).layer_with(texts)
        over = execute(project, TestRequest(names), layer=laid)
        # Nothing that the stubs' files held is a part of the project.
        uses = tuple(use for use in over.files if use.path not in texts)
        opened = tuple(name for name in over.opened if name not in texts)
        asked = _take_results(asked, path, replace(over, files=uses, opened=opened), undecided, doubted)
    return asked


def _take_results(
    asked: StubRun, path: str, over: TestReport, undecided: Collection[str], doubted: Collection[str]
) -> StubRun:
    """Takes what failed over the stubs; a file that does not load over them either stays as it was.

    `doubted`: what is red without stubs stays so unless it passes over them.
    """
    report = asked.report
    if over.ended is not RunEnd.FINISHED or any(error.path in {"", path} for error in over.errors):
        return asked
    unloaded = any(error.path == path for error in report.errors)
    mine = [r for r in over.results if unloaded or r.native_id in undecided or r.native_id in doubted]
    bad = (r for r in mine if r.status in {Status.FAIL, Status.ERROR})
    failed = tuple(r for r in bad if unloaded or r.native_id in undecided)
    passed = tuple(r.native_id for r in mine if r.status is Status.PASS)
    decided = {*passed, *(result.native_id for result in failed)}
    kept = tuple(result for result in report.results if result.native_id not in decided)
    asked = replace(asked, existing=(*asked.existing, *passed), report=replace(report, results=kept))
    if not failed:
        return asked
    joined = replace(
        merge_reports((report, over)),
        command=report.command,
        results=(*kept, *failed),
        collected=tuple(dict.fromkeys((*report.collected, *over.collected))),
        errors=tuple(error for error in report.errors if error.path != path),
    )
    names = (result.native_id for result in failed)
    shown = tuple(_describe(asked.stubs[path]))
    return replace(asked, report=joined, over={**asked.over, **dict.fromkeys(names, shown)})


def _describe(stubs: Sequence[Stub]) -> Iterator[str]:
    for stub in stubs:
        yield f"{stub.path}: {' '.join(stub.text.split())}"
