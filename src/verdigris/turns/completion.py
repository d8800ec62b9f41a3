"""What work leaves open: compares the worktree with the start of a session, for the rule of `done`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.checks.suite_tests import (
    collect_tests,
    collected_event,
    compare_suites,
    known_tests,
    read_tests_of,
)
from verdigris.checks.unproven_commits import describe, remedy
from verdigris.checks.weakening import losses_between
from verdigris.core import events as e
from verdigris.core.policy.cycle import describe_standing
from verdigris.core.policy.done import SuiteComparison, WorkFacts
from verdigris.core.report import RunEnd, Status
from verdigris.core.state import Phase, SessionStart
from verdigris.core.value import field, replace, value
from verdigris.core.verdict import first_line
from verdigris.execution.test_run import execute, on_start_tree, time_limit
from verdigris.languages.tests import text_of_test
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import texts_at
from verdigris.storage.repository import head
from verdigris.storage.snapshots.head_moves import COMMITTED_HERE, actions_since
from verdigris.turns.test import run_tests
from verdigris.turns.tripwire import recall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.checks.suite_tests import Tests
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

MANY = 20
"""Unclaimed edits that are listed."""
_UNDECIDED = frozenset({Status.FAIL, Status.ERROR, Status.SKIP})


def begin_session(project: Project, session: str) -> None:
    """Records where a session begins, once."""
    state = project.state()
    if not session or session in state.sessions:
        return
    tree = project.workspace.snapshot()
    base = state.baseline
    run = base is not None and not difference(project, base.tree, tree).protected
    suite = base.record if base is not None and run else ""
    project.record(
        e.SessionStarted(session=session, tree=tree, commit=head(project.repo).commit, suite=suite)
    )


def events_since(project: Project, start: int) -> Iterator[tuple[int, e.Event]]:
    """The events of this worktree after the one of that number, each with its own."""
    for record in project.log.records(start=start + 1):
        if record.worktree == project.repo.worktree and (event := e.decode(record.type, record.data)):
            yield record.seq, event


@value
class Past:
    """What happened since the start of a session."""

    spans: tuple[tuple[str, str], ...]
    """Pairs of trees between which tests may not change: an accepted refactor was judged by itself."""
    accepted: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    """Given up by a person, or taken out by the kernel with a reason."""
    bugs: Mapping[str, e.TestBug] = field(default_factory=dict)
    repairs: tuple[e.Repair, ...] = ()
    renamed: frozenset[str] = frozenset()
    """Test ids that an accepted refactor replaced."""


def read_past(project: Project, start: SessionStart, tree: str) -> Past:
    spans: list[tuple[str, str]] = []
    revised: list[str] = []
    accepted: dict[str, None] = {}
    bugs: dict[str, e.TestBug] = {}
    repairs: list[e.Repair] = []
    renamed: frozenset[str] = frozenset()
    at, begun, suite = start.tree, None, ""
    for _, event in events_since(project, start.seq) if start.seq else ():
        match event:
            case e.RefactorBegun():
                begun = event
            case e.SuiteRun():
                suite = event.record
            case e.RefactorEnded(verdict="accepted") if begun is not None:
                before, after = (read_tests_of(project, one) for one in (begun.record, suite))
                renamed |= before.keys() - after.keys()
                spans.append((at, begun.tree))
                at = event.tree
            case e.SwitchedOn():
                spans, at = [], event.tree
            case e.Accepted():
                accepted[event.test_id] = None
                repairs = [one for one in repairs if event.test_id not in one.test_ids]
            case e.Repair():
                repairs.append(event)
            case e.TestBug():
                bugs[event.bug] = event
            case e.Revised():
                revised += event.names
            case e.TestsBlocked():
                revised += event.tests
            case e.HeldOut():
                revised += event.files
    return Past((*spans, (at, tree)), tuple(accepted), tuple(revised), bugs, tuple(repairs), renamed)


def start_of(project: Project, state: WorktreeState, session: str, tree: str) -> SessionStart:
    """The start of a session. Where HEAD went elsewhere since, or nothing is recorded, it is the ground."""
    known, now = state.sessions.get(session), head(project.repo).commit
    ground = state.ground or tree
    if known is None:
        return SessionStart(ground, now)
    steps = frozenset() if known.commit == now else actions_since(project.repo, known.commit)
    stays = known.commit == now or (bool(steps) and steps <= COMMITTED_HERE)
    return known if stays else replace(known, tree=ground, suite="")


def gather_work(project: Project, session: str = "") -> WorkFacts:
    """The facts for the rule of `done`. It runs the suite if tests changed since it was last run."""
    state = project.state()
    if state.phase is Phase.OFF:
        return WorkFacts()
    standing = tuple(_describe_phase(project, state))
    if state.open_cycle is not None or state.phase not in {Phase.RED, Phase.GREEN}:
        return WorkFacts(standing=standing, claims=tuple(state.claims))
    tree = project.workspace.snapshot()
    start = start_of(project, state, session, tree)
    past = read_past(project, start, tree)
    facts = _compare_texts(project, state, start, past, tree)
    facts = replace(facts, standing=standing, claims=tuple(state.claims))
    if state.phase is Phase.GREEN:
        return facts
    unclaimed = find_unclaimed(project, state.ground or tree, tree, limit=MANY)
    facts = replace(facts, unclaimed=tuple(f"{one.path}:{one.line}: {one.why}" for one in unclaimed))
    return _compare_runs(project, start, past, tree, facts)


def _describe_phase(project: Project, state: WorktreeState) -> Iterator[str]:
    cycle = state.open_cycle
    if cycle is not None and (cycle.stopped or state.phase is not Phase.GREEN):
        yield f"{describe_standing(cycle)} ({cycle.stopped})" if cycle.stopped else describe_standing(cycle)
    match state.phase:
        case Phase.GREEN if state.turn is not None and state.turn.suspended:
            claimed = ", ".join(state.claims)
            yield f"the turn that claims {claimed} is suspended: it is not finished, and proves nothing"
        case Phase.REFACTOR:
            yield "a refactor is open: `tdd refactor end` judges it, `tdd refactor abort` gives it up"
        case Phase.RED:
            yield from describe_unproven(project)


def describe_unproven(project: Project) -> tuple[str, ...]:
    """Files that HEAD holds and no proven tree had, with the remedy."""
    memory = recall(project)
    if memory is None or not memory.unproven:
        return ()
    return (*describe(memory.unproven), f"to mend HEAD: {remedy(memory.unproven)}")


def _compare_texts(
    project: Project, state: WorktreeState, start: SessionStart, past: Past, tree: str
) -> WorkFacts:
    """What tests lost by their text, what strikes set aside, and which reports of wrong tests are open."""
    bugs = past.bugs
    reported = (*(b.tests for b in state.test_bugs.values()), *(b.tests for b in bugs.values()))
    tests = tuple(dict.fromkeys(test for tests in reported for test in tests))
    revised = (*state.revised, *past.revised)
    lost = [losses_between(project, old, new, revised, tests) for old, new in past.spans]
    since_accepted = losses_between(project, state.ground or tree, tree, revised, tests)
    dealt = {name for name, bug in bugs.items() if _is_revised(project, start.tree, tree, bug.tests)}
    aside = {
        one.aside: tuple(test for test in one.test_ids if test not in past.accepted)
        for one in past.repairs
        if one.aside in state.aside
    }
    return WorkFacts(
        aside=aside,
        losses=tuple(line for one in (*lost, since_accepted) for line in one.blocking),
        changed=tuple(line for one in lost for line in one.changed),
        bugs=tuple(
            f"test-bug {name} waits for a person: {', '.join(bug.places)}: {bug.why}"
            for name, bug in bugs.items()
            if name in state.test_bugs and name not in dealt
        ),
        noted=(
            *(
                f"test-bug {name}: {', '.join(bugs[name].tests)} was revised: {bugs[name].why}"
                for name in dealt
            ),
            *(f"test data changed: {line}" for one in lost for line in one.data),
        ),
    )


def _is_revised(project: Project, old: str, new: str, tests: Sequence[str]) -> bool:
    """Whether the text of one of these tests (`PATH::NAME`) differs."""
    for test in tests:
        path, _, name = test.partition("::")
        before, after = (texts_at(project, at, [path]).get(path, "") for at in (old, new))
        if text_of_test(path, before, name) != text_of_test(path, after, name):
            return True
    return False


def _compare_runs(
    project: Project, start: SessionStart, past: Past, tree: str, facts: WorkFacts
) -> WorkFacts:
    """Which tests of the start are lost, and which tests fail that did not fail before.

    With the tests as they were at the start, settlements have judged all of that.
    """
    state = project.state()
    if not difference(project, start.tree, tree).oracle:
        reds = {red.native_id: red.failure for red in state.valid_reds}
        return replace(facts, reds=reds, suite=SuiteComparison(dict.fromkeys(reds, Status.FAIL)))
    first = _tests_at(project, state, start, tree)
    before = {**(known_tests(project, state, state.ground or tree) or {}), **first}
    now, broken = _run_now(project, tree)
    if broken and not now:
        return replace(facts, standing=(*facts.standing, *(broken if before else ())))
    state = project.state()
    failures = {red.native_id: red.failure for red in state.reds.values()}
    failing = [test for test, status in now.items() if status in {Status.FAIL, Status.ERROR}]
    unsure = [i for i, status in now.items() if status in _UNDECIDED and first.get(i, Status.PASS) is None]
    before |= _run_at(project, state, start.tree, tree, unsure)
    revised = (*state.revised, *past.revised, *past.renamed)
    return replace(
        facts,
        standing=(*facts.standing, *broken),
        reds={test: failures.get(test) or "it fails" for test in failing},
        suite=compare_suites(project, before, now, tree, revised),
    )


def _tests_at(project: Project, state: WorktreeState, start: SessionStart, tree: str) -> Tests:
    """The tests of the start; they are collected once if nothing is known of them."""
    known = read_tests_of(project, start.suite) if start.suite else known_tests(project, state, start.tree)
    if known is None:
        known = collect_tests(project, start.tree, tree)
        project.record(collected_event(project, start.tree, known))
    return known


def _run_now(project: Project, tree: str) -> tuple[Tests, tuple[str, ...]]:
    """How each test of the worktree ends, and what does not load."""
    known = known_tests(project, project.state(), tree)
    if known is not None and None not in known.values():
        return known, ()
    report = run_tests(project, (), cwd=project.root).report
    if report is None or report.ended is not RunEnd.FINISHED:
        how = "it did not run" if report is None else f"its run ended as {report.ended}"
        return {}, (f"the suite proves nothing: {how}",)
    broken = tuple(f"{error.path} does not load: {first_line(error.message)}" for error in report.errors)
    now: dict[str, Status | None] = {result.native_id: result.status for result in report.results}
    if not broken and known_tests(project, project.state(), tree) is None:
        project.record(collected_event(project, tree, now))
    return now, broken


def _run_at(project: Project, state: WorktreeState, start: str, tree: str, tests: Sequence[str]) -> Tests:
    """How these tests end on the start tree."""
    if not tests:
        return {}
    paths = [change.path for change in project.workspace.changes(start, tree)]
    with on_start_tree(project, start=start, edited=tree, paths=paths) as layer:
        request = TestRequest(tuple(tests), timeout=time_limit(project, state))
        there = execute(project, request, layer=layer)
    return {result.native_id: result.status for result in there.results if result.native_id in tests}
