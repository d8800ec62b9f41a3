"""Runs tests on the trees of commits, in rooms over the user's worktree; a whole suite once a tree."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from verdigris.checks.observation import source_roots
from verdigris.core.errors import HarnessError, TimedOut
from verdigris.core.paths import Classes, classify
from verdigris.core.records import to_json
from verdigris.core.report import RunEnd, Status, TestReport, suite_of
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.drivers.answer_keys import answer_key
from verdigris.drivers.audit.tree_runs.configuration import configure
from verdigris.drivers.audit.tree_runs.environment import present_environment
from verdigris.drivers.audit.tree_runs.folder import CARRIED, WHOLE, KnownSuites, Suite
from verdigris.drivers.audit.tree_runs.reuse import Doubt, join_records, list_removed, make_record, plan
from verdigris.execution.test_run import execute, execute_suite
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import TreeView
from verdigris.storage.snapshots.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from verdigris.core.reuse.facts import RunRecord
    from verdigris.core.settings import Settings
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository

    Builder = Callable[[Project], tuple[Project, str]]
    """Returns the project with another environment, and the key of that."""

_LEAST = 1.0
_TRIES = 3
"""Of a run, while somebody edits the worktree."""


class TestRuns:
    """The runs of one unit, within its time."""

    __test__ = False

    def __init__(
        self,
        project: Project,
        suites: KnownSuites,
        environment: str,
        seconds: float,
        build: Builder | None = None,
    ) -> None:
        """`project`: its settings are the unit's. `environment`: the key of what its tests run in; `build`
        makes another.
        """
        self.project = project
        self.suites = suites
        self.environment = environment
        self.seconds = seconds
        self._ends = time.monotonic() + seconds
        self._build = build
        self.tell: Callable[[str], None] = lambda _: None
        """Is told what is about to be run."""
        self.reuse = False
        self.carried = False
        """Whether any answer of the unit rests on results of another tree."""
        self.doubtful: frozenset[str] = frozenset()
        """Tests that were said to pass in the tree before, and do not in a whole run of this one."""
        self.compared = False
        """A whole run was made after results had been carried."""

    def allow_reuse(self) -> None:
        """Results of one tree may be carried to the next; not where only a part of the tests is asked."""
        self.reuse = not any(stack.suite for stack in self.project.settings.stacks)

    def prepare(self) -> None:
        """Builds the environment, where one is to be built: once, and only where something is run."""
        if self._build is not None:
            self.project, self.environment = self._build(self.project)
            self._build = None

    def at(self, tree: str) -> Project:
        """The project as if that tree were the worktree's."""
        view = self.project.view or TreeView(tree, tree)
        return replace(self.project, view=replace(view, tree=tree))

    def left(self) -> float:
        left = self._ends - time.monotonic()
        if left < _LEAST:
            raise TimedOut(
                f"the change took more than {self.seconds:.0f} s", hint="give it more: `--timeout`"
            )
        return left

    def suite(self, tree: str, trace: Sequence[str] = (), *, base: str = "") -> Suite:
        """What a run that came to its end said is kept; `trace`: files whose executed lines are asked.

        `base`: a tree from which results may be carried over.
        """
        known = self._known(tree)
        if known is None or not set(known.traced).issuperset(trace):
            known = self._carry(tree, trace, base) or self.run_whole(tree, trace)
            self._compare_with(base, tree, known)
        self.carried |= known.carried
        return known

    def run_whole(self, tree: str, trace: Sequence[str] = (), *, uses: bool = True) -> Suite:
        """`uses`: what each test uses is recorded, for the trees that come after."""
        there = self.at(tree)
        request = TestRequest(
            trace=tuple(trace),
            sources=source_roots(there, tree),
            timeout=self._limit(),
            uses=uses and self.reuse,
        )
        report = self._steadily(partial(execute_suite, request=request), tree)
        found = Suite(_slim(report), tuple(trace))
        if report.ended is RunEnd.FINISHED:
            self.suites.keep_suite(WHOLE, self._key(tree), found)
            self._keep_record(tree, make_record(there, tree, report))
        return found

    def whole(self, tree: str) -> Suite | None:
        """What a whole run of the tree said, where there was one."""
        return self.suites.suite(WHOLE, self._key(tree))

    def share(self, known: str, same: str) -> None:
        """What is known of one tree holds for another that differs in no source and no test."""
        if self._build is None:
            self.suites.share(self._key(known), self._key(same))

    def _carry(self, tree: str, trace: Sequence[str], base: str) -> Suite | None:
        """The suite of a tree of which only those tests are run that may differ from `base`; None where
        that is not sure, or where blame would rest on it.
        """
        basis, record = self._basis(base)
        if basis is None or record is None:
            return None
        there = self.at(tree)
        rerun = plan(there, record, basis.report, base, tree)
        if rerun.whole:
            return None
        names = sorted(rerun.ids | rerun.names)
        report = self._run_part(tree, names, trace) if names else replace(basis.report, results=())
        new = make_record(there, tree, report) if names else record
        if new is None or not _is_good(report, basis) or not _has_loaded(there, base, tree, record, new):
            return None
        joined = _join_reports(basis.report, rerun.dropped, report)
        found = Suite(_slim(joined), tuple(trace), carried=True)
        self.suites.keep_suite(CARRIED, self._key(tree), found)
        self._keep_record(tree, join_records(record, rerun.dropped, new) if names else record)
        return found

    def _run_part(self, tree: str, names: Sequence[str], trace: Sequence[str]) -> TestReport:
        request = TestRequest(
            tuple(names),
            trace=tuple(trace),
            sources=source_roots(self.at(tree), tree),
            timeout=self._limit(),
            uses=True,
        )
        return self._steadily(partial(execute, request=request), tree)

    def run_like(self, tree: str, names: Sequence[str], base: str) -> TestReport:
        """These files on a tree, by results of `base` where they cannot differ."""
        basis, record = self._basis(base)
        rerun = (
            None if basis is None or record is None else plan(self.at(tree), record, basis.report, base, tree)
        )
        if basis is None or rerun is None or rerun.whole:
            return self.run(tree, names)
        chosen = sorted(name for name in rerun.ids | rerun.names if split_id(name).path in names)
        others = replace(
            basis.report,
            results=tuple(r for r in basis.report.results if split_id(r.native_id).path in names),
        )
        report = self.run(tree, chosen) if chosen else replace(others, results=(), errors=())
        self.carried = True
        unloaded = {error.path for error in report.errors}
        gone = {r.native_id for r in others.results if split_id(r.native_id).path in unloaded}
        return _join_reports(others, rerun.dropped | gone, report)

    def _basis(self, base: str) -> tuple[Suite | None, RunRecord | None]:
        if not base or not self.reuse:
            return None, None
        return self._known(base), self.suites.record(self._key(base))

    def _compare_with(self, base: str, tree: str, found: Suite) -> None:
        """A whole run after results were carried shows whether any of them is in doubt."""
        basis = self._known(base) if base and self.reuse and not found.carried else None
        if basis is not None and basis.carried:
            self.compared = True
            self.doubtful |= self._find_doubtful(base, tree, basis, found)

    def _find_doubtful(self, base: str, tree: str, basis: Suite, found: Suite) -> frozenset[str]:
        """Tests that were said to pass in `base`, and do not here; to take one out contradicts nothing."""
        seen = {result.native_id for result in found.report.results}
        lost = basis.passed - found.passed
        try:
            return lost - list_removed(self.at(tree), base, tree, lost - seen)
        except Doubt:
            return lost

    def list_wrong(self, tree: str) -> tuple[str, ...]:
        """Tests that end otherwise in a whole run of the tree than was carried over."""
        carried = self.suites.suite(CARRIED, self._key(tree))
        if carried is None:
            return ()
        self._ends = time.monotonic() + self.seconds
        whole = self.whole(tree) or self.run_whole(tree, uses=False)
        said, found = ({r.native_id: r.status for r in one.report.results} for one in (carried, whole))
        return tuple(sorted(i for i in {*said, *found} if said.get(i) is not found.get(i)))

    def _keep_record(self, tree: str, record: RunRecord | None) -> None:
        if record is not None:
            self.suites.keep_record(self._key(tree), record)

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
        return answer_key(tree, to_json(self.project.settings), self.environment)

    def _known(self, tree: str) -> Suite | None:
        carried = partial(self.suites.suite, CARRIED, self._key(tree))
        return self.whole(tree) or (carried() if self.reuse else None)


