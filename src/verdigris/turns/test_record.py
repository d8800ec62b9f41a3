"""Runs tests and records what it saw, for a caller that holds the operation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks.evidence import (
    hindrance_in,
    run_events,
    standing_events,
    suite_names,
    test_events,
)
from verdigris.checks.observation import Candidate, difference, source_roots
from verdigris.core.errors import ToolMissing, UnknownTest
from verdigris.core.events import Characterized, Event, FilesUnloaded, LayingAside, Paid, TestRun
from verdigris.core.languages import is_loaded_singly
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import covers_test
from verdigris.core.report import RunEnd, Status, TestReport, unseen_files
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import nearest, split_id
from verdigris.core.value import field, replace, value
from verdigris.core.verdict.redness import lacking_name
from verdigris.execution.room import Layer
from verdigris.execution.test_run import execute, execute_suite
from verdigris.languages.registry import is_traced, reader_of
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.runners.registry import is_in_interpreter, need_finders
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.project import Project, bytes_of
from verdigris.turns.next_move import next_on_ground

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verdigris.core.confinement.needs import Need
    from verdigris.core.debts import Debt
    from verdigris.core.suite_health import Hindrance
    from verdigris.languages.stubs import Stub
    from verdigris.turns.stub_run import StubRun

MOVED = "moved"
"""The reason of a red that does not count, because source or tests changed while it ran."""


@value
class Tested:
    tests: tuple[TestRun, ...]
    report: TestReport | None
    """None when every answer came from the log."""
    phase: str
    next: str
    resumed: bool = False
    needs: tuple[Need, ...] = ()
    """What failing tests seem to need that the room does not give them."""
    hindrance: Hindrance | None = None
    """What kept tests of this run from running."""
    stubs: Mapping[str, tuple[Stub, ...]] = field(default_factory=dict)
    """Test file → the declarations that it needs and source lacks."""
    uncollected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Runner → files with tests from which it collected none, in a run of all tests."""
    characterized: tuple[str, ...] = ()
    """New tests that passed at once: they record what the code does."""
    paid: tuple[Debt, ...] = ()
    """What a test of this run notices now, or whose code is gone."""
    existing: tuple[str, ...] = ()
    """Native ids of tests that pass over stubs: they ask only whether something exists."""
    given_up: LayingAside | None = None
    """The set-aside edits, if a suspended turn ended because no claimed test is red any more."""

    @property
    def passed(self) -> bool:
        """A run that did not end properly, or in which nothing passed, has not passed."""
        ended = self.report is None or (self.report.ended is RunEnd.FINISHED and not self.report.errors)
        statuses = {run.status for run in self.tests}
        return ended and Status.PASS in statuses and statuses <= {Status.PASS, Status.SKIP}


@value
class Asked:
    """Which tests are run, and on which tree."""

    natives: tuple[str, ...]
    """Ids and paths; none stands for the suite."""
    tree: str
    layer: Layer | None = None
    """It shows the tree, if that is not the worktree's."""
    limit: float | None = None
    """Seconds for the whole run."""


def run_asked(
    project: Project, state: WorktreeState, asked: Asked, progress: Progress | None = None
) -> Tested:
    tree, layer, natives = asked.tree, asked.layer, asked.natives
    is_steady = _watch_for_writers(project, tree) if layer is None else lambda: True
    try:
        request = replace(_request(project, state, natives, tree), timeout=asked.limit)
        names, report = _run(project, request, layer, progress)
    except ToolMissing as error:
        from verdigris.checks.hindrance import record_missing_tool

        record_missing_tool(project, error, tree)
        raise
    tried = _try_stubs(project, state, report, natives, layer or Layer(tree, tree))
    report = report if tried is None else tried.report
    over = {} if tried is None else tried.over
    apart = layer is not None
    seen = _ObservedRun(report, tree, names, not natives, is_steady(), over=over, apart=apart)
    events = _record_runs(project, state, seen)
    _all_known(natives and names, report)
    paid = _pay_debts(project, state, report, tree, natives)
    after = project.state()
    return Tested(
        events,
        report,
        after.phase,
        next_on_ground(project, after, tree),
        needs=_missing_needs(project, report),
        hindrance=hindrance_in(project, report, tree, whole=not natives),
        stubs=tried.stubs if tried is not None and after.phase is Phase.RED else {},
        uncollected={} if natives else _find_uncollected(project, report, tree),
        characterized=after.characterized[len(state.characterized) :],
        paid=paid,
        existing=() if tried is None else tried.existing,
    )


