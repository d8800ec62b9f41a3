"""`tdd refactor`: the same behaviour in a better shape, proven by the same tests."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.checks.acceptance import question_refactor
from verdigris.checks.coverage import (
    added_lines,
    describe_foreign,
    find_foreign,
    lines_run_apart,
    new_lines,
    run_suite_traced,
)
from verdigris.checks.evidence import (
    about_the_run,
    rewritten_files,
    run_events,
    suite_event,
    suite_names,
    test_events,
)
from verdigris.checks.file_use import data_outside, objections_of
from verdigris.checks.foundation import find_changes, prepare
from verdigris.checks.hindrance import hindered_events, record_missing_tool
from verdigris.checks.observation import Candidate, difference, find_unclaimed, source_roots
from verdigris.checks.other_inputs import behaviour_changes
from verdigris.checks.refactor import MUTATION_SECONDS, find_unkept, survivors
from verdigris.checks.refactor_losses import find_dropped
from verdigris.checks.suite_tests import read_tests_of
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.events import LayingAside, RefactorBegun, RefactorEnded, Repair, SuiteRun, Violation
from verdigris.core.records import AGENT
from verdigris.core.report import Status, TestReport
from verdigris.core.test_ids import shell_words
from verdigris.core.turn_events import next_aside
from verdigris.core.value import replace, value
from verdigris.core.verdict import (
    STRIKES,
    Kind,
    Restructured,
    Verdict,
    judge_answers,
    judge_refactor,
    missing_tests,
)
from verdigris.execution.rooms import frozen_layer
from verdigris.execution.test_run import execute_suite, run_tool, stat_tree, time_limit, touched_paths
from verdigris.languages.registry import is_traced
from verdigris.languages.tests import is_revised
from verdigris.runners.protocol import Progress, TestRequest, announce
from verdigris.storage.paths import links_out, refuse
from verdigris.storage.project import Project, texts_at
from verdigris.turns.aside import set_aside
from verdigris.turns.next_move import following_move as next_here
from verdigris.turns.operation import operation, refusal
from verdigris.turns.settle import Settlement, complete, failed_output, known_verdict

if TYPE_CHECKING:
    from verdigris.core.state import Refactor, WorktreeState
    from verdigris.core.suite_health import Hindrance

_PUT_BACK = "put it back as it was; or `tdd refactor abort`, begin again, and `tdd restore` the edits"
_NAMED = 3
_TEST_FIRST = "`tdd refactor abort` and test it first; or a person: `tdd refactor begin --uncovered`"


@value
class Begun:
    passed: int
    failed: int
    uncovered: bool
    hindrance: Hindrance | None = None
    """Files that do not load: their tests show nothing."""


@value
class Aborted:
    aside: str | None
    paths: tuple[str, ...]
    next: str


def begin(
    project: Project,
    *,
    uncovered: bool,
    known: bool = False,
    optimizes: bool = False,
    progress: Progress | None = None,
) -> Begun | Deny:
    """`known`: the last whole run says how the tests stand, where it was of this tree; else they are run.

    `uncovered` is a person's: lines that no test runs. `optimizes` is a driver's, where a metric judges too:
    lines have to be run, but no test need notice what only makes them quicker.
    """
    with operation(project) as state:
        tree = project.workspace.snapshot()
        edits = find_unclaimed(project, state.ground or tree, tree, limit=1)
        if denial := refusal(project, state, Do("refactor begin", unclaimed=edits)):
            return denial
        record = _known_record(project, state, tree) if known else None
        suites: list[SuiteRun] = []
        if record is None:
            try:
                report = execute_suite(project, progress=progress)
            except ToolMissing as error:
                record_missing_tool(project, error, tree)
                raise
            suite = suite_event(project, report, tree)
            if suite is None:
                project.record(*hindered_events(project, state, report, tree, whole=True))
            if suite is None and not uncovered:
                return _deny_without_suite(project, report)
            suites = [suite] if suite else []
            record = suite.record if suite else project.workspace.blob(b"{}")
        begun = RefactorBegun(
            tree=tree,
            record=record,
            uncovered=uncovered,
            foundation=prepare(project),
            founded=time.time_ns(),
            optimizes=optimizes,
        )
        project.record(*suites, begun, sync=True)
        statuses = Counter(read_tests_of(project, record).values())
        failed = statuses[Status.FAIL] + statuses[Status.ERROR]
        return Begun(statuses[Status.PASS], failed, uncovered, project.state().hindrance)


def _known_record(project: Project, state: WorktreeState, tree: str) -> str | None:
    """Where a suite is configured, a settlement's run holds more than it: the claimed tests as well."""
    baseline = state.baseline
    if baseline is None or baseline.tree != tree or any(stack.suite for stack in project.settings.stacks):
        return None
    return baseline.record if project.workspace.blob_bytes(baseline.record) else None


