"""Finds the new code that no test runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.mutants import MOST, Trial, describe_place, try_mutants
from verdigris.core.debts import UNASKED, Debt, make_debt
from verdigris.core.report import Status, TestReport, TestResult
from verdigris.core.value import replace, value
from verdigris.execution.test_run import execute, execute_suite
from verdigris.languages.findings import Mutant
from verdigris.languages.registry import by_language, is_traced, reader_of
from verdigris.runners.protocol import Progress, TestRequest, announce
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.execution.room import Layer
    from verdigris.languages.tracing import Tracing

    Texts = Mapping[str, str]

_ELSEWHERE = "runs only on another platform or version, or without a package: no test here asks for it"
SECONDS = 60.0
"""The time to find out which lines tests run in other processes."""


@value
class Unasked:
    """Neighbouring new lines that no test runs."""

    path: str
    first: int
    last: int
    name: str
    """The function that they are in."""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.first}" + ("" if self.first == self.last else f"-{self.last}")

    def __str__(self) -> str:
        return describe_unasked(f"{self.path}:{self.first}", self.name)


_DECLARED = re.compile(r".*?\b(?:function|func|fn|const|let|var)\b\*? *(?:\([^)]*\) *)?([\w$]+)")


def describe_unasked(place: str, code: str) -> str:
    """`code`: the name of a function, or its declaration."""
    declared = _DECLARED.match(code)
    name = declared[1] if declared is not None else code.partition("{")[0].replace(": ", " ")
    return f"{UNASKED}{f'{place} {name}'.rstrip()}: no test runs it; claim a red for it, or take it out"


def watchable(edits: TreeDifference) -> tuple[str, ...]:
    """The files to be traced: only what the turn changed, so that all else runs at its own speed."""
    return tuple(c.path for c in edits.source if is_traced(c.path) and not c.deleted)


def new_lines(project: Project, start: str, tree: str, edits: TreeDifference) -> dict[str, frozenset[int]]:
    """The first lines of new statements in these files."""
    paths = watchable(edits)
    return added_lines(texts_at(project, start, paths), texts_at(project, tree, paths)) if paths else {}


def run_suite_traced(
    project: Project,
    request: TestRequest,
    doubt: Callable[[TestResult], bool],
    *,
    layer: Layer | None,
    progress: Progress | None = None,
) -> TestReport:
    """The suite with the lines that it runs.

    A test may fail only because it is traced, if it measures memory or time: then a run without it counts.
    `doubt`: whether this may be so for a test that failed.
    """
    report = execute_suite(project, request, layer=layer, progress=progress)
    failing = (r for r in report.results if r.status in {Status.FAIL, Status.ERROR})
    doubtful = tuple(result.native_id for result in failing if doubt(result))
    if not request.trace or not doubtful:
        return report
    plain = replace(request, trace=(), watch={})
    again = execute(project, replace(plain, names=doubtful), layer=layer)
    if not any(result.status is Status.PASS for result in again.results):
        return report
    announce(progress, "the suite, untraced")
    untraced = execute_suite(project, plain, layer=layer, progress=progress)
    return replace(untraced, lines=report.lines, uses=report.uses, doubles=report.doubles, left=report.left)


def find_unasked(candidate: Candidate, suite: TestReport) -> tuple[Unasked, ...]:
    """`suite`: the run of all tests, with the executed lines of what is `watchable`."""
    paths = watchable(candidate.edits)
    if not paths:
        return ()
    before, after = (dict(texts_at(candidate.project, at, paths)) for at in (candidate.start, candidate.tree))
    places = list(_idle_places(before, after, executed_lines([suite])))
    added: dict[str, frozenset[int]] = {}
    for place in places:
        added[place.path] = added.get(place.path, frozenset()) | {place.first}
    apart = lines_run_apart(candidate, added, suite)
    return tuple(place for place in places if place.first not in apart.get(place.path, frozenset()))


def debt_of(place: Unasked, text: str) -> Debt | None:
    """What a person owes who accepts it: a test that runs it, which fails where the line is made to fail."""
    tracing = reader_of(place.path).tracing()
    failing = None if tracing is None else tracing.failing_at(text, place.first)
    if failing is None:
        return None
    what = text.splitlines()[place.first - 1].strip()
    return make_debt(place.path, place.first, what, "", (text, failing))


def lines_run_apart(
    candidate: Candidate,
    added: Mapping[str, frozenset[int]],
    ran: TestReport,
    progress: Progress | None = None,
) -> dict[str, frozenset[int]]:
    """The added lines that no trace saw and that a test runs in another process: it fails if they do."""
    idle = {path: sorted(lines - ran.lines.get(path, frozenset())) for path, lines in added.items()}
    if candidate.room is None or not 0 < sum(map(len, idle.values())) <= MOST:
        return {}
    texts = candidate.project.workspace.read_many(candidate.tree, list(idle))
    mutants = [
        Mutant(path, line, "", failing.encode("utf-8", "surrogateescape"), fails=True)
        for path, lines in idle.items()
        if (tracing := reader_of(path).tracing()) is not None and (data := texts.get(path)) is not None
        for line in lines
        if (failing := tracing.failing_at(data.decode("utf-8", "surrogateescape"), line)) is not None
    ]
    tried = try_mutants(candidate, mutants, Trial(ran, SECONDS, apart=True, progress=progress))
    unseen = {
        *map(describe_place, tried.unnoticed),
        *(text.rpartition(": ")[0] for text in tried.untried),
    }
    apart: dict[str, frozenset[int]] = {}
    for mutant in mutants:
        if describe_place(mutant) not in unseen:
            apart[mutant.path] = apart.get(mutant.path, frozenset()) | {mutant.line}
    return apart


def executed_lines(reports: Iterable[TestReport]) -> Mapping[str, frozenset[int]]:
    """Collects by path the lines that any of the runs was seen to run, if it was seen whole."""
    executed: dict[str, frozenset[int]] = {}
    for report in (report for report in reports if not report.cut):
        for path, lines in report.lines.items():
            executed[path] = executed.get(path, frozenset()) | lines
    return executed


def uncovered_lines(
    before: Mapping[str, str | None], after: Mapping[str, str], executed: Mapping[str, Collection[int]]
) -> tuple[str, ...]:
    """Names places as `src/x.py:12-14`. `executed`: by path of each watched file, the lines that ran."""
    return tuple(place.place for place in _idle_places(before, after, executed))


def _idle_places(
    before: Mapping[str, str | None], after: Mapping[str, str], executed: Mapping[str, Collection[int]]
) -> Iterable[Unasked]:
    old = {path: text for path, text in before.items() if text is not None}
    yield from _idle_parts(added_lines(old, after), after, executed)


def find_foreign(candidate: Candidate, suite: TestReport) -> tuple[Unasked, ...]:
    """New lines that did not run, and that run only on other machines: no test here asks for them."""
    paths = watchable(candidate.edits)
    before, after = (dict(texts_at(candidate.project, at, paths)) for at in (candidate.start, candidate.tree))
    return tuple(_idle_parts(_foreign_lines(before, after), after, executed_lines([suite])))


def describe_foreign(places: Iterable[Unasked]) -> tuple[str, ...]:
    return tuple(f"{place.place}: {_ELSEWHERE}" for place in places)


def _idle_parts(
    added: Mapping[str, frozenset[int]],
    after: Mapping[str, str],
    executed: Mapping[str, Collection[int]],
) -> Iterable[Unasked]:
    for path, lines in added.items():
        tracing = reader_of(path).tracing()
        if tracing is None or path not in executed:
            continue
        idle = list(tracing.idle_lines(after[path], lines, frozenset(executed[path])))
        names = tracing.name_lines(after[path], {first for first, _ in idle}) or {}
        yield from (Unasked(path, first, last, names.get(first, "")) for first, last in idle)


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, frozenset[int]]:
    """Maps each file whose runs can be traced to the first lines of its new statements."""
    return _new_lines(lambda tracing: tracing.added_lines, before, after)


def _foreign_lines(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, frozenset[int]]:
    return _new_lines(lambda tracing: tracing.foreign_lines, before, after)


def _new_lines(
    kind: Callable[[Tracing], Callable[[Texts, Texts], Mapping[str, frozenset[int]]]],
    before: Texts,
    after: Texts,
) -> dict[str, frozenset[int]]:
    lines: dict[str, frozenset[int]] = {}
    for language, paths in by_language(filter(is_traced, {**before, **after})).items():
        if (tracing := language.tracing()) is not None:
            old, new = ({path: side[path] for path in paths if path in side} for side in (before, after))
            lines |= kind(tracing)(old, new)
    return lines
