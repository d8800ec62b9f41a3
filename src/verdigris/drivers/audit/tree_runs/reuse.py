"""Decides which results of one tree hold for the next: those that the record of a run shows cannot differ.

The decision is `core.reuse`'s; here trees are compared, and records of runs are made and joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from posixpath import splitext

from verdigris.checks.observation import difference
from verdigris.core.paths import LINK, Change, PathClass
from verdigris.core.report import RunUses, Status, TestReport, TestUse
from verdigris.core.reuse import Rerun, is_example, plan_rerun
from verdigris.core.reuse.facts import ModuleDelta, ModuleWords, RunRecord, TreeChange
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.languages.registry import is_traced, reader_of
from verdigris.languages.tests import still_written
from verdigris.storage.project import Project, texts_at

_KEPT = frozenset({Status.PASS, Status.SKIP})
_BUILT = (".c", ".h", ".cc", ".cpp", ".pyx", ".pxd", ".rs", ".so", ".pyd", ".f90")
_MORE = ModuleDelta(more=True)


class Doubt(Exception):
    """Why all tests of a tree have to run."""


def make_record(project: Project, tree: str, report: TestReport) -> RunRecord | None:
    """Records what tests use, by names of functions; None if the run recorded too little."""
    uses = report.uses
    if uses is None or uses.problem:
        return None
    texts = texts_at(project, tree, uses.files)
    named = _name_places(uses, texts)
    if named is None:
        return None
    explained = {*uses.read, *uses.known}
    unexplained = {path for path in report.opened if path not in explained and "__pycache__" not in path}
    return RunRecord(
        named,
        uses.sets,
        uses.tests,
        uses.common,
        frozenset(uses.files),
        frozenset(uses.read) | unexplained - frozenset(uses.files),
        frozenset(uses.listed),
    )


def _name_places(uses: RunUses, texts: Mapping[str, str]) -> tuple[tuple[str, str], ...] | None:
    lines: dict[str, set[int]] = {}
    for path, line in uses.places:
        lines.setdefault(path, set()).add(line)
    named: dict[str, dict[int, str]] = {}
    for path, wanted in lines.items():
        tracing = reader_of(path).tracing()
        found = tracing.name_lines(texts[path], wanted) if tracing is not None and path in texts else None
        if found is None:
            return None  # the run made the file, or it is of another language
        named[path] = found
    return tuple((path, named[path][line]) for path, line in uses.places)


def join_records(base: RunRecord, dropped: Iterable[str], new: RunRecord) -> RunRecord:
    """Returns the record of a tree of which a part was run."""
    functions = dict.fromkeys((*base.functions, *new.functions))
    number = {one: at for at, one in enumerate(functions)}
    sets: dict[tuple[int, ...], int] = {}

    def take(record: RunRecord, at: int) -> int:
        found = tuple(sorted({number[record.functions[i]] for i in record.sets[at]}))
        return sets.setdefault(found, len(sets))

    def move(record: RunRecord, use: TestUse) -> TestUse:
        hits, fills = (tuple(number[record.functions[at]] for at in part) for part in (use.hits, use.fills))
        return TestUse(take(record, use.functions), hits, fills, use.unsure)

    gone = frozenset(dropped)
    tests = {i: move(base, use) for i, use in base.tests.items() if i not in gone}
    tests |= {i: move(new, use) for i, use in new.tests.items()}
    common: dict[str, int] = {}
    for path in {*base.common, *new.common}:
        parts = [r.functions[i] for r in (base, new) if path in r.common for i in r.sets[r.common[path]]]
        found = tuple(sorted({number[one] for one in parts}))
        common[path] = sets.setdefault(found, len(sets))
    return RunRecord(
        tuple(functions),
        tuple(sets),
        tests,
        common,
        base.files | new.files,
        base.read | new.read,
        base.listed | new.listed,
    )


def plan(project: Project, record: RunRecord, report: TestReport, before: str, after: str) -> Rerun:
    """Returns which tests of `after` have to run, by the record and report of `before`."""
    try:
        change = _describe(project, record, before, after)
        paths = {*record.files, *change.modules, *change.fresh}
        words = {path: _say(path, text) for path, text in texts_at(project, after, paths).items()}
    except Doubt as doubt:
        return Rerun(whole=str(doubt))
    kept = {r.native_id for r in report.results if r.status in _KEPT}
    rerun = plan_rerun(record, change, words, kept)
    return rerun if rerun.whole else _with_loaders(record, change, rerun)


def list_removed(project: Project, before: str, after: str, ids: Iterable[str]) -> frozenset[str]:
    """Returns those of the tests that the change removed, so that they are not expected after it."""
    paths = [change.path for change in project.workspace.changes(before, after)]
    old, new = (texts_at(project, tree, paths) for tree in (before, after))
    had, has = (
        {p: _say(p, text).examples for p, text in side.items() if is_traced(p)} for side in (old, new)
    )
    removed = tuple(
        f".{name}" for path, known in had.items() for name in known.keys() - has.get(path, {}).keys()
    )
    others = [i for i in ids if not is_example(i) and split_id(i).path in old]
    was, is_ = (frozenset(still_written(side, others, ())) for side in (old, new))
    return frozenset(i for i in ids if is_example(i) and i.endswith(removed)) | (was - is_)


def _with_loaders(record: RunRecord, change: TreeChange, rerun: Rerun) -> Rerun:
    """Adds one test for each changed module that no other test loads, so that all of them are loaded."""
    ids = set(rerun.ids)
    for path in change.modules:
        inside = {at for at, (file, _) in enumerate(record.functions) if file == path}
        sets = {at for at, one in enumerate(record.sets) if not inside.isdisjoint(one)}
        users = [i for i, use in record.tests.items() if use.functions in sets]
        if not any(i in ids for i in users):
            ids |= {min(i for i in users if i not in rerun.dropped)} if set(users) - rerun.dropped else set()
    return replace(rerun, ids=frozenset(ids), dropped=rerun.dropped | ids)


def _say(path: str, text: str) -> ModuleWords:
    tracing = reader_of(path).tracing()
    found = None if tracing is None else tracing.module_words(text)
    if found is None:
        raise Doubt(f"{path} cannot be parsed")
    return found


def _describe(project: Project, record: RunRecord, before: str, after: str) -> TreeChange:
    changes = project.workspace.changes(before, after)
    drifted = frozenset(difference(project, before, after).oracle)
    tests = {split_id(i).path for i in record.tests} | {p for p in record.files if _is_test(project, p)}
    modules: dict[str, ModuleDelta] = {}
    others: set[str] = set()
    unlisted: set[str] = set()
    fresh: set[str] = set()
    for change in changes:
        path = change.path
        if change.old_mode != change.new_mode and LINK in {change.old_mode, change.new_mode}:
            raise Doubt(f"{path} is a link")
        if is_traced(path) and not (change.deleted or change.old is None) and path in record.files:
            modules[path] = _compare(project, change)
        elif is_traced(path) and change.old is None and _is_test(project, path):
            fresh.add(path)
        else:
            _refuse_doubtful(project, change, record, drifted)
            others.add(path)
            unlisted |= {path} if change.deleted or change.old is None else set()
    return TreeChange(
        modules, frozenset(others), frozenset(unlisted), frozenset(tests | fresh), frozenset(fresh)
    )


def _compare(project: Project, change: Change) -> ModuleDelta:
    old, new = project.workspace.blobs((change.old or "", change.new or ""))
    if old is None or new is None:
        return _MORE
    texts = (data.decode("utf-8", "replace") for data in (old, new))
    tracing = reader_of(change.path).tracing()
    return (None if tracing is None else tracing.compare_modules(*texts)) or _MORE


def _is_test(project: Project, path: str) -> bool:
    stem = splitext(path.rpartition("/")[2])[0]
    return project.classify(path) is PathClass.TEST and (stem.startswith("test_") or stem.endswith("_test"))


def _refuse_doubtful(project: Project, change: Change, record: RunRecord, drifted: frozenset[str]) -> None:
    path, kind = change.path, project.classify(change.path)
    listed = change.deleted or change.old is None
    if path in record.files:
        raise Doubt(f"{path} is gone")
    if path.endswith(_BUILT):
        raise Doubt(f"{path} is built before it runs")
    if path in drifted and (kind is not PathClass.TEST or is_traced(path)):
        raise Doubt(f"{path} says how tests run")
    if listed and (kind in {PathClass.SOURCE, PathClass.TEST} or is_traced(path)):
        raise Doubt(f"{path} is new or gone")
