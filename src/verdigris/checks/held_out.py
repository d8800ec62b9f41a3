"""Runs held-out tests without a file that the code under test could read.

Their report goes no further.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from verdigris.checks.liveness.grammar_runs import Held, OpposedTests, oppose
from verdigris.checks.liveness.python_runs import LivenessRequest, LiveRuns
from verdigris.checks.verdict_checks import python_tests
from verdigris.core.languages import language_of
from verdigris.core.paths import FILE
from verdigris.core.report import RunEnd, Status, merge_reports
from verdigris.core.value import value
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.rooms import beside, possible
from verdigris.execution.test_run import execute, run_request, time_limit
from verdigris.execution.test_selection import stack_of
from verdigris.execution.tree_stability import on_start_tree
from verdigris.languages.registry import language_named
from verdigris.runners.protocol import TestRequest
from verdigris.runners.registry import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.languages.findings import Parcel
    from verdigris.storage.project import Project


def held_out_pass(project: Project, state: WorktreeState, tree: str, room: Layer | None = None) -> bool:
    """Whether the held-out tests pass on this tree, and fail when they expect something else."""
    if not state.held_out:
        return True
    runs = _HeldRuns(project, state, tree, room)
    return runs.passing(tree, ()) is None and runs.depend_on_expectations()


def held_out_kept(
    project: Project,
    state: WorktreeState,
    start: str,
    tree: str,
    edited: Sequence[str],
    room: Layer | None = None,
) -> bool:
    """Whether every held-out test passes that passed on the start tree, where `edited` was as it was."""
    if not state.held_out:
        return True
    runs = _HeldRuns(project, state, tree, room)
    now = runs.passing(tree, ())
    if now is None:
        return runs.depend_on_expectations()
    before = runs.passing(start, edited)
    return before is not None and before <= now


@value
class HeldOutReds:
    """How held-out tests ended before there is code for them: numbers only."""

    total: int = 0
    passing: int = 0
    otherwise: int = 0
    """They failed, and not on an assertion."""
    unloaded: bool = False


def held_out_reds(
    project: Project, state: WorktreeState, tree: str, room: Layer | None = None
) -> HeldOutReds:
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
        self.passed: dict[Parcel, tuple[str, ...]] = {}

    def passing(self, tree: str, edited: Sequence[str]) -> frozenset[str] | None:
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
            self._python_hollow(stack, parcel)
            if language_named(stack.language).traces
            else self._hollow(stack, parcel)
            for stack, parcel in self._parcels()
            if self.passed.get(parcel)
        )

    def _hollow(self, stack: Stack, parcel: Parcel) -> tuple[str, ...]:
        texts = {path: self.texts[path] for path in parcel.files}
        held = Held(texts, partial(_dress, stack), parcel.withheld)
        tests = OpposedTests(self.worktree, self.passed[parcel], held=held)
        return oppose(self.project, stack, tests, self.room).hollow

    def _python_hollow(self, stack: Stack, parcel: Parcel) -> tuple[str, ...]:
        tests = python_tests(self.project, self.worktree)
        tests |= {path: self.texts[path].decode("utf-8", "replace") for path in parcel.asked}
        asked = LivenessRequest(tests, self.passed[parcel], withheld=parcel.withheld)
        layer = self._layer(stack, parcel, self.worktree)
        return LiveRuns(self.project, stack, asked, layer, nullcontext).try_all().hollow

    def _apart(self, tree: str, edited: Sequence[str]) -> TestReport:
        """Without a file that the code under test could read, where the language allows it."""
        base = self.project.workspace.graft(self.worktree, tree, edited) if edited else self.worktree
        reports = []
        for stack, parcel in self._parcels():
            report = run_request(
                self.project,
                stack,
                TestRequest(parcel.asked, timeout=self.limit, sources=(), withheld=parcel.withheld),
                layer=self._layer(stack, parcel, base),
            )
            mine = [r for r in report.results if r.status is Status.PASS]
            self.passed[parcel] = tuple(r.native_id for r in mine)
            reports.append(report)
        return merge_reports(reports) if reports else self._in_place(tree, edited)

    def _layer(self, stack: Stack, parcel: Parcel, base: str) -> Layer:
        texts = _dress(stack, {path: self.texts[path] for path in parcel.files})
        contents = {path: (self._mode(path), data) for path, data in texts.items()}
        laid = Layer(self.project.workspace.compose(base, contents), self.worktree)
        return beside(laid, self.room) or laid

    def _in_place(self, tree: str, edited: Sequence[str]) -> TestReport:
        held = tuple(self.state.held_out)
        asked = with_held_out(self.project, self.state, tree, held)
        with on_start_tree(self.project, start=asked, edited=self.worktree, paths=(*held, *edited)) as layer:
            return execute(
                self.project,
                TestRequest(held, timeout=self.limit, sources=()),
                layer=beside(layer, self.room),
            )

    def _parcels(self) -> Iterator[tuple[Stack, Parcel]]:
        by: dict[Stack, dict[str, bytes]] = {}
        for path, data in self.texts.items():
            by.setdefault(stack_of(self.project.settings.stacks, path), {})[path] = data
        for stack, texts in by.items():
            yield from ((stack, parcel) for parcel in parcels(stack, texts))

    def _text(self, path: str) -> bytes:
        return self.project.workspace.blob_bytes(self.state.held_out[path].partition(" ")[2]) or b""

    def _mode(self, path: str) -> str:
        return self.state.held_out.get(path, FILE).partition(" ")[0]


def parcels(stack: Stack, held: Mapping[str, bytes]) -> list[Parcel]:
    """`held`: by path; what is no code of the stack's language is data that the tests may need."""
    code = [path for path in held if language_of(path) == stack.language]
    data = [path for path in held if path not in code]
    return language_named(stack.language).parcels(code, data, held)


def _dress(stack: Stack, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    language, runner = language_named(stack.language), kind_of(stack.runner)
    return language.dress(texts, loads_modules=runner.loads_modules)


def with_held_out(project: Project, state: WorktreeState, tree: str, paths: Sequence[str]) -> str:
    """The tree with these held-out files in it."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        mode, _, blob = state.held_out[path].partition(" ")
        contents[path] = (mode, project.workspace.blob_bytes(blob) or b"")
    return project.workspace.compose(tree, contents)