def _is_good(report: TestReport, basis: Suite) -> bool:
    """Whether a part of the suite went as a whole run may be expected to go: what fails is asked there."""
    failed = {r.native_id for r in report.results if r.status not in {Status.PASS, Status.SKIP}}
    return report.ended is RunEnd.FINISHED and not report.errors and failed <= basis.failed


def _has_loaded(project: Project, base: str, tree: str, record: RunRecord, new: RunRecord) -> bool:
    """Whether what changed was loaded as far as it was before, so that its lines are known."""
    changed = {change.path for change in project.workspace.changes(base, tree)}
    return changed & record.files <= new.files


def _join_reports(basis: TestReport, dropped: Collection[str], report: TestReport) -> TestReport:
    kept = tuple(r for r in basis.results if r.native_id not in dropped)
    seen = {r.native_id for r in report.results}
    results = (*(r for r in kept if r.native_id not in seen), *report.results)
    return replace(
        report,
        results=results,
        collected=tuple(r.native_id for r in results),
        others=(),
        duration_ms=basis.duration_ms,
    )


def open_runs(
    plain: Project,
    suites: KnownSuites,
    tree: str,
    seconds: float,
    suite: tuple[str, ...] = (),
    *,
    build: Builder | None = None,
) -> TestRuns:
    """Runs of tests with the settings of `tree`; `plain`: a project that reads trees, without settings.

    `suites`: what is known already. `build` gives it another environment than the present one.
    """
    found = configure(suites.folder, plain.workspace, plain.repo.root, tree)
    settings = found.settings
    if suite:
        settings = replace(settings, stacks=tuple(replace(one, suite=suite) for one in settings.stacks))
    view = TreeView(tree, plain_snapshot(plain))
    project = replace(plain, settings=settings, configured=found.classes, view=view)
    project = replace(project, settings=_with_sources(project, tree))
    environment = "" if build is not None else present_environment(project)
    return TestRuns(project, suites, environment, seconds, build)


def _with_sources(project: Project, tree: str) -> Settings:
    """Modules come from the commit, though another copy of the project is installed."""
    roots = [str(project.root / root) for root in source_roots(project, tree)]
    given = (f"PYTHONPATH={':'.join(roots)}",) if roots else ()
    return replace(project.settings, room_env=(*project.settings.room_env, *given))


def plain_snapshot(project: Project) -> str:
    """The worktree without what git ignores, of whatever class: what was built or installed there stays in
    sight, whichever commit is shown.
    """
    return _plain_workspace(project.repo).snapshot()


@lru_cache(maxsize=1)
def _plain_workspace(repo: Repository) -> Workspace:
    """One for all snapshots of an audit: it knows a worktree that stands as it did, and git is not asked."""
    return Workspace(repo, partial(classify, classes=Classes(())))


def _slim(report: TestReport) -> TestReport:
    """Leaves out what no answer of an audit rests on."""
    return replace(
        report,
        results=tuple(replace(result, output="") for result in report.results),
        files=(),
        opened=(),
        loaded=(),
        below=(),
        installed=(),
        uses=None,
    )
