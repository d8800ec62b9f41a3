"""Finds the new lines of source that no claimed test ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.report import TestReport, merge_reports
from verdigris.execution.test_run import execute_suite, run_request
from verdigris.execution.test_selection import by_stack
from verdigris.languages.registry import by_language, is_traced, language_named, reader_of
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.execution.room import Layer


def watchable(edits: TreeDifference) -> tuple[str, ...]:
    """The files to be traced: only what the turn changed, so that all else runs at its own speed."""
    return tuple(c.path for c in edits.source if is_traced(c.path) and not c.deleted)


def list_unmeasured(paths: Iterable[str]) -> tuple[str, ...]:
    """What cannot be said of source whose runs nothing traces."""
    others = tuple(path for path in paths if not is_traced(path))
    return (f"line coverage is not measured for {', '.join(others)}",) if others else ()


def never_run(
    candidate: Candidate, claimed: Sequence[str], watched: Iterable[TestReport] = ()
) -> tuple[str, ...]:
    """`watched`: runs of the claimed tests that traced what is `watchable`; made here where there are none.

    Before a line refuses a verdict the whole suite is asked: a change often moves lines that other tests run.
    What a test runs in a process of its own is not seen.
    """
    project, room, paths = candidate.project, candidate.room, watchable(candidate.edits)
    if not paths:
        return ()
    reports = tuple(watched) or run_traced(project, claimed, paths, room)
    before, after = (texts_at(project, at, paths) for at in (candidate.start, candidate.tree))
    idle = uncovered_lines(dict(before), after, executed_lines(reports))
    if not idle or project.settings.uncovered != "block":
        return tuple(f"no claimed test was seen to run {place}" for place in idle)
    suite = execute_suite(project, TestRequest(trace=paths), layer=room)
    idle = uncovered_lines(dict(before), after, executed_lines((*reports, suite)))
    return tuple(f"{UNASKED}{place}" for place in idle)


def run_traced(
    project: Project, claimed: Sequence[str], paths: Sequence[str], room: Layer | None
) -> tuple[TestReport, ...]:
    by = by_stack(project.settings.stacks, claimed)
    traced = {stack: names for stack, names in by.items() if language_named(stack.language).traces}
    if not traced:
        return ()
    return (
        merge_reports(
            run_request(project, stack, TestRequest(names, trace=tuple(paths)), layer=room)
            for stack, names in traced.items()
        ),
    )


def executed_lines(reports: Iterable[TestReport]) -> Mapping[str, frozenset[int]]:
    """Collects by path the lines that any of the runs was seen to run, if it was seen whole."""
    executed: dict[str, frozenset[int]] = {}
    for report in (report for report in reports if not report.cut):
        for path, lines in report.lines.items():
            executed[path] = executed.get(path, frozenset()) | lines
    return executed


UNASKED = "no test was seen to run "
"""Before a place, where that refuses a verdict."""


def uncovered_lines(
    before: Mapping[str, str | None], after: Mapping[str, str], executed: Mapping[str, Collection[int]]
) -> tuple[str, ...]:
    """Names places as `src/x.py:12-14`. `executed`: by path of each watched file, the lines that ran."""
    uncovered: list[str] = []
    for path, lines in added_lines(
        {p: text for p, text in before.items() if text is not None}, after
    ).items():
        tracing = reader_of(path).tracing()
        if tracing is not None and path in executed:
            idle = tracing.idle_lines(after[path], lines, frozenset(executed[path]))
            uncovered += (
                f"{path}:{first}" if first == last else f"{path}:{first}-{last}" for first, last in idle
            )
    return tuple(uncovered)


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, frozenset[int]]:
    """Maps each file whose runs can be traced to the first lines of its new statements."""
    added: dict[str, frozenset[int]] = {}
    for language, paths in by_language(filter(is_traced, {**before, **after})).items():
        if (tracing := language.tracing()) is not None:
            old, new = ({path: side[path] for path in paths if path in side} for side in (before, after))
            added |= tracing.added_lines(old, new)
    return added
