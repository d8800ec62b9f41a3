"""Asks what every accepting verdict asks, of a settlement and of a refactor alike.

Held-out tests come last, and run without a file that the code under test could read.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from verdigris.checks.coverage import debt_of, describe_foreign, describe_unasked, find_foreign, find_unasked
from verdigris.checks.debts import Debts, question_debts
from verdigris.checks.even_times import answer_evenly
from verdigris.checks.liveness.grammar_runs import Held, OpposedTests, oppose
from verdigris.checks.liveness.traced_runs import LivenessRequest, LiveRuns
from verdigris.checks.verdict_checks import VerdictChecks, scrutinise, traced_tests
from verdigris.checks.weakening import SharedAnswers, question_shared
from verdigris.core.debts import list_debts
from verdigris.core.languages import language_of
from verdigris.core.paths import FILE
from verdigris.core.records import AGENT
from verdigris.core.report import Property, RunEnd, Status, TestReport, TestResult, merge_reports
from verdigris.core.value import field, replace, value
from verdigris.execution.room import Layer
from verdigris.execution.rooms import layer_beside, possible
from verdigris.execution.test_run import execute, on_start_tree, run_request, time_limit
from verdigris.execution.test_selection import stack_of
from verdigris.languages.registry import language_named
from verdigris.runners.protocol import TestRequest
from verdigris.runners.registry import kind_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.languages.findings import HeldGroup
    from verdigris.storage.project import Project


_TIMES = "held-out-times"
"""The file of the private folder with the times that held-out tests took."""


def held_out_pass(project: Project, state: WorktreeState, tree: str, room: Layer | None) -> bool:
    """Whether the held-out tests pass on this tree, and fail when they expect something else."""
    if not state.held_out:
        return True
    runs = _HeldRuns(project, state, tree, room)
    with answer_evenly(project.repo.private / _TIMES):
        return runs.passing_tests(tree, ()) is None and runs.depend_on_expectations()


def held_out_tests_hold(
    project: Project,
    state: WorktreeState,
    start: str,
    tree: str,
    edited: Sequence[str],
    room: Layer | None,
) -> bool:
    """Whether every held-out test passes that passed on the start tree, where `edited` was as it was."""
    if not state.held_out:
        return True
    runs = _HeldRuns(project, state, tree, room)
    with answer_evenly(project.repo.private / _TIMES):
        now = runs.passing_tests(tree, ())
        if now is None:
            return runs.depend_on_expectations()
        before = runs.passing_tests(start, edited)
        return before is not None and before <= now


@value
class HeldOutReds:
    """How held-out tests ended before there is code for them: numbers only."""

    total: int = 0
    passing: int = 0
    otherwise: int = 0
    """They failed, and not on an assertion."""
    unloaded: bool = False


def held_out_reds(project: Project, state: WorktreeState, tree: str, room: Layer | None) -> HeldOutReds:
    report = _HeldRuns(project, state, tree, room).report(tree, ())
    passing = sum(r.status is Status.PASS for r in report.results)
    failed = [r for r in report.results if r.status is not Status.PASS]
    otherwise = sum(r.failure is None or not r.failure.assertion for r in failed)
    unloaded = bool(report.errors) or report.ended is not RunEnd.FINISHED
    return HeldOutReds(len(report.results), passing, otherwise, unloaded)


class _HeldRuns:
    def __init__(self, project: Project, state: WorktreeState, worktree: str, room: Layer | None) -> None:
        self.project, self.state, self.worktree, self.room = project, state, worktree, room
        self.limit = time_limit(project, state)
        self.texts = {path: self._text(path) for path in state.held_out}
        self.passed: dict[HeldGroup, tuple[str, ...]] = {}

    def passing_tests(self, tree: str, edited: Sequence[str]) -> frozenset[str] | None:
        """The held-out tests that pass where `edited` is as in `tree`; None when all do."""
        report = self.report(tree, edited)
        passing = frozenset(r.native_id for r in report.results if r.status is Status.PASS)
        whole = bool(report.results) and len(passing) == len(report.results)
        return None if whole and report.ended is RunEnd.FINISHED and not report.errors else passing

    def report(self, tree: str, edited: Sequence[str]) -> TestReport:
        return self._apart(tree, edited) if possible(self.project).ok else self._in_place(tree, edited)

    def depend_on_expectations(self) -> bool:
        """After they passed: honest code fails each of them once it expects another value."""
        if not self.project.settings.liveness or self.room is None:
            return True
        return not any(
            self._traced_hollow(stack, group)
            if language_named(stack.language).traces
            else self._hollow(stack, group)
            for stack, group in self._groups()
            if self.passed.get(group)
        )

    def _hollow(self, stack: Stack, group: HeldGroup) -> tuple[str, ...]:
        texts = {path: self.texts[path] for path in group.files}
        held = Held(texts, partial(_empty_on_load, stack), group.withheld)
        tests = OpposedTests(self.worktree, self.passed[group], held=held)
        return oppose(self.project, stack, tests, self.room).hollow

    def _traced_hollow(self, stack: Stack, group: HeldGroup) -> tuple[str, ...]:
        tests = traced_tests(self.project, self.worktree)
        tests |= {path: self.texts[path].decode("utf-8", "replace") for path in group.asked}
        request = LivenessRequest(tests, self.passed[group], withheld=group.withheld)
        layer = self._layer(stack, group, self.worktree)
        return LiveRuns(self.project, stack, request, layer, nullcontext).try_all().hollow

    def _apart(self, tree: str, edited: Sequence[str]) -> TestReport:
        """Runs without a file that the code under test could read, where the language allows it."""
        base = self.project.workspace.graft(self.worktree, tree, edited) if edited else self.worktree
        reports = []
        for stack, group in self._groups():
            report = run_request(
                self.project,
                stack,
                TestRequest(group.asked, timeout=self.limit, sources=(), withheld=group.withheld),
                layer=self._layer(stack, group, base),
            )
            mine = [r for r in report.results if r.status is Status.PASS]
            self.passed[group] = tuple(r.native_id for r in mine)
            reports.append(report)
        return merge_reports(reports) if reports else self._in_place(tree, edited)

    def _layer(self, stack: Stack, group: HeldGroup, base: str) -> Layer:
        texts = _empty_on_load(stack, {path: self.texts[path] for path in group.files})
        contents = {path: (self._mode(path), data) for path, data in texts.items()}
        laid = Layer(self.project.workspace.compose(base, contents), self.worktree)
        return layer_beside(laid, self.room) or laid

    def _in_place(self, tree: str, edited: Sequence[str]) -> TestReport:
        held = tuple(self.state.held_out)
        start = with_held_out(self.project, self.state, tree, held)
        with on_start_tree(self.project, start=start, edited=self.worktree, paths=(*held, *edited)) as layer:
            return execute(
                self.project,
                TestRequest(held, timeout=self.limit, sources=()),
                layer=layer_beside(layer, self.room),
            )

    def _groups(self) -> Iterator[tuple[Stack, HeldGroup]]:
        by: dict[Stack, dict[str, bytes]] = {}
        for path, data in self.texts.items():
            by.setdefault(stack_of(self.project.settings.stacks, path), {})[path] = data
        for stack, texts in by.items():
            yield from ((stack, group) for group in groups(stack, texts))

    def _text(self, path: str) -> bytes:
        return self.project.workspace.blob_bytes(self.state.held_out[path].partition(" ")[2]) or b""

    def _mode(self, path: str) -> str:
        return self.state.held_out.get(path, FILE).partition(" ")[0]


def groups(stack: Stack, held: Mapping[str, bytes]) -> list[HeldGroup]:
    """`held`: by path; what is no code of the stack's language is data that the tests may need."""
    code = [path for path in held if language_of(path) == stack.language]
    data = [path for path in held if path not in code]
    return language_named(stack.language).held_out.groups(code, data, held)