def _deny_without_suite(project: Project, report: TestReport) -> Deny:
    state = project.state()
    hindrance = state.hindrance
    if report.results or report.errors or hindrance:
        why = f" ({hindrance.line})" if hindrance else ""
        seen = state.unloaded and not report.results
        following = next_here(project, state) if seen else "`tdd test`"
        return Deny(
            "suite-broken",
            f"The suite did not run to its end{why}, so it cannot show that a refactor keeps behaviour.",
            hindrance.cure if hindrance and hindrance.cure else following,
        )
    return Deny(
        "no-tests",
        "There are no tests that could tell whether behaviour is kept.",
        "a person may say `tdd refactor begin --uncovered`",
    )


def end(project: Project, progress: Progress | None = None) -> Settlement | Deny:
    with operation(project) as state:
        if denial := refusal(project, state, Do("refactor end")):
            return denial
        refactor = _open_refactor(state)
        tree = project.workspace.snapshot()
        if out := refuse(links_out(project, tree)):
            return out
        edits = difference(project, refactor.tree, tree)
        paths = tuple(sorted(edits.protected))
        if refactor.judged == tree and (known := known_verdict(refactor.refused)) is not None:
            return _tell_again(project, known, refactor, paths)
        candidate = Candidate(project, refactor.tree, tree, edits, frozen_layer(project, tree))
        standing_before = stat_tree(project, tree)
        seen = _gather_facts(candidate, state, progress)
        verdict = judge_refactor(seen)
        if verdict.unproven:
            apart = lines_run_apart(candidate, seen.added, seen.after, progress)
            left = {path: lines - apart.get(path, frozenset()) for path, lines in seen.added.items()}
            seen = replace(seen, added=left)
            verdict = judge_refactor(seen)
        if verdict.accepted and edits.protected:
            verdict = _question_code(candidate, state, seen, progress)
        if verdict.accepted:
            seen = replace(seen, moved=touched_paths(project, standing_before))
            verdict = replace(judge_refactor(seen), concerns=verdict.concerns)
        return _conclude(project, state, tree, verdict, seen, paths)


def _tell_again(project: Project, known: Verdict, refactor: Refactor, paths: tuple[str, ...]) -> Settlement:
    following = refactor.refused.next if refactor.refused else ""
    return complete(project, Settlement(known, None, paths, next=following, known=True), ("refactor",))


def _question_code(
    candidate: Candidate, state: WorktreeState, seen: Restructured, progress: Progress | None
) -> Verdict:
    """Asks what a settlement asks of code whose tests pass, and whether the tests notice every change."""
    refactor = _open_refactor(state)
    announce(progress, "the assertions")
    answers = question_refactor(candidate, state, seen.after)
    scrutiny = answers.scrutiny
    used = objections_of(candidate.project, refactor.founded, candidate.tree, candidate.edits, seen.after)
    noted = (*used.noted, *scrutiny.noted, *seen.noted)
    verdict = judge_answers(
        (*used.broken, *scrutiny.doubts),
        (*used.blocking, *scrutiny.blocking),
        noted,
        held_out=answers.held_out,
        weakened=answers.weakened,
    )
    if not verdict.accepted:
        return verdict
    if otherwise := behaviour_changes(candidate, seen.after, progress):
        return Verdict(Kind.REGRESSED, otherwise, noted, unproven=True)
    if refactor.uncovered:
        return verdict
    ends = time.monotonic() + MUTATION_SECONDS
    unnoticed = survivors(candidate, seen.after, optimizes=refactor.optimizes, progress=progress)
    noted, reasons = (*noted, *unnoticed.noted), unnoticed.found
    if not reasons and not refactor.optimizes:
        dropped = find_dropped(candidate, seen.before, seen.after, ends - time.monotonic(), progress)
        noted = (*noted, *dropped.noted)
        if candidate.project.actor.role == AGENT:
            reasons = dropped.found
        else:
            noted = (*noted, *dropped.found)
    return Verdict(Kind.REGRESSED if reasons else Kind.ACCEPTED, reasons, noted, unproven=bool(reasons))


