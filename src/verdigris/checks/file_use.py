"""Judges the files that a run opened: which are frozen with the oracle, and which object to the verdict."""

from __future__ import annotations

import json
import os.path
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import facts_of_manifest
from verdigris.core.paths import FEW, Classes, PathClass, compile_glob, is_transient
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.report import FileUse, TestReport
    from verdigris.core.state import Red
    from verdigris.storage.project import Project


MOST = 2_000
"""Files that one claim freezes."""
NAMED = 3
"""Paths outside the project that are named for one line of source."""


def recorded_reads(project: Project, report: TestReport, tree: str) -> str:
    """The blob that a red cites: what its test code read of the snapshot; empty where that is nothing."""
    read = test_data(project, report, tree)
    held = _files_at(project, tree) if read else frozenset()
    paths = without((path for path in read if path in held), project.settings.oracle_exclude)[:MOST]
    return project.workspace.blob(json.dumps(paths).encode("ascii")) if paths else ""


def test_data(project: Project, report: TestReport, tree: str) -> list[str]:
    """Files of no class that test code read: as the run itself tells, else as its tests call them."""
    classes, cls = project.configured, project.classify
    reported = {use.path for use in report.files}
    silent = [path for path in report.opened if path not in reported]
    tests = {split_id(result.native_id).path for result in report.results}
    tests.update(path for path in report.opened if cls(path) is PathClass.TEST)
    texts = project.workspace.read_many(tree, sorted(tests)) if silent else {}
    named = mentioned_files(silent, (data for data in texts.values() if data is not None), classes, cls)
    return [*read_by_tests(report.files, classes, cls), *named]


def reads_of(project: Project, reds: Iterable[Red]) -> tuple[str, ...]:
    """What these reds read; the same blob is cited by all of one run."""
    reads: dict[str, None] = {}
    for blob in dict.fromkeys(red.reads for red in reds if red.reads):
        data = project.workspace.blob_bytes(blob)
        reads |= dict.fromkeys(json.loads(data) if data is not None else ())
    return tuple(reads)


def out_of_sight(project: Project, report: TestReport, tree: str) -> tuple[str, ...]:
    """Absolute paths of what it used though no snapshot holds it: executed, or read by tests."""
    read = read_by_tests(report.files, project.configured, project.classify)
    used = dict.fromkeys([*(use.path for use in report.files if use.how == "executed"), *read])
    held = _files_at(project, tree) if used else frozenset()
    hidden = (path for path in used if path not in held and not is_transient(path, project.configured))
    return tuple(f"{project.root}/{path}" for path in hidden)


def data_outside(project: Project, report: TestReport) -> tuple[str, ...]:
    """What source read outside worktree, interpreter and libraries, and what can be frozen of it."""
    reads = read_outside(report.outside_reads, project.classify)
    return tuple(dict.fromkeys(use.path for use in reads if not use.path.startswith("/proc/")))


def objections_of(
    project: Project, founded: int, tree: str, edits: TreeDifference, report: TestReport
) -> Objections:
    """What the verdict's run used that speaks against it; `founded`: when the foundation was frozen."""
    from verdigris.checks.foundation import is_known_since

    read = test_data(project, report, tree)
    changed = {change.path for change in (*edits.source, *edits.other)}
    hidden = [path.removeprefix(f"{project.root}/") for path in out_of_sight(project, report, tree)]
    used = objections(
        report.files,
        project.configured,
        project.classify,
        FilesOfRun(
            seen=_files_at(project, tree),
            changed=changed,
            opened=report.opened,
            expected=without(read, project.settings.oracle_exclude),
            known=[path for path in hidden if is_known_since(project, f"{project.root}/{path}", founded)],
        ),
    )
    outside = name_outside(read_outside(report.outside_reads, project.classify), project.root)
    return replace(used, noted=(*used.noted, *outside))


def _files_at(project: Project, tree: str) -> frozenset[str]:
    return frozenset(entry.path for entry in project.workspace.files(tree))


_CODE = frozenset({PathClass.SOURCE, PathClass.TEST})
_IN_TURN = "changed in this turn, and"
EXPECTED = "changed in this turn, and the tests read it: write it before the claim, or put it back"
OUTSIDE = "which is no part of the project; it may not change between claim and verdict"
UNSEEN = (
    "is executed by the tests, but no snapshot holds it, so nobody can tell what ran; "
    "a person may name it under `generated` in tdd.yaml"
)


@value
class Objections:
    broken: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def read_by_tests(uses: Sequence[FileUse], classes: Classes, cls: Callable[[str], PathClass]) -> list[str]:
    """Files of no class that test code opened; not what the run wrote itself, nor what configures tools."""
    written = {use.path for use in uses if use.how == "wrote"}
    read = dict.fromkeys(use.path for use in uses if use.how == "read" and cls(use.by) is PathClass.TEST)
    return [
        path
        for path in read
        if cls(path) is PathClass.OTHER
        and path not in written
        and facts_of_manifest(path.rpartition("/")[2]) is None
        and not is_transient(path, classes)
    ]


