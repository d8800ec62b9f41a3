"""Takes the baseline: runs the suite once on a tree, before anybody works on it, and records what it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.evidence import standing_events
from verdigris.checks.hindrance import record_missing_tool
from verdigris.checks.observation import source_roots
from verdigris.core.errors import ToolMissing, VerdigrisError
from verdigris.core.events import SuiteHindered
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.suite_health import Hindrance
from verdigris.core.value import replace
from verdigris.execution.test_run import execute_suite
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from verdigris.core.settings import Settings
    from verdigris.storage.project import Project

SECONDS = 60.0
"""How long a baseline may take: nobody asked for this run."""


def take_baseline(project: Project, progress: Progress | None = None, *, seconds: float = SECONDS) -> None:
    """Runs the suite, unless a turn is open or it is known how it stands on this tree or on the ground."""
    with operation(project) as state:
        tree = project.workspace.snapshot()
        if state.phase is not Phase.RED or _is_known(state, tree):
            return
        limit = _limit(project.settings, seconds)
        bounded = replace(project, settings=replace(project.settings, timeout=limit))  # builds included
        try:
            asked = TestRequest(sources=source_roots(project, tree))
            report = execute_suite(bounded, asked, progress=progress)
        except ToolMissing as error:
            record_missing_tool(project, error, tree)
            return
        if report.ended is RunEnd.TIMEOUT:
            project.record(SuiteHindered(hindrance=_stopped(report, tree, limit)))
        else:
            project.record(*standing_events(project, state, report, tree, whole=True))


def known_baseline(project: Project, progress: Progress | None = None) -> str:
    """Takes the baseline, and tells it in one line, or why there is none: nobody's work waits for it."""
    try:
        take_baseline(project, progress)
    except VerdigrisError as error:
        return f"baseline: not known: {error.message}"
    return project.state().suite


def _limit(settings: Settings, seconds: float) -> int:
    """The limit for one stack, since each is run by itself."""
    return max(1, min(round(seconds / max(1, len(settings.stacks))), settings.timeout))


def _is_known(state: WorktreeState, tree: str) -> bool:
    """What is in the way of a suite may be mended outside the tree, so it is tried again."""
    if state.hindrance is not None:
        return state.hindrance.tree == tree and not state.hindrance.cure
    return state.baseline is not None and state.baseline.tree in {tree, state.ground}


def _stopped(report: TestReport, tree: str, limit: int) -> Hindrance:
    count = f"{len(report.collected)} tests, of which {len(report.results)} ran: " if report.collected else ""
    what = f"{count}the suite was stopped after {limit} s; `tdd test` runs it to its end"
    return Hindrance(what, tree=tree, stopped=True)