def _pay_debts(
    project: Project, state: WorktreeState, report: TestReport, tree: str, natives: Sequence[str]
) -> tuple[Debt, ...]:
    """Asks the tests that were named, or that changed, whether they notice what accepted code owes."""
    if not state.owed or state.phase is not Phase.RED or report.ended is not RunEnd.FINISHED:
        return ()
    from verdigris.checks.debts import find_paid, find_unpaid
    from verdigris.execution.rooms import frozen_layer

    ground = state.ground or tree
    edits = difference(project, ground, tree)
    asked = [r for r in report.results if natives or split_id(r.native_id).path in edits.oracle]
    candidate = Candidate(project, ground, tree, edits, frozen_layer(project, tree))
    paid = find_paid(candidate, replace(report, results=tuple(asked)), state.owed.values())
    # A test that is not accepted yet may be taken back, and what it paid is then owed again.
    tests = {path: entry.blob for path, entry in project.workspace.entries(tree, edits.oracle).items()}
    if new := tuple(name for name in paid if not tests or state.owed[name].tests != tests):
        project.record(Paid(debts=new, tests=tests))
    unpaid = find_unpaid(project, state, tree)
    return tuple(unpaid[name] for name in paid if name in unpaid)


def _request(project: Project, state: WorktreeState, natives: tuple[str, ...], tree: str) -> TestRequest:
    """If the last run loaded a copy of the project, this one says where it loads modules from."""
    elsewhere = state.hindrance is not None and state.hindrance.elsewhere
    return TestRequest(natives, sources=source_roots(project, tree) if elsewhere else None)


def _run(
    project: Project, request: TestRequest, layer: Layer | None, progress: Progress | None
) -> tuple[tuple[str, ...], TestReport]:
    """Runs these tests, or the suite; returns the ids that the words mean, and the report."""
    natives = request.names
    if not natives:
        report = execute_suite(project, request, layer=layer, progress=progress)
        return suite_names(project), report
    report = execute(project, request, layer=layer, progress=progress)
    meant = _resolve_names(natives, report)
    if meant != natives:
        report = execute(project, replace(request, names=meant), layer=layer, progress=progress)
    return meant, report


def _try_stubs(
    project: Project, state: WorktreeState, report: TestReport, natives: Sequence[str], layer: Layer
) -> StubRun | None:
    """Runs what does not load over stubs of what source lacks; what cannot be imported needs none."""
    if state.phase is not Phase.RED or not (report.errors or any(r.failure for r in report.results)):
        return None
    tree = layer.wanted
    runs = test_events(project, report, tree)
    plain = all(run.red in {None, "valid"} and not lacking_name(run.failure) for run in runs)
    if plain and not report.errors:
        return None
    from verdigris.checks.missing_stubs import stubs_of_run
    from verdigris.execution.rooms import possible
    from verdigris.turns.stub_run import StubRun, run_over_stubs

    hindrance = hindrance_in(project, report, tree, whole=not natives)
    cured = hindrance.files if hindrance and hindrance.cure else ()
    every = stubs_of_run(project, report, runs, tree)
    missing = {path: stubs for path, stubs in every.items() if path not in cured}
    if state.open_cycle is not None or not missing or not possible(project).ok:
        return StubRun(report, missing)  # for somebody who writes them
    return run_over_stubs(project, StubRun(report, missing), runs, natives, layer)


