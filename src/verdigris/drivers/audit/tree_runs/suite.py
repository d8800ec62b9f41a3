"""Runs tests on the trees of commits, in rooms over the user's worktree; the whole suite of a tree once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial

from verdigris.checks.observation import source_roots
from verdigris.core.errors import HarnessError, TimedOut
from verdigris.core.paths import Classes, classify
from verdigris.core.records import to_json
from verdigris.core.report import RunEnd, Status, TestReport, suite_of
from verdigris.core.reuse import Rerun
from verdigris.core.reuse.facts import RunRecord
from verdigris.core.settings import Settings
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.drivers.answer_keys import answer_key
from verdigris.drivers.audit.tree_runs.configuration import configure
from verdigris.drivers.audit.tree_runs.environment import present_environment
from verdigris.drivers.audit.tree_runs.folder import CARRIED, WHOLE, KnownSuites, Suite
from verdigris.drivers.audit.tree_runs.reuse import Doubt, join_records, list_removed, make_record, plan
from verdigris.execution.test_run import execute, execute_suite
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project, TreeView
from verdigris.storage.repository import Repository
from verdigris.storage.snapshots.workspace import Workspace

Builder = Callable[[Project], tuple[Project, str]]
"""Returns the project with another environment, and the key of that."""

_LEAST = 1.0
_TRIES = 3
"""How often a run is tried while somebody edits the worktree."""


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
        """`project`: its settings are the unit's. `environment`: the key of what its tests run in, unless
        `build` makes another.
        """
        self.project = project
        self.suites = suites
        self.environment = environment
        self.seconds = seconds
        self._ends = time.monotonic() + seconds
        self._build = build
        self.tell: Callable[[str], None] = lambda _: None
        """Hears what is about to run."""
        self.reuse = False
        self.carried = False
        """Some answer of the unit rests on results of another tree."""
        self.doubtful: frozenset[str] = frozenset()
        """Tests that pass in the tree before by carried results, and do not in a whole run of this one."""
        self.compared = False
        """A whole run was made after results had been carried."""

    def allow_reuse(self) -> None:
        """Lets results of one tree be carried to the next, unless only a part of the tests is run."""
        self.reuse = not any(stack.suite for stack in self.project.settings.stacks)

    def prepare(self) -> None:
        """Builds the environment if one is to be built; called once something is to run."""
        if self._build is not None:
            self.project, self.environment = self._build(self.project)
            self._build = None

    def at(self, tree: str) -> Project:
        """Returns the project as if that tree were the worktree's."""
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
        """Returns how the suite ends on a tree, from memory, from disk, by carried results, or by a run.

        `trace`: files whose executed lines are recorded. `base`: a tree from which results may be carried.
        """
        known = self._known(tree)
        if known is None or not set(known.traced).issuperset(trace):
            known = self._carry(tree, trace, base) or self.run_whole(tree, trace)
            self._compare_with(base, tree, known)
        self.carried |= known.carried
        return known

    def run_whole(self, tree: str, trace: Sequence[str] = (), *, uses: bool = True) -> Suite:
        """`uses`: record what each test uses, so that the next trees can carry results."""
        report = self._run_traced(tree, (), trace, uses=uses and self.reuse)
        found = Suite(_slim(report), tuple(trace))
        if report.ended is RunEnd.FINISHED:
            self.suites.keep_suite(WHOLE, self._key(tree), found)
            if uses and self.reuse:
                self._keep_record(tree, make_record(self.at(tree), tree, report))
        return found

    def whole(self, tree: str) -> Suite | None:
        """Returns the result of a whole run of the tree, if there was one."""
        return self.suites.suite(WHOLE, self._key(tree))

    def share(self, known: str, same: str) -> None:
        """Takes what is known of one tree for another that differs in no source and no test."""
        if self._build is None:
            self.suites.share(self._key(known), self._key(same))

    def _carry(self, tree: str, trace: Sequence[str], base: str) -> Suite | None:
        """Runs only the tests of a tree that may differ from `base`, and takes the other results from there.

        Returns None if that is not safe, or if a test fails: no blame rests on carried results.
        """
        planned = self._plan(tree, base)
        if planned is None:
            return None
        basis, record, rerun = planned
        names = sorted(rerun.ids | rerun.names)
        report = (
            self._run_traced(tree, names, trace, uses=True) if names else replace(basis.report, results=())
        )
        there = self.at(tree)
        new = make_record(there, tree, report) if names else record
        if new is None or not _is_good(report, basis) or not _has_loaded(there, base, tree, record, new):
            return None
        joined = _join_reports(basis.report, rerun.dropped, report)
        found = Suite(_slim(joined), tuple(trace), carried=True)
        self.suites.keep_suite(CARRIED, self._key(tree), found)
        self._keep_record(tree, join_records(record, rerun.dropped, new) if names else record)
        return found

    def _run_traced(self, tree: str, names: Sequence[str], trace: Sequence[str], *, uses: bool) -> TestReport:
        """Runs these tests, or the whole suite without a name."""
        request = TestRequest(
            tuple(names),
            trace=tuple(trace),
            sources=source_roots(self.at(tree), tree),
            timeout=self._limit(),
            uses=uses,
        )
        return self._steadily(partial(execute if names else execute_suite, request=request), tree)

    def run_like(self, tree: str, names: Sequence[str], base: str) -> TestReport:
        """Runs these files on a tree; results that cannot differ are taken from `base`."""
        planned = self._plan(tree, base)
        if planned is None:
            return self.run(tree, names)
        basis, _, rerun = planned
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

    def _plan(self, tree: str, base: str) -> tuple[Suite, RunRecord, Rerun] | None:
        """Returns suite and record of `base`, and which tests of `tree` have to run; None if all have to."""
        if not base or not self.reuse:
            return None
        basis, record = self._known(base), self.suites.record(self._key(base))
        if basis is None or record is None:
            return None
        rerun = plan(self.at(tree), record, basis.report, base, tree)
        return None if rerun.whole else (basis, record, rerun)

    def _compare_with(self, base: str, tree: str, found: Suite) -> None:
        """Compares a whole run with the tree before, and notes tests that pass there by carried results and
        fail here; removed tests are left out.
        """
        basis = self._known(base) if base and self.reuse and not found.carried else None
        if basis is None or not basis.carried:
            return
        self.compared = True
        seen = {result.native_id for result in found.report.results}
        lost = basis.passed - found.passed
        with suppress(Doubt):
            lost -= list_removed(self.at(tree), base, tree, lost - seen)
        self.doubtful |= lost

    def list_wrong(self, tree: str) -> tuple[str, ...]:
        """Returns tests whose carried result differs from that of a whole run of the tree."""
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
        """Runs these ids, and these files as far as the suite has them; `trace` as for `suite`."""
        marks = {suite_of(stack).marks for stack in self.project.settings.stacks}
        same = next(iter(marks)) if len(marks) == 1 else ()
        request = TestRequest(tuple(names), extra=same, timeout=self._limit(), trace=tuple(trace))
        return _slim(self._steadily(partial(execute, request=request), tree))

    def _steadily(self, call: Callable[[Project], TestReport], tree: str) -> TestReport:
        """Returns the report of a run during which the worktree stood still: the room lies over it."""
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
    """Whether a part of the suite ended well enough to be joined; a new failure needs a whole run."""
    failed = {r.native_id for r in report.results if r.status not in {Status.PASS, Status.SKIP}}
    return report.ended is RunEnd.FINISHED and not report.errors and failed <= basis.failed


def _has_loaded(project: Project, base: str, tree: str, record: RunRecord, new: RunRecord) -> bool:
    """Whether all changed files that were loaded before are loaded again, so that their lines are known."""
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
    """Returns runs of tests with the settings of `tree`. `plain`: a project without settings.

    `suites`: what is known already. `build` makes another environment than the present one.
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
    """Puts the commit's modules before an installed copy of the project."""
    roots = [str(project.root / root) for root in source_roots(project, tree)]
    given = (f"PYTHONPATH={':'.join(roots)}",) if roots else ()
    return replace(project.settings, room_env=(*project.settings.room_env, *given))


def plain_snapshot(project: Project) -> str:
    """Returns a tree of the worktree without what git ignores.

    Ignored files, such as builds and installed packages, stay visible whichever commit is shown.
    """
    return _plain_workspace(project.repo).snapshot()


@lru_cache(maxsize=1)
def _plain_workspace(repo: Repository) -> Workspace:
    """One workspace for all snapshots: it remembers the worktree's state, which saves calls of git."""
    return Workspace(repo, partial(classify, classes=Classes(())))


def _slim(report: TestReport) -> TestReport:
    """Drops the parts of a report that no answer of an audit needs."""
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
