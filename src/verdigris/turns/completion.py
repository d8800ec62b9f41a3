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
from verdigris.checks.test_reports import is_revised
from verdigris.checks.unproven_commits import describe, remedy
from verdigris.checks.weakening import losses_between
from verdigris.core import events as e
from verdigris.core.debts import list_debts
from verdigris.core.policy.cycle import describe_standing
from verdigris.core.policy.done import SuiteComparison, WorkFacts
from verdigris.core.policy.next_move import without_tests
from verdigris.core.report import RunEnd, Status
from verdigris.core.state import Phase, SessionStart, WorktreeState
from verdigris.core.test_ids import function_of
from verdigris.core.value import field, replace, value
from verdigris.core.verdict import Kind, first_line
from verdigris.execution.test_run import execute, on_start_tree, time_limit
from verdigris.runners.protocol import TestRequest
from verdigris.storage.repository import head
from verdigris.storage.snapshots.head_moves import COMMITTED_HERE, actions_since
from verdigris.turns.claim_check import claims_by, own_view
from verdigris.turns.next_move import as_it_stands
from verdigris.turns.test import run_tests
from verdigris.turns.tripwire import recall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from verdigris.checks.suite_tests import Tests
    from verdigris.core.debts import Debt
    from verdigris.storage.project import Project

MANY = 20
"""Unclaimed edits that are listed."""
_DATA = "test data changed: "
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

    at: str
    """The tree from which on tests may not change: an accepted refactor was judged by itself."""
    spans: tuple[tuple[str, str], ...] = ()
    """Earlier pairs of such trees."""
    accepted: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    """Given up by a person, or taken out by the kernel with a reason."""
    bugs: Mapping[str, e.TestBug] = field(default_factory=dict)
    repairs: tuple[e.Repair, ...] = ()
    reds: Mapping[str, str] = field(default_factory=dict)
    """Native ids of right reds that were seen and not accepted, each with the tree of the last one."""
    renamed: frozenset[str] = frozenset()
    """Test ids that an accepted refactor replaced."""
    refactor: e.RefactorBegun | None = None
    suite: str = ""
    """The blob of the last whole run."""


def read_past(project: Project, start: SessionStart) -> Past:
    past = Past(start.tree)
    for _, event in events_since(project, start.seq) if start.seq else ():
        past = _after_verdict(project, _after_word(past, event), event)
    return past


def _after_verdict(project: Project, past: Past, event: e.Event) -> Past:
    match event:
        case e.TestRun(red="valid"):
            return replace(past, reds={**past.reds, event.native_id: event.tree})
        case e.Accepted():
            reds = {test: tree for test, tree in past.reds.items() if test != event.test_id}
            repairs = tuple(one for one in past.repairs if event.test_id not in one.test_ids)
            return replace(past, accepted=(*past.accepted, event.test_id), reds=reds, repairs=repairs)
        case e.Repair():
            return replace(past, repairs=(*past.repairs, event))
        case e.SuiteRun():
            return replace(past, suite=event.record)
        case e.RefactorBegun():
            return replace(past, refactor=event)
        case e.RefactorEnded(verdict=Kind.ACCEPTED) if past.refactor is not None:
            before, after = (read_tests_of(project, one) for one in (past.refactor.record, past.suite))
            spans = (*past.spans, (past.at, past.refactor.tree))
            renamed = past.renamed | (before.keys() - after.keys())
            return replace(past, at=event.tree, spans=spans, renamed=renamed)
        case _:
            return past


def _after_word(past: Past, event: e.Event) -> Past:
    """What somebody said: a report, a person's word, or the kernel's where it takes a test out."""
    match event:
        case e.TestBug():
            return replace(past, bugs={**past.bugs, event.bug: event})
        case e.Revised():
            return replace(past, revised=(*past.revised, *event.names))
        case e.TestsBlocked():
            return replace(past, revised=(*past.revised, *event.tests))
        case e.HeldOut():
            return replace(past, revised=(*past.revised, *event.files))
        case e.SwitchedOn():
            return replace(past, at=event.tree, spans=())
        case _:
            return past


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
    claims = tuple(claim.test_id for claim in claims_by(project, state))
    tree = project.workspace.snapshot()
    start = start_of(project, state, session, tree)
    past = read_past(project, start)
    facts = _compare_texts(project, state, start, past, tree)
    facts = replace(
        facts, standing=standing, claims=claims, owed=list_owed(project, lambda debt: debt.seq > start.seq)
    )
    if state.phase is Phase.GREEN:
        return facts
    unclaimed = without_tests(find_unclaimed(project, state.ground or tree, tree, limit=MANY), state)
    facts = replace(facts, unclaimed=tuple(f"{one.path}:{one.line}: {one.why}" for one in unclaimed))
    return _compare_runs(project, start, past, tree, facts)


