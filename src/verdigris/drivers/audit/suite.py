"""Runs tests on the trees of commits, in rooms over the user's worktree; a whole suite once a tree."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from verdigris.checks.observation import source_roots
from verdigris.core.errors import HarnessError, TimedOut
from verdigris.core.paths import Classes
from verdigris.core.records import from_json, to_json
from verdigris.core.report import RunEnd, Status, TestReport, suite_of
from verdigris.core.value import replace, value
from verdigris.drivers.audit.folder import key_of
from verdigris.execution.test_run import execute, execute_suite
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import TreeView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from verdigris.drivers.audit.environment import Environment
    from verdigris.drivers.audit.folder import AuditFolder
    from verdigris.storage.project import Project

_KIND = "suites"
_LEAST = 1.0
_TRIES = 3
"""Of a run, while somebody edits the worktree."""


@value
class Suite:
    """How all tests ended on one tree."""

    report: TestReport
    traced: tuple[str, ...] = ()

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(r.native_id for r in self.report.results if r.status is Status.PASS)

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(r.native_id for r in self.report.results if r.status in {Status.FAIL, Status.ERROR})

    @property
    def is_whole(self) -> bool:
        """It says how the suite stands: the run came to its end, and found tests or nothing to object."""
        return self.report.ended is RunEnd.FINISHED and (bool(self.report.results) or not self.report.errors)


class TestRuns:
    """The runs of one unit, within its time."""

    __test__ = False

    def __init__(
        self,
        project: Project,
        folder: AuditFolder,
        environment: str,
        seconds: float,
        build: Callable[[Project], tuple[Project, Environment]] | None = None,
    ) -> None:
        """`project`: its settings are the unit's. `environment`: the key of what its tests run in; `build`
        makes another.
        """
        self.project = project
        self.folder = folder
        self.environment = environment
        self.seconds = seconds
        self._ends = time.monotonic() + seconds
        self._build = build

    def prepare(self) -> None:
        """Builds the environment, where one is to be built: once, and only where something is run."""
        if self._build is not None:
            self.project, built = self._build(self.project)
            self.environment = built.key
            self._build = None

    def at(self, tree: str) -> Project:
        """The project as if that tree were the worktree's."""
        view = self.project.view
        return replace(self.project, view=TreeView(tree, tree if view is None else view.worktree))

    def left(self) -> float:
        left = self._ends - time.monotonic()
        if left < _LEAST:
            raise TimedOut(
                f"the change took more than {self.seconds:.0f} s", hint="give it more: `--timeout`"
            )
        return left

    def suite(self, tree: str, trace: Sequence[str] = ()) -> Suite:
        """What a run that came to its end said is kept; `trace`: files whose executed lines are asked."""
        key = self._key(tree)
        known = self._known(key)
        if known is not None and set(known.traced).issuperset(trace):
            return known
        there = self.at(tree)
        request = TestRequest(trace=tuple(trace), sources=source_roots(there, tree), timeout=self._limit())
        found = Suite(_slim(self._steadily(partial(execute_suite, request=request), tree)), tuple(trace))
        if found.report.ended is RunEnd.FINISHED:
            self.folder.keep(_KIND, key, to_json(found))
        return found

    def share(self, known: str, same: str) -> None:
        """What is known of one tree holds for another that differs in no source and no test."""
        if self._build is None and (data := self.folder.read(_KIND, self._key(known))) is not None:
            self.folder.keep(_KIND, self._key(same), data)

    def run(self, tree: str, names: Iterable[str], trace: Sequence[str] = ()) -> TestReport:
        """These files, as far as the suite runs them, and ids; `trace` as for the suite."""
        marks = {suite_of(stack).marks for stack in self.project.settings.stacks}
        same = next(iter(marks)) if len(marks) == 1 else ()
        request = TestRequest(tuple(names), extra=same, timeout=self._limit(), trace=tuple(trace))
        return _slim(self._steadily(partial(execute, request=request), tree))

    def _steadily(self, call: Callable[[Project], TestReport], tree: str) -> TestReport:
        """The report of a run during which the user's worktree stood still: the room lies over its files."""
        for _ in range(_TRIES):
            report = call(self.at(tree))
            now = plain_snapshot(self.project)
            if self.project.view is None or now == self.project.view.worktree:
                return report
            self.project = replace(self.project, view=replace(self.project.view, worktree=now))
        raise HarnessError(
            "the worktree changed during each of the runs", hint="let it rest, and audit again"
        )

    def _limit(self) -> float:
        return min(float(self.project.settings.timeout), self.left())

    def _key(self, tree: str) -> str:
        return key_of(tree, to_json(self.project.settings), self.environment)

    def _known(self, key: str) -> Suite | None:
        data = self.folder.read(_KIND, key)
        try:
            return None if data is None else from_json(Suite, data)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


def plain_snapshot(project: Project) -> str:
    """The worktree without what git ignores, of whatever class: what was built or installed there stays in
    sight, whichever commit is shown.
    """
    return replace(project, view=None, configured=Classes(())).workspace.snapshot()


def _slim(report: TestReport) -> TestReport:
    """Without what no answer of an audit rests on."""
    return replace(
        report,
        results=tuple(replace(result, output="") for result in report.results),
        files=(),
        opened=(),
        loaded=(),
        below=(),
        installed=(),
    )