def _watch_for_writers(project: Project, tree: str) -> Callable[[], bool]:
    """Returns a function that says after the run whether the tree stayed as it was.

    It did, if no call of an agent is open.
    """
    if not alive(str(project.repo.private)):
        return lambda: True
    from verdigris.execution.test_run import stat_tree, touched_paths

    before = stat_tree(project, tree)
    return lambda: not touched_paths(project, before)


def _missing_needs(project: Project, report: TestReport) -> tuple[Need, ...]:
    passed = all(result.status is Status.PASS for result in report.results)
    if passed and report.ended is RunEnd.FINISHED and not report.errors:
        return ()
    from verdigris.core.confinement.needs import needs

    return needs(report, os.environ, project.settings, finders=need_finders(project.settings.stacks))


def _find_uncollected(project: Project, report: TestReport, tree: str) -> Mapping[str, tuple[str, ...]]:
    """Files with tests that the runner does not collect, mostly because of their names."""
    stacks = [stack for stack in project.settings.stacks if is_in_interpreter(stack.runner)]
    if report.ended is not RunEnd.FINISHED or not stacks:
        return {}
    paths = [entry.path for entry in project.workspace.files(tree) if is_traced(entry.path)]
    tests = [path for path in paths if project.classify(path) is PathClass.TEST]
    found: dict[str, tuple[str, ...]] = {}
    for path in unseen_files(report, tests):
        holding = [stack for stack in stacks if stack.root == "." or path.startswith(f"{stack.root}/")]
        stack = max(holding, key=lambda each: len(each.root), default=None)
        text = bytes_of(project, path) or b""
        if stack is not None and not stack.suite and reader_of(path).tests.holds_test(text):
            found[stack.runner] = (*found.get(stack.runner, ()), path)
    return found


@value
class _ObservedRun:
    """A run, and what is known of it."""

    report: TestReport
    tree: str
    asked: Sequence[str]
    whole: bool
    """The whole suite was requested."""
    steady: bool
    """Nothing was touched meanwhile."""
    over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Native id → the stubs over which the test ran."""
    apart: bool = False
    """It ran on another tree than the worktree's."""


def _record_runs(project: Project, state: WorktreeState, seen: _ObservedRun) -> tuple[TestRun, ...]:
    report, tree = seen.report, seen.tree
    runs = tuple(
        replace(run, over=seen.over.get(run.native_id, ())) for run in test_events(project, report, tree)
    )
    if any(run.red for run in runs) and not _tree_stood_still(project, seen):
        runs = tuple(replace(run, red=MOVED) if run.red else run for run in runs)
    elif any(run.red for run in runs):
        from verdigris.checks.known_failures import mark_failures

        runs = mark_failures(project, state, runs, tree)
    valid = tuple(run.native_id for run in runs if run.red == "valid")
    known = frozenset(red.native_id for red in state.reds.values())
    events: list[Event] = [*run_events(project, state, report, runs, seen.asked, known)]
    if pins := _find_characterizations(project, state, runs, tree):
        events.append(Characterized(test_ids=pins, tree=tree))
    if state.test_bugs and state.open_cycle is None:
        from verdigris.checks.test_reports import closed_bugs

        ended = {run.native_id: run.status for run in runs}
        events += closed_bugs(project, state, ended, seen.asked, tree)
    unloaded = _unloaded_files(state, seen)
    if unloaded != state.unloaded:
        events.append(FilesUnloaded(files=unloaded))
    project.record(*events, *standing_events(project, state, report, tree, whole=seen.whole))
    if valid:
        from verdigris.checks.file_use import data_outside, out_of_sight
        from verdigris.checks.foundation import prepare

        loaded = (*report.below, *out_of_sight(project, report, tree))
        prepare(project, loaded, data_outside(project, report))
    return runs