def _empty_on_load(stack: Stack, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    language, runner = language_named(stack.language), kind_of(stack.runner)
    return language.held_out.empty_on_load(texts, loads_modules=runner.loads_modules)


def with_held_out(project: Project, state: WorktreeState, tree: str, paths: Sequence[str]) -> str:
    """The tree with these held-out files in it."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        mode, _, blob = state.held_out[path].partition(" ")
        contents[path] = (mode, project.workspace.blob_bytes(blob) or b"")
    return project.workspace.compose(tree, contents)


@value
class Answers:
    scrutiny: VerdictChecks = field(default_factory=VerdictChecks)
    held_out: bool = True
    """The held-out tests pass, as far as they were asked."""
    weakened: tuple[str, ...] = ()
    """What tests assert or expect by way of source, and no longer do."""
    debts: Debts = field(default_factory=Debts)


def question_turn(
    candidate: Candidate,
    state: WorktreeState,
    claimed: Sequence[str],
    suite: TestReport,
    *,
    owe: bool = False,
) -> Answers:
    """Concerns, live assertions of claimed and affected tests, held-out tests, and what no test asks for.

    `claimed`: native ids. `suite`: the run of all tests in this verdict, with the lines that it executed.
    `owe`: a person accepts what no test runs, as a debt.
    """
    project, tree, room = candidate.project, candidate.tree, candidate.room
    shared = question_shared(candidate, claimed)
    if shared.weakened:
        return Answers(VerdictChecks(noted=shared.noted), weakened=shared.weakened)
    if unfair := question_properties(candidate, suite, claimed):
        return Answers(VerdictChecks(blocking=unfair, noted=shared.noted))
    claims = state.claims.values()
    answers = scrutinise(candidate, claimed, suite=suite, claims=claims, shared=shared.texts)
    scrutiny = _with_shared(answers, shared)
    held_out = bool(scrutiny.blocking) or held_out_pass(project, state, tree, room)
    if scrutiny.blocking or scrutiny.doubts or not held_out:
        return Answers(scrutiny, held_out)
    return _with_debts(candidate, state, suite, Answers(scrutiny), owe=owe)


def _with_debts(
    candidate: Candidate,
    state: WorktreeState,
    suite: TestReport,
    answers: Answers,
    *,
    owe: bool,
) -> Answers:
    """Adds what no test runs, which refuses the change, and what no test notices, which it owes."""
    settings, scrutiny = candidate.project.settings, answers.scrutiny
    refuses = settings.uncovered == "block" and not owe
    unasked = find_unasked(candidate, suite)
    if unasked and refuses:
        return replace(answers, scrutiny=replace(scrutiny, blocking=tuple(map(str, unasked))))
    foreign = find_foreign(candidate, suite)
    asked = settings.liveness and candidate.room is not None
    claims, idle = state.claims.values(), (*unasked, *foreign)
    debts = question_debts(candidate, claims, suite, state.owed.values(), idle) if asked else Debts()
    reasons = (*map(str, unasked), *(describe_unasked(debt.place, debt.what) for debt in debts.unrun))
    if refuses and reasons:
        return replace(answers, scrutiny=replace(scrutiny, blocking=reasons))
    if debts.new and not owe and _must_owe_nothing(candidate.project, state):
        return replace(answers, scrutiny=replace(scrutiny, blocking=list_debts(debts.new)))
    if owe:
        texts = texts_at(candidate.project, candidate.tree, {place.path for place in unasked})
        unrun = (debt for place in unasked if (debt := debt_of(place, texts[place.path])) is not None)
        debts, reasons = replace(debts, new=(*debts.new, *debts.unrun, *unrun)), ()
    noted = (
        *scrutiny.noted,
        *describe_foreign(foreign),
        *debts.noted,
        *_describe_untried(debts.untried),
        *reasons,
    )
    return replace(answers, scrutiny=replace(scrutiny, noted=noted), debts=debts)


def _must_owe_nothing(project: Project, state: WorktreeState) -> bool:
    """In a cycle the tests are frozen: an agent takes out what they do not notice, or reports a bug."""
    return state.open_cycle is not None and project.actor.role == AGENT and project.settings.owed == "settle"


NOT_ASKED = "not asked whether a test notices it: "


def _describe_untried(untried: Sequence[str]) -> tuple[str, ...]:
    more = f" (and {len(untried) - 1} more)" if len(untried) > 1 else ""
    return (f"{NOT_ASKED}{untried[0]}{more}",) if untried else ()


def question_refactor(candidate: Candidate, state: WorktreeState, suite: TestReport) -> Answers:
    """The same, with nothing claimed; a held-out test that failed before may still fail."""
    project, start, tree, room = candidate.project, candidate.start, candidate.tree, candidate.room
    shared = question_shared(candidate, None)
    if shared.weakened:
        return Answers(VerdictChecks(noted=shared.noted), weakened=shared.weakened)
    if unfair := question_properties(candidate, suite, None):
        return Answers(VerdictChecks(blocking=unfair, noted=shared.noted))
    scrutiny = _with_shared(scrutinise(candidate, (), suite=suite), shared)
    held_out = bool(scrutiny.blocking) or held_out_tests_hold(
        project, state, start, tree, candidate.paths, room
    )
    return Answers(scrutiny, held_out)


def _with_shared(scrutiny: VerdictChecks, shared: SharedAnswers) -> VerdictChecks:
    return replace(
        scrutiny, blocking=(*scrutiny.blocking, *shared.idle), noted=(*scrutiny.noted, *shared.noted)
    )


def question_properties(
    candidate: Candidate, suite: TestReport, claimed: Collection[str] | None
) -> tuple[str, ...]:
    """Reasons why property-based tests that pass prove nothing; `claimed`: None for all of the suite.

    Only such tests are run once more, on the tree that the turn began with.
    """
    tried = [
        result
        for result in suite.results
        if result.property is not None and (claimed is None or result.native_id in claimed)
    ]
    changed = [c.path for c in candidate.edits.source]
    if not tried or not changed:
        return ()
    project, paths = candidate.project, candidate.paths
    with on_start_tree(project, start=candidate.start, edited=candidate.tree, paths=paths) as layer:
        names = [result.native_id for result in tried]
        before = execute(project, TestRequest(tuple(names)), layer=layer_beside(layer, candidate.room))
    return judge_properties(tried, before.results, changed)


def judge_properties(
    after: Iterable[TestResult], before: Iterable[TestResult], changed: Collection[str]
) -> tuple[str, ...]:
    """`before`: the same tests with the source as it was. `changed`: paths of source that were edited."""
    before_by_id = {result.native_id: result.property for result in before if result.property is not None}
    return tuple(complaint for result in after for complaint in _judge(result, before_by_id, changed))


def _judge(result: TestResult, earlier: dict[str, Property], changed: Collection[str]) -> Iterator[str]:
    tried = result.property
    if tried is None:
        return
    was = earlier.get(result.native_id, tried)
    if was.settings != tried.settings:
        other = _difference(was.settings, tried.settings)
        yield f"{result.id}: the settings of its property changed in this turn: {other}"
    for path in sorted(set(tried.rejecting) & set(changed)):
        complaint = "rejects inputs of its property, and only the test may say which inputs count"
        yield f"{result.id}: {path} {complaint}"
    if not tried.ran:
        yield f"{result.id}: no input ran its property to its end"


def _difference(before: str, after: str) -> str:
    """The settings that are not the same."""
    old, new = before.split(", "), after.split(", ")
    gone, come = ([line for line in side if line not in other] for side, other in ((old, new), (new, old)))
    return f"{', '.join(gone) or 'none'} → {', '.join(come) or 'none'}"
