"""Finds the new lines of source that no claimed test ran."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.report import merge_reports
from verdigris.core.value import value
from verdigris.execution.test_run import execute_suite, run_request
from verdigris.execution.test_selection import by_stack
from verdigris.languages.python.stubs.forms import is_elsewhere, last_name
from verdigris.languages.python.syntax import added_lines, shared_tree
from verdigris.languages.registry import language_named
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.core.report import TestReport
    from verdigris.execution.room import Layer
    from verdigris.storage.project import Project


def watchable(edits: TreeDifference) -> tuple[str, ...]:
    """The files to be traced: only what the turn changed, so that all else runs at its own speed."""
    return tuple(c.path for c in edits.source if c.path.endswith(".py") and not c.deleted)


def list_unmeasured(paths: Iterable[str]) -> tuple[str, ...]:
    """What cannot be said of source in another language than Python."""
    others = tuple(path for path in paths if not path.endswith(".py"))
    return (f"line coverage is measured for Python only, not for {', '.join(others)}",) if others else ()


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
    """Collects by path the lines that any of the runs was seen to run."""
    found: dict[str, frozenset[int]] = {}
    for report in reports:
        for path, lines in report.lines.items():
            found[path] = found.get(path, frozenset()) | lines
    return found


UNASKED = "no test was seen to run "
"""Before a place, where that refuses a verdict."""


@value
class _StatementLines:
    first: int
    last: int
    """Of its own lines: a block's begin after its head."""
    end: int
    """With its blocks."""
    asked: bool
    """A test could run it, and would."""


def uncovered_lines(
    before: Mapping[str, str | None], after: Mapping[str, str], executed: Mapping[str, Collection[int]]
) -> tuple[str, ...]:
    """Names places as `src/x.py:12-14`. `executed`: by path of each watched file, the lines that ran."""
    added = added_lines({path: text for path, text in before.items() if text is not None}, after)
    return tuple(
        f"{path}:{first}" if first == last else f"{path}:{first}-{last}"
        for path, lines in added.items()
        if path in executed
        for first, last in _idle(after[path], lines, frozenset(executed[path]))
    )


def _idle(text: str, added: frozenset[int], executed: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The added lines that did not run, neighbours joined with what stands between them."""
    run: tuple[int, int] | None = None
    for one in sorted(_statements(text), key=lambda one: one.first):
        ran = not executed.isdisjoint(range(one.first, one.end + 1))
        if one.asked and one.first in added and not ran:
            run = (one.first if run is None else run[0], one.last)
        elif run is not None and one.first > run[1]:
            yield run
            run = None
    if run is not None:
        yield run


def _statements(text: str) -> Iterator[_StatementLines]:
    if (tree := shared_tree(text)) is None:
        yield _StatementLines(1, 1, 1, asked=True)
        return
    stack: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body]
    while stack:
        node, asked = stack.pop()
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            head = max(node.lineno, _line(body[0]) - 1) if body else end
            yield _StatementLines(node.lineno, head, end, asked and not _says_it_is_missing(node))
            asked = asked and not (isinstance(node, ast.If) and is_elsewhere(node.test))
        stack.extend((child, asked) for child in ast.iter_child_nodes(node))


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0) or getattr(getattr(node, "pattern", None), "lineno", 0))


def _says_it_is_missing(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Call(func=raised) | (ast.Name() | ast.Attribute() as raised)):
            return last_name(raised) == "NotImplementedError"
        case _:
            return False