def _gather_facts(candidate: Candidate, state: WorktreeState, progress: Progress | None) -> Restructured:
    project, tree, edits = candidate.project, candidate.tree, candidate.edits
    refactor, revised = _open_refactor(state), state.revised
    before = {
        i: s for i, s in read_tests_of(project, refactor.record).items() if s and not is_revised(i, revised)
    }
    frozen, findings = find_unkept(candidate, revised)
    traced = tuple(c.path for c in edits.source if is_traced(c.path))
    announce(progress, "the suite")
    request = TestRequest(
        trace=traced,
        watch=new_lines(project, refactor.tree, tree, edits),
        timeout=time_limit(project, state),
        sources=source_roots(project, tree),
    )
    report = run_suite_traced(
        project,
        request,
        lambda result: before.get(result.native_id) is Status.PASS,
        progress=progress,
        layer=candidate.room,
    )
    stacks = project.settings.stacks
    tools = tuple(
        run_tool(project, stack, name, command)
        for stack in stacks
        for name, command in (("check", stack.check), ("verify", stack.verify))
        if command
    )
    added = added_lines(texts_at(project, refactor.tree, traced), texts_at(project, tree, traced))
    return Restructured(
        before=before,
        after=report,
        frozen=frozen,
        findings=findings,
        added={} if refactor.uncovered else added,
        tools=tools,
        moved=difference(project, tree, project.workspace.snapshot()).protected,
        rewritten=rewritten_files(project, report),
        undermined=find_changes(
            project, refactor.foundation, refactor.founded, report.below, data_outside(project, report)
        ),
        noted=(*about_the_run(project, report), *describe_foreign(find_foreign(candidate, report))),
    )


def _conclude(
    project: Project,
    state: WorktreeState,
    tree: str,
    verdict: Verdict,
    seen: Restructured,
    paths: tuple[str, ...],
) -> Settlement:
    refactor = _open_refactor(state)
    ended = RefactorEnded(
        verdict=verdict.kind,
        tree=tree,
        reasons=verdict.reasons,
        concerns=verdict.concerns,
        next=_way_out(verdict, seen),
        unproven=verdict.unproven,
    )
    suite = suite_event(project, seen.after, tree) if verdict.accepted else None
    runs = test_events(project, seen.after, tree)
    what = "changed in a refactor"
    tampered = [Violation(path=p, what=what) for p in (*seen.frozen, *seen.undermined)]
    seen_runs = run_events(project, state, seen.after, runs, suite_names(project))
    events = [*seen_runs, *([suite] if suite else []), *tampered, ended]
    counts = verdict.kind in STRIKES and tree not in {refactor.judged, refactor.tree}
    if not counts or refactor.strikes + 1 < project.settings.strikes:
        project.record(*events, sync=True)
        return _result(project, verdict, seen, paths, None)
    why = f"{project.settings.strikes} strikes: {verdict.reasons[0]}"
    intent = LayingAside(aside=next_aside(state), paths=paths, edited=tree, start=refactor.tree, why=why)
    set_aside(project, intent, *events, Repair(why=why, test_ids=(), aside=intent.aside))
    return _result(project, verdict, seen, paths, intent.aside)


def _result(
    project: Project, verdict: Verdict, seen: Restructured, paths: tuple[str, ...], laid: str | None
) -> Settlement:
    following = "" if laid is not None else _way_out(verdict, seen)
    output = failed_output(seen.tools)
    ended = Settlement(verdict, seen.after, paths, laid, next=following, output=output)
    return complete(project, ended, ("refactor",))


def _way_out(verdict: Verdict, seen: Restructured) -> str:
    """The next move after a verdict, if it is another than the phase's usual one."""
    if seen.undermined:
        return _PUT_BACK
    if verdict.kind is not Kind.REGRESSED:
        return ""
    if judge_refactor(replace(seen, added={})).accepted:
        return _TEST_FIRST
    if gone := missing_tests(seen):
        given = f"tdd revise {shell_words(*gone[:_NAMED])}, with --why and the reason"
        return f"put what is missing back, then `tdd refactor end`; or a person gives it up: {given}"
    return ""


def abort(project: Project) -> Aborted | Deny:
    """Everything that the refactor changed in source and tests is set aside."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("refactor abort")):
            return denial
        refactor = _open_refactor(state)
        tree = project.workspace.snapshot()
        paths = difference(project, refactor.tree, tree).protected
        intent = LayingAside(
            aside=next_aside(state), paths=paths, edited=tree, start=refactor.tree, why="refactor aborted"
        )
        laid = set_aside(project, intent, RefactorEnded(verdict="aborted", tree=refactor.tree))
        return Aborted(laid.aside if laid.paths else None, laid.paths, next_here(project, project.state()))


def _open_refactor(state: WorktreeState) -> Refactor:
    if state.refactor is None:
        raise HarnessError("the refactor phase has no record of its start.", hint="`tdd log verify`")
    return state.refactor