def mentioned_files(
    opened: Iterable[str], texts: Iterable[bytes], classes: Classes, cls: Callable[[str], PathClass]
) -> list[str]:
    """Opened files of no class that these tests name, where it is not known who opened them."""
    candidates = [
        path
        for path in opened
        if cls(path) is PathClass.OTHER
        and facts_of_manifest(path.rpartition("/")[2]) is None
        and not is_transient(path, classes)
    ]
    if not candidates:
        return []
    words = b"\n".join(texts)
    return [path for path in candidates if _is_named(path.rpartition("/")[2], words)]


def _is_named(name: str, words: bytes) -> bool:
    """Looks for the whole name, or for the name without its ending where that alone is in quotes."""
    whole, stem = (
        re.escape(spelling.encode("utf-8", "surrogateescape")) for spelling in (name, name.partition(".")[0])
    )
    named = rb"(?<![\w-])" + whole + rb"(?![\w-])"
    return re.search(named + rb"|[\"'`/]" + stem + rb"[\"'`]" if stem else named, words) is not None


def without(paths: Iterable[str], globs: Iterable[str]) -> tuple[str, ...]:
    """What a person says is no oracle, though tests read it."""
    excluded = [re.compile(compile_glob(glob), re.DOTALL) for glob in globs]
    return tuple(path for path in paths if not any(regex.fullmatch(path) for regex in excluded))


def read_outside(uses: Iterable[FileUse], cls: Callable[[str], PathClass]) -> list[FileUse]:
    return [use for use in uses if cls(use.by.rpartition(":")[0]) is PathClass.SOURCE]


def name_outside(reads: Iterable[FileUse], root: Path) -> tuple[str, ...]:
    """A line for each line of source that reads outside the project."""
    by: dict[str, list[str]] = {}
    for use in reads:
        by.setdefault(use.by, []).append(shorten(use.path, root))
    return tuple(f"{line}: outside: it reads {_list_few(paths)}, {OUTSIDE}" for line, paths in by.items())


def shorten(path: str, root: Path) -> str:
    """A path outside the worktree, as a person would type it there."""
    home = os.path.expanduser("~")  # noqa: PTH111 - it never raises
    if path.startswith(f"{root.parent}/"):
        return f"../{path.removeprefix(f'{root.parent}/')}"
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def _list_few(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")


@value
class FilesOfRun:
    """What is known of the files that a run may have used."""

    seen: Collection[str]
    """What the snapshot holds."""
    changed: Collection[str]
    """In this turn."""
    known: Collection[str] = ()
    """As they were at the red."""
    expected: Collection[str] = ()
    """What test code read. A test that was red before it came to read it has frozen nothing."""
    opened: Iterable[str] = ()
    """By whomever."""


def objections(
    uses: Sequence[FileUse],
    classes: Classes,
    cls: Callable[[str], PathClass],
    files: FilesOfRun,
) -> Objections:
    seen, changed, known, expected = files.seen, files.changed, files.known, files.expected
    executed = [use for use in uses if use.how == "executed"]
    unseen = [use for use in executed if use.path not in seen]
    trusted = [use for use in unseen if use.path in known or is_transient(use.path, classes)]
    odd = [use for use in executed if use.path in seen and cls(use.path) not in _CODE]
    fresh = [use for use in odd if use.path in changed]
    by_source = [use for use in uses if use.how == "read" and _is_data(use, cls)]
    data = [use.path for use in by_source if use.path in changed or use.path not in seen]
    created = [use for use in uses if use.how == "made" and cls(use.path) is PathClass.SOURCE]
    reported = {*expected, *(use.path for use in uses)}
    loose = [p for p in files.opened if p in changed and p not in reported and cls(p) is PathClass.OTHER]
    read_by_source = (use for use in by_source if use.path in changed)
    blocking = (
        *(f"{path} {EXPECTED}" for path in expected if path in changed),
        *map(_code, fresh),
        *(
            f"{_generated(use)}, and {', '.join(_each(data)[:FEW])} changed in this turn"
            for use in created
            if data
        ),
    )
    noted = (
        *(f"{use.path} {UNSEEN}" for use in trusted),
        *(_code(use) for use in odd if use not in fresh and use.by in changed),
        *(f"{use.path} changed in this turn, and {use.by} reads it" for use in read_by_source),
        *(f"{path} {_IN_TURN} the run opens it" for path in loose),
        *(_generated(use) for use in created if not data and use.path in changed),
    )
    broken = (f"{use.path} {UNSEEN}" for use in unseen if use not in trusted)
    return Objections(broken=_each(broken), blocking=_each(blocking), noted=_each(noted))


def _is_data(use: FileUse, cls: Callable[[str], PathClass]) -> bool:
    """Whether a file that was read is no code and source asked for it."""
    return cls(use.path) not in _CODE and cls(use.by) is PathClass.SOURCE


def _code(use: FileUse) -> str:
    by = f" by {use.by}" if use.by else ""
    return f"{use.path}: code: it is executed{by}, although its name does not make it source"


def _generated(use: FileUse) -> str:
    return f"{use.by}: code: it runs code that stands in no source file"


def _each(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))
