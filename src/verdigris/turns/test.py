"""`tdd test`: runs tests, records what it saw, and prepares claims."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks.evidence import (
    hindrance_in,
    run_events,
    standing_events,
    suite_names,
    test_events,
    violations,
)
from verdigris.checks.observation import Candidate, difference, source_roots
from verdigris.core.errors import ToolMissing, UnknownTest
from verdigris.core.events import Characterized, Event, FilesUnloaded, LayingAside, Paid, TestRun
from verdigris.core.languages import is_loaded_singly
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import covers_test, ended_reds
from verdigris.core.report import RunEnd, Status, TestReport, unseen_files
from verdigris.core.state import Phase, Turn, WorktreeState
from verdigris.core.test_ids import nearest, split_id
from verdigris.core.value import field, replace, take_fields, value
from verdigris.execution.test_run import execute, execute_suite
from verdigris.execution.test_selection import resolve
from verdigris.languages.registry import is_traced, reader_of
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.runners.registry import is_in_interpreter, need_finders
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.project import Project, bytes_of
from verdigris.turns.next_move import following_move, next_on_ground
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.confinement.needs import Need
    from verdigris.core.debts import Debt
    from verdigris.core.suite_health import Hindrance
    from verdigris.languages.stubs import Stub

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
    given_up: LayingAside | None = None
    """The set-aside edits, if a suspended turn ended because no claimed test is red any more."""

    @property
    def passed(self) -> bool:
        """A run that did not end properly, or in which nothing passed, has not passed."""
        ended = self.report is None or (self.report.ended is RunEnd.FINISHED and not self.report.errors)
        statuses = {run.status for run in self.tests}
        return ended and Status.PASS in statuses and statuses <= {Status.PASS, Status.SKIP}


def run_tests(
    project: Project,
    words: Sequence[str],
    *,
    cwd: Path,
    progress: Progress | None = None,
    again: bool = False,
) -> Tested:
    """`again`: also runs tests whose red was seen on this very tree."""
    with operation(project) as state:
        tree = project.workspace.snapshot()
        if state.turn is not None and state.turn.suspended and _names_claims(project, state, words, cwd):
            return _resume(project, state, state.turn, tree, progress)
        natives = resolve(project, words, cwd=cwd)
        seen = () if again or state.test_bugs else _already_seen(state, natives, tree)  # a run ends a report
        if seen:
            return Tested(seen, None, state.phase, next_on_ground(project, state, tree))
        is_steady = _watch_for_writers(project, tree)
        try:
            asked, report = _run_asked(project, _request(project, state, natives, tree), progress)
        except ToolMissing as error:
            from verdigris.checks.hindrance import record_missing_tool

            record_missing_tool(project, error, tree)
            raise
        events = _record_runs(
            project, state, _ObservedRun(report, tree, asked, whole=not natives, steady=is_steady())
        )
        _all_known(natives and asked, report)
        paid = _pay_debts(project, state, report, tree, natives)
        after = project.state()
        lacking = _missing_needs(project, report)
        hindrance = hindrance_in(project, report, tree, whole=not natives)
        stubs = _stubs(project, report, events, hindrance) if after.phase == Phase.RED else {}
        uncollected = {} if natives else _find_uncollected(project, report, tree)
        return Tested(
            events,
            report,
            after.phase,
            next_on_ground(project, after, tree),
            needs=lacking,
            hindrance=hindrance,
            stubs=stubs,
            uncollected=uncollected,
            characterized=after.characterized[len(state.characterized) :],
            paid=paid,
        )


def _pay_debts(
    project: Project, state: WorktreeState, report: TestReport, tree: str, natives: Sequence[str]
) -> tuple[Debt, ...]:
    """Asks the tests that were named, or that changed, whether they notice what accepted code owes."""
    if not state.owed or state.phase is not Phase.RED or report.ended is not RunEnd.FINISHED:
        return ()
    from verdigris.checks.debts import find_paid
    from verdigris.execution.rooms import frozen_layer

    ground = state.ground or tree
    edits = difference(project, ground, tree)
    asked = [r for r in report.results if natives or split_id(r.native_id).path in edits.oracle]
    candidate = Candidate(project, ground, tree, edits, frozen_layer(project, tree))
    paid = find_paid(candidate, replace(report, results=tuple(asked)), state.owed.values())
    if paid:
        project.record(Paid(debts=paid))
    return tuple(state.owed[name] for name in paid)


def _request(project: Project, state: WorktreeState, natives: tuple[str, ...], tree: str) -> TestRequest:
    """If the last run loaded a copy of the project, this one says where it loads modules from."""
    elsewhere = state.hindrance is not None and state.hindrance.elsewhere
    return TestRequest(natives, sources=source_roots(project, tree) if elsewhere else None)


def _run_asked(
    project: Project, request: TestRequest, progress: Progress | None
) -> tuple[tuple[str, ...], TestReport]:
    """Runs these tests, or the suite; returns the ids that the words mean, and the report."""
    natives = request.names
    if not natives:
        report = execute_suite(project, request, progress=progress)
        return suite_names(project), report
    report = execute(project, request, progress=progress)
    meant = _resolve_names(natives, report)
    if meant != natives:
        report = execute(project, replace(request, names=meant), progress=progress)
    return meant, report


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


def _stubs(
    project: Project, report: TestReport, runs: Sequence[TestRun], hindrance: Hindrance | None
) -> Mapping[str, tuple[Stub, ...]]:
    """What is there and cannot be imported needs no stub."""
    if not report.errors and all(run.red in {None, "valid"} for run in runs):
        return {}
    from verdigris.checks.missing_stubs import stubs_of_run

    cured = hindrance.files if hindrance and hindrance.cure else ()
    found = stubs_of_run(project, report, runs)
    return {path: stubs for path, stubs in found.items() if path not in cured}


def _already_seen(state: WorktreeState, natives: Sequence[str], tree: str) -> tuple[TestRun, ...]:
    """A red is not run twice on one tree: its event is the answer."""
    by_native = {red.native_id: red for red in state.reds.values() if red.valid and red.tree == tree}
    if not natives or not by_native.keys() >= set(natives):
        return ()
    reds = (by_native[native] for native in natives)
    return tuple(
        take_fields(TestRun, red, test_id_source=red.source, duration_ms=0, red=red.why, known=False, by="")
        for red in reds
    )


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


def _record_runs(project: Project, state: WorktreeState, seen: _ObservedRun) -> tuple[TestRun, ...]:
    report, tree = seen.report, seen.tree
    runs = test_events(project, report, tree)
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
    return seen.steady and not difference(project, seen.tree, project.workspace.snapshot()).protected


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


def _names_claims(project: Project, state: WorktreeState, words: Sequence[str], cwd: Path) -> bool:
    """Whether the words name a claim of the suspended turn; no word means all tests."""
    claims = state.claims.values()
    if not words or {*words} & {name for claim in claims for name in (claim.test_id, claim.native_id)}:
        return True
    natives = resolve(project, words, cwd=cwd)
    return any(covers_test(native, claim.native_id) for native in natives for claim in claims)


def _resume(
    project: Project, state: WorktreeState, turn: Turn, tree: str, progress: Progress | None
) -> Tested:
    """HEAD moved under the turn: its reds are proven again on the new start, without the turn's edits."""
    from verdigris.execution.test_run import on_start_tree
    from verdigris.turns.claim import continue_turn

    edits = difference(project, turn.tree, tree)
    paths = tuple(c.path for c in (*edits.source, *edits.other))
    files = {entry.path for entry in project.workspace.files(turn.tree)}
    natives = tuple(c.native_id for c in state.claims.values() if split_id(c.native_id).path in files)
    report = TestReport("", RunEnd.FINISHED, 0, 0)
    runs: tuple[TestRun, ...] = ()
    if natives:
        with on_start_tree(project, start=turn.tree, edited=tree, paths=paths) as layer:
            report = execute(project, TestRequest(natives), progress=progress, layer=layer)
            runs = test_events(project, report, turn.tree)
    recorded = project.record(*runs, *violations(project, report))
    seqs = {record.data["test_id"]: record.seq for record in recorded if record.type == "test_run"}
    reds = {
        run.test_id: seqs[run.test_id] for run in runs if run.red == "valid" and run.test_id in state.claims
    }
    ended = ended_reds(state.claims, report, ())
    given_up = None
    if reds.keys() | set(ended) >= state.claims.keys():
        given_up = continue_turn(project, state, turn, tree, reds, report.below)
    after = project.state()
    resumed = bool(reds) and after.turn is not None
    return Tested(
        runs, report, after.phase, following_move(project, after), resumed=resumed, given_up=given_up
    )
