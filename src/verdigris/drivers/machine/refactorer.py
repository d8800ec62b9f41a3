"""The refactorer's edits: within the risk budget, no less covered, the same behaviour by the same tests."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.languages import RUST, language_of
from verdigris.core.pathclass import PathClass
from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.drivers.machine.coverage import lowered
from verdigris.drivers.machine.judging import Bad, forbidden, formatted, quoting, with_changes, written
from verdigris.execution.execution import collect
from verdigris.models.roles import feedback
from verdigris.storage.texts import text_of
from verdigris.turns import refactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.machine import MachineSettings
    from verdigris.drivers.machine.judging import Seen
    from verdigris.storage.project import Project


@value
class Extent:
    files: int
    lines: int
    """Added and taken away; a file that only moves counts as a file."""


def extent(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Extent:
    """Of a change, path by path; None where there is no such file."""
    gone = {path: text for path, text in before.items() if text is not None and after.get(path) is None}
    come = {path: text for path, text in after.items() if text is not None and before.get(path) is None}
    moved = {path: next((p for p, t in gone.items() if t == text), None) for path, text in come.items()}
    pure = {*(p for p, origin in moved.items() if origin), *filter(None, moved.values())}
    touched = [p for p in {*before, *after} if before.get(p) != after.get(p)]
    lines = sum(_lines(before.get(p) or b"", after.get(p) or b"") for p in touched if p not in pure)
    return Extent(len(touched) - sum(1 for origin in moved.values() if origin), lines)


def _lines(before: bytes, after: bytes) -> int:
    matcher = SequenceMatcher(a=before.splitlines(), b=after.splitlines(), autojunk=False)
    return sum((i2 - i1) + (j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")


def too_large(
    project: Project, settings: MachineSettings, tree: str, changes: Mapping[str, bytes | None]
) -> Bad | None:
    found = extent(project.workspace.read_many(tree, changes), changes)
    if found.files > settings.refactor_files:
        return forbidden(
            f"it touches {found.files} files, and a refactor may touch {settings.refactor_files}"
        )
    if found.lines > settings.refactor_lines:
        return forbidden(
            f"it changes {found.lines} lines, and a refactor may change {settings.refactor_lines}"
        )
    return None


def judge_refactoring(
    project: Project, settings: MachineSettings, changes: Mapping[str, bytes | None], seen: Seen
) -> Bad | None:
    """None: accepted."""
    start = project.workspace.snapshot()
    if large := too_large(project, settings, start, changes):
        return large
    begun = refactor.begin(project, uncovered=False, known=True)
    if isinstance(begun, Deny):
        return Bad(feedback.denied(begun), (f"denied [{begun.rule}]: {begun.reason}",))
    return written(project, changes) or judge_restructured(project, settings, start, seen)


def judge_restructured(project: Project, settings: MachineSettings, start: str, seen: Seen) -> Bad | None:
    """The tree as it stands in the refactor phase, against the step's start."""
    return (
        formatted(project, start)
        or _unchanged(project, start)
        or _other_tests(project, start)
        or _guarded(project, settings, start)
        or _ended(project, seen)
    )


def _unchanged(project: Project, start: str) -> Bad | None:
    if project.workspace.snapshot() != start:
        return None
    return forbidden("nothing differs from before, once it is formatted")


def _other_tests(project: Project, start: str) -> Bad | None:
    """A refactor has the tests that it found, under the names that it found."""
    changed = [change.path for change in project.workspace.changes(start, project.workspace.snapshot())]
    refactor_ = project.state().refactor
    touched = [p for p in changed if project.classify(p) is PathClass.TEST or language_of(p) == RUST]
    if not touched or refactor_ is None:
        return None
    before = frozenset(json.loads(project.workspace.blob_bytes(refactor_.record) or b"{}"))
    after = collect(project)
    if not after or any(stack.suite for stack in project.settings.stacks):
        return None  # what keeps them from being found is told by the run itself
    if new := sorted(after - before):
        return forbidden(f"{new[0]} is a new test: a refactor adds none and renames none")
    if gone := [test for test in sorted(before - after) if not _is_written(project, test)]:
        return forbidden(f"{gone[0]} is gone: a refactor keeps every test under its name")
    return None


def _is_written(project: Project, test: str) -> bool:
    """Its file may not load; then the run says why."""
    named = split_id(test)
    return re.split(r"::| › ", named.function)[-1] in (text_of(project, named.path) or "")


def _guarded(project: Project, settings: MachineSettings, start: str) -> Bad | None:
    why = lowered(project, start) if settings.coverage_guard else None
    return None if why is None else forbidden(why)


def _ended(project: Project, seen: Seen) -> Bad | None:
    ended = refactor.end(project)
    if isinstance(ended, Deny):
        return Bad(feedback.denied(ended), (f"denied [{ended.rule}]: {ended.reason}",))
    seen += [ended.report] if ended.report else []
    if ended.verdict.accepted:
        return None
    state = project.state()
    laid = state.aside.get(ended.aside or "")
    quote = quoting(project, laid.edited if laid is not None else None)
    said = feedback.unsettled(ended.verdict, ended.report, withheld=frozenset(state.held_out), quote=quote)
    return Bad(said, (f"{ended.verdict.kind}: {feedback.causes(ended.verdict, ended.report)}",))


def mending(project: Project, base: str, changes: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Edits meant for `base`, as edits of the tree as it stands, which has others of them already."""
    now = project.workspace.snapshot()
    target = with_changes(project, base, changes)
    differing = project.workspace.changes(now, target)
    return {c.path: None if c.deleted else project.workspace.read(target, c.path) for c in differing}