def _unloaded_files(state: WorktreeState, seen: _ObservedRun) -> dict[str, str]:
    """What was not looked for this time may still not load."""
    asked = [name.rstrip("/") for name in seen.asked]
    kept = {
        path: tree
        for path, tree in state.unloaded.items()
        if seen.report.ended is not RunEnd.FINISHED
        or (asked and not any(split_id(name).path == path or covers_test(name, path) for name in asked))
    }
    return kept | {error.path: seen.tree for error in seen.report.errors if error.path}


def _find_characterizations(
    project: Project, state: WorktreeState, runs: Sequence[TestRun], tree: str
) -> tuple[str, ...]:
    """New tests that pass although source is unchanged since the last settlement."""
    if state.phase is not Phase.RED or state.ground is None or state.ground == tree:
        return ()
    known = {*state.characterized, *state.reds}
    passed = [run for run in runs if run.status is Status.PASS and run.test_id not in known]
    touched = {change.path for change in project.workspace.changes(state.ground, tree)} if passed else set()
    paths = touched.intersection(split_id(run.native_id).path for run in passed)
    if not paths:
        return ()
    changed = difference(project, state.ground, tree)
    paths.intersection_update(changed.oracle)
    if changed.source or not paths:
        return ()
    new = added_tests(project, (run.native_id for run in passed), state.ground, tree)
    return tuple(run.test_id for run in passed if run.native_id in new)


def added_tests(project: Project, natives: Iterable[str], ground: str, tree: str) -> frozenset[str]:
    """Those that the tree's files hold and the ground's do not."""
    known = {native: split_id(native) for native in natives}
    paths = {test.path for test in known.values()}
    old, new = ({path: _written_names(project, at, path, known) for path in paths} for at in (ground, tree))
    return frozenset(
        native for native, test in known.items() if test.function in new[test.path] - old[test.path]
    )


def _written_names(project: Project, tree: str, path: str, known: Iterable[str]) -> frozenset[str]:
    from verdigris.languages.tests import written_tests  # most runs need no reader of tests

    text = (project.workspace.read(tree, path) or b"").decode(errors="replace")
    return frozenset(test.name for test in written_tests(path, text, known))


def _tree_stood_still(project: Project, seen: _ObservedRun) -> bool:
    """Asked for reds only, since a look at the tree takes a tenth of a short run."""
    return seen.apart or (
        seen.steady and not difference(project, seen.tree, project.workspace.snapshot()).protected
    )


def _resolve_names(natives: tuple[str, ...], report: TestReport) -> tuple[str, ...]:
    """Resolves names that the tool does not know: a group of tests, or a test without its outer modules."""
    found: dict[str, None] = {}
    for native in natives:
        known = not split_id(native).function or any(_names(native, c) for c in report.collected)
        found |= dict.fromkeys([native] if known else _members(native, report.others) or [native])
    return tuple(found)


def _members(name: str, others: Sequence[str]) -> list[str]:
    inside = [other for other in others if other.startswith((f"{name} › ", f"{name}::"))]
    test = split_id(name)
    same = [o for o in others if split_id(o).path == test.path and o.endswith(f"::{test.function}")]
    return inside or (same if len(same) == 1 else [])


def _all_known(natives: Sequence[str], report: TestReport) -> None:
    """Raises for a requested id that was not collected, unless its file failed to load."""
    if report.ended is not RunEnd.FINISHED:
        return
    broken = {error.path for error in report.errors}
    for native in natives:
        test = split_id(native)
        unloaded = test.path in broken or (broken and not is_loaded_singly(test.path))
        if not test.function or unloaded or any(_names(native, c) for c in report.collected):
            continue
        close = nearest(native, report.others)
        offer = (
            f"did you mean {', '.join(close)}?" if close else f"`tdd test {test.path}` runs all in that file"
        )
        raise UnknownTest(f"there is no test {native!r}.", hint=offer)


def _names(asked: str, collected: str) -> bool:
    """`file::Class` and `file::test` stand for all of their cases."""
    return collected == asked or collected.startswith((f"{asked}::", f"{asked}["))
