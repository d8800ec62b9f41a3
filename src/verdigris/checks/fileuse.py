"""The files that a run used: kept with a red, frozen by a claim, questioned by a verdict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.checks.fileuse_core import Objections, mentioned, objections, read_by_tests, without
from verdigris.checks.foundation import known_since
from verdigris.core.classify import is_transient
from verdigris.core.pathclass import PathClass
from verdigris.core.testids import split_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.checks.observation import Difference
    from verdigris.core.report import TestReport
    from verdigris.core.state import Red
    from verdigris.storage.project import Project

MOST = 2_000
"""Files that one claim freezes."""


def recorded_reads(project: Project, report: TestReport, tree: str) -> str:
    """The blob that a red cites: what its test code read of the snapshot; empty where that is nothing."""
    read = test_data(project, report, tree)
    held = _held(project, tree) if read else frozenset()
    paths = without((path for path in read if path in held), project.settings.oracle_exclude)[:MOST]
    return project.workspace.blob(json.dumps(paths).encode("ascii")) if paths else ""


def test_data(project: Project, report: TestReport, tree: str) -> list[str]:
    """Files of no class that test code read: as the run itself tells, else as its tests call them."""
    classes, cls = project.configured, project.classify
    told = {use.path for use in report.files}
    silent = [path for path in report.opened if path not in told]
    tests = {split_id(result.native_id).path for result in report.results}
    tests.update(path for path in report.opened if cls(path) is PathClass.TEST)
    texts = project.workspace.read_many(tree, sorted(tests)) if silent else {}
    named = mentioned(silent, (data for data in texts.values() if data is not None), classes, cls)
    return [*read_by_tests(report.files, classes, cls), *named]


def reads_of(project: Project, reds: Iterable[Red]) -> tuple[str, ...]:
    """What these reds read; the same blob is cited by all of one run."""
    found: dict[str, None] = {}
    for blob in dict.fromkeys(red.reads for red in reds if red.reads):
        data = project.workspace.blob_bytes(blob)
        found |= dict.fromkeys(json.loads(data) if data is not None else ())
    return tuple(found)


def out_of_sight(project: Project, report: TestReport, tree: str) -> tuple[str, ...]:
    """Absolute paths of what it used though no snapshot holds it: executed, or read by tests."""
    read = read_by_tests(report.files, project.configured, project.classify)
    used = dict.fromkeys([*(use.path for use in report.files if use.how == "executed"), *read])
    held = _held(project, tree) if used else frozenset()
    hidden = (path for path in used if path not in held and not is_transient(path, project.configured))
    return tuple(f"{project.root}/{path}" for path in hidden)


def objections_of(
    project: Project, founded: int, tree: str, edits: Difference, report: TestReport
) -> Objections:
    """What the verdict's run used that speaks against it; `founded`: when the foundation was frozen."""
    read = test_data(project, report, tree)
    changed = {change.path for change in (*edits.source, *edits.other)}
    hidden = [path.removeprefix(f"{project.root}/") for path in out_of_sight(project, report, tree)]
    return objections(
        report.files,
        project.configured,
        project.classify,
        seen=_held(project, tree),
        changed=changed,
        opened=report.opened,
        expected=without(read, project.settings.oracle_exclude),
        known=[path for path in hidden if known_since(project, f"{project.root}/{path}", founded)],
    )


def _held(project: Project, tree: str) -> frozenset[str]:
    return frozenset(entry.path for entry in project.workspace.files(tree))
