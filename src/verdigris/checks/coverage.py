"""Which new lines of a turn no claimed test was seen to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.uncovered import UNASKED, uncovered
from verdigris.core.languages import PYTHON
from verdigris.core.merging import merged
from verdigris.execution.execution import execute_suite
from verdigris.execution.python_call import call
from verdigris.execution.test_selection import by_stack
from verdigris.storage.texts import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.checks.observation import Difference
    from verdigris.core.report import TestReport
    from verdigris.execution.room.layers import Layer
    from verdigris.storage.project import Project


def watchable(edits: Difference) -> tuple[str, ...]:
    """The files to be traced: only what the turn changed, so that all else runs at its own speed."""
    return tuple(c.path for c in edits.source if c.path.endswith(".py") and not c.deleted)


def unmeasured(paths: Iterable[str]) -> tuple[str, ...]:
    """What cannot be said of source in another language than Python."""
    others = tuple(path for path in paths if not path.endswith(".py"))
    return (f"line coverage is measured for Python only, not for {', '.join(others)}",) if others else ()


def never_run(
    project: Project,
    start: str,
    tree: str,
    edits: Difference,
    claimed: Sequence[str],
    watched: Iterable[TestReport] = (),
    room: Layer | None = None,
) -> tuple[str, ...]:
    """`watched`: runs of the claimed tests that traced what is `watchable`; made here where there are none.

    Before a line refuses a verdict the whole suite is asked: a change often moves lines that other tests run.
    What a test runs in a process of its own is not seen.
    """
    paths = watchable(edits)
    if not paths:
        return ()
    reports = tuple(watched) or _watched(project, claimed, paths, room)
    before, after = (texts_at(project, at, paths) for at in (start, tree))
    idle = uncovered(dict(before), after, _lines(reports))
    if not idle or project.settings.uncovered != "block":
        return tuple(f"no claimed test was seen to run {place}" for place in idle)
    suite = execute_suite(project, trace=paths, layer=room)
    idle = uncovered(dict(before), after, _lines((*reports, suite)))
    return tuple(f"{UNASKED}{place}" for place in idle)


def _watched(
    project: Project, claimed: Sequence[str], paths: Sequence[str], room: Layer | None
) -> tuple[TestReport, ...]:
    by = by_stack(project.settings.stacks, claimed)
    traced = {stack: names for stack, names in by.items() if stack.language == PYTHON}
    if not traced:
        return ()
    return (merged(call(project, stack, names, trace=paths, layer=room) for stack, names in traced.items()),)


def _lines(reports: Iterable[TestReport]) -> Mapping[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for report in reports:
        for path, lines in report.lines.items():
            found[path] = found.get(path, frozenset()) | lines
    return found