def list_owed(project: Project, is_own: Callable[[Debt], bool] = lambda _: True) -> tuple[str, ...]:
    """What the code of the worktree owes, as far as it is this work's own."""
    if project.settings.owed == "record":
        return ()
    state = as_it_stands(project, project.state(), project.workspace.snapshot())
    return list_debts(filter(is_own, state.owed.values()))


def _describe_phase(project: Project, state: WorktreeState) -> Iterator[str]:
    cycle = state.open_cycle
    if cycle is not None and (cycle.stopped or state.phase is not Phase.GREEN):
        yield f"{describe_standing(cycle)} ({cycle.stopped})" if cycle.stopped else describe_standing(cycle)
    match state.phase:
        case Phase.GREEN if state.turn is not None and state.turn.suspended:
            claimed = ", ".join(state.claims)
            yield f"the turn that claims {claimed} is suspended: it is not finished, and proves nothing"
        case Phase.REFACTOR:
            if state.refactor is not None and state.refactor.refused is not None:
                yield str(state.refactor.refused)
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
    lost = [losses_between(project, old, new, revised, tests) for old, new in (*past.spans, (past.at, tree))]
    accepted = losses_between(project, state.ground or tree, tree, revised, tests).blocking
    still = {function_of(red.native_id) for red in state.reds.values()}
    green = {function_of(test) for test in past.reds} - still
    dealt = [
        name
        for name, bug in bugs.items()
        if green.intersection(bug.tests) or is_revised(project, bug.tests, start.tree, tree)
    ]
    aside = {
        one.aside: tuple(test for test in one.test_ids if test not in past.accepted)
        for one in past.repairs
        if one.aside in state.aside
    }
    return WorkFacts(
        aside=aside,
        losses=(*(line for one in lost for line in one.blocking), *accepted),
        changed=tuple(line for one in lost for line in one.changed),
        bugs=tuple(
            f"test-bug {name} waits for a person: {', '.join(bug.places)}: {bug.why}"
            for name, bug in bugs.items()
            if name in state.test_bugs and name not in dealt
        ),
        noted=(
            *(
                f"test-bug {name}: {', '.join(bugs[name].tests)} was changed: {bugs[name].why}"
                for name in dealt
            ),
            *(f"{_DATA}{line}" for one in lost for line in one.data),
        ),
    )


def _compare_runs(
    project: Project, start: SessionStart, past: Past, tree: str, facts: WorkFacts
) -> WorkFacts:
    """Which tests of the start are lost, and which tests fail that did not fail before.

    With the tests as they were at the start, settlements have judged all of that.
    """
    state = project.state()
    if not difference(project, start.tree, tree).oracle:
        reds = {red.native_id: red.failure for red in own_view(project, state).valid_reds}
        return replace(facts, reds=reds, suite=SuiteComparison(dict.fromkeys(reds, Status.FAIL)))
    first = _tests_at(project, state, start, tree)
    accepted = known_tests(project, state, state.ground or tree) or {}
    now, broken = _run_now(project, tree)
    if broken and not now:
        return replace(facts, standing=(*facts.standing, *(broken if first else ())))
    state = project.state()
    failures = {red.native_id: red.failure for red in state.reds.values()}
    theirs = failures.keys() - {red.native_id for red in own_view(project, state).reds.values()}
    failing = [test for test, status in now.items() if status in {Status.FAIL, Status.ERROR}]
    unsure = [i for i, status in now.items() if status in _UNDECIDED and first.get(i, Status.PASS) is None]
    before = {**first, **_run_at(project, state, start.tree, tree, unsure)}
    revised = (*state.revised, *past.revised, *past.renamed)
    return replace(
        facts,
        standing=(*facts.standing, *broken),
        changed=(*facts.changed, *_find_bent(project, past, tree, facts, now)),
        reds={test: failures.get(test) or "it fails" for test in failing if test not in theirs},
        suite=compare_suites(project, before, now, tree, revised),
        since_accepted=compare_suites(project, accepted, now, tree, revised),
    )


def _find_bent(project: Project, past: Past, tree: str, facts: WorkFacts, now: Tests) -> Iterator[str]:
    """Reds that ended by other data, with source as it was; a report of a wrong test covers them."""
    data = [note for note in facts.noted if note.startswith(_DATA)]
    reported = {test for bug in past.bugs.values() for test in bug.tests}
    for test, seen in past.reds.items() if data else ():
        passes = now.get(test) is Status.PASS and function_of(test) not in reported
        if passes and not difference(project, seen, tree).source:
            yield f"{test}: it was red, and passes by other data: {data[0].removeprefix(_DATA)}"


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
