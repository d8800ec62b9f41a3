"""`tdd settle`: ends a turn with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.evidence import about_the_run
from verdigris.checks.file_use import objections_of
from verdigris.checks.foundation import judge_foundation
from verdigris.checks.observation import difference, is_layout
from verdigris.checks.source_edits import home_of
from verdigris.core.actions import Allow, Deny, Do, FileWrite, Write
from verdigris.core.errors import HarnessError
from verdigris.core.events import LayingAside, Repair, Settled, Violation
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.cycle import supersede_steps
from verdigris.core.policy.next_move import apart, owners
from verdigris.core.turn_events import (
    accepted_events,
    is_struck_out,
    joining_events,
    next_aside,
    settled_event,
)
from verdigris.core.value import replace, value
from verdigris.core.verdict import Kind, TrialFacts, Verdict, footer, judge
from verdigris.storage.paths import explain, links_out, remedy
from verdigris.turns.aside import set_aside
from verdigris.turns.candidate_run import Trial, format_edits, try_candidate
from verdigris.turns.claim_check import following_move as next_here
from verdigris.turns.operation import operation, refusal
from verdigris.turns.rollback import AGENT, put_back

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.report import TestReport
    from verdigris.core.state import Turn, WorktreeState
    from verdigris.core.verdict import Tool
    from verdigris.runners.protocol import Progress
    from verdigris.storage.paths import LinkOut
    from verdigris.storage.project import Project


@value
class Settlement:
    """The end of a turn, or of a refactor."""

    verdict: Verdict
    report: TestReport | None
    paths: tuple[str, ...]
    """What was edited."""
    aside: str | None
    """The id that the edits are set aside as, after the last strike."""
    phase: str
    next: str
    footer: str
    claimed: tuple[str, ...] = ()
    """Of a turn."""
    accepted: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """What failing commands (check, format, verify) printed."""
    strikes: int = 0
    """Settlements in a row that this red was not accepted in."""
    limit: int = 0
    """The strike that sets the edits aside."""


def settle(project: Project, progress: Progress | None = None) -> Settlement | Deny:
    with operation(project) as state:
        if denial := refusal(project, state, Do("settle")):
            return denial
        return _join_edits(project, state) or _settle(project, project.state(), progress)


def has_edits(project: Project, state: WorktreeState) -> bool:
    """Whether anything that the claims are about changed since the last settlement."""
    if state.turn is None or state.turn.suspended:
        return False
    since = difference(project, state.turn.judged or state.turn.tree, project.workspace.snapshot())
    claims = state.claims.values()
    return bool(since.source) or any(owners(claims, change.path) for change in since.other)


def _join_edits(project: Project, state: WorktreeState) -> Deny | None:
    """Edited source that no target covers joins the open claims, or is refused where claims are strict."""
    edits = difference(project, _turn(state).tree, project.workspace.snapshot())
    claims = state.claims.values()
    files = tuple(
        FileWrite(change.path, PathClass.SOURCE, None, None)
        for change in edits.source
        if owners(claims, change.path) or not is_layout(project, change)
    )
    match decide(state, Write(files), project.settings):
        case Deny() as no:
            return no
        case Allow(joins=paths):
            project.record(*joining_events(state, paths))
    return None


def _settle(project: Project, state: WorktreeState, progress: Progress | None) -> Settlement:
    turn = _turn(state)
    tree = project.workspace.snapshot()
    edits = difference(project, turn.tree, tree)
    if edits.oracle:
        return _settle_tampered(project, state, tree, edits)
    if links := links_out(project, tree):
        return _refuse_links(project, state, tree, edits, links)
    if below := judge_foundation(project, turn, tree):
        return _settlement(project, state, _SettlementOutcome(below, _paths(edits)))
    tree, formats = format_edits(project, tree, tuple(c.path for c in edits.source if not c.deleted))
    edits = difference(project, turn.tree, tree)
    trial = try_candidate(project, state, tree, edits, progress)
    if below := judge_foundation(project, turn, tree, trial.report.below):
        return _settlement(project, state, _SettlementOutcome(below, _paths(edits), trial=trial))
    trial = replace(trial, tools=(*formats, *trial.tools))
    claimed = {c.test_id: c.native_id for c in state.claims.values()}
    scrutiny = trial.answers.scrutiny
    used = objections_of(project, turn.founded, tree, edits, trial.report)
    verdict = judge(
        TrialFacts(
            claimed,
            trial.before,
            trial.report,
            drift=trial.drift,
            moved=trial.moved,
            rewritten=trial.rewritten,
            changed=bool(edits.source or edits.other),
            tools=trial.tools,
            held_out=trial.answers.held_out,
            doubted=(*used.broken, *scrutiny.doubts),
            blocking=(*used.blocking, *scrutiny.blocking),
            weakened=trial.answers.weakened,
            noted=(*used.noted, *scrutiny.noted, *about_the_run(project, trial.report)),
        )
    )
    if verdict.accepted:
        return _accept(project, state, trial, verdict, edits)
    return _refuse(project, state, trial, verdict, edits, progress)


def _settle_tampered(project: Project, state: WorktreeState, tree: str, edits: TreeDifference) -> Settlement:
    """Puts back an agent's edit of the oracle; keeps a person's, and says how to do it rightly."""
    what = "changed while it was frozen"
    reasons = tuple(f"{path} {what}" for path in edits.oracle)
    verdict = Verdict(Kind.TAMPERED, reasons)
    settled = Settled(turn=_turn(state).id, verdict=verdict.kind, tree=tree, reasons=reasons)
    if project.actor.role == AGENT:
        project.record(settled)
        put_back(project, home_of(project, _turn(state).tree, tree, edits.oracle), edits.oracle, why=what)
        back = "it was put back (`tdd displaced` has your version): `tdd settle` again"
        return _settlement(project, state, _SettlementOutcome(verdict, _paths(edits), following=back))
    project.record(*(Violation(path=path, what=what) for path in edits.oracle), settled)
    bug = f'put {edits.oracle[0]} back, or `tdd test-bug {edits.oracle[0]}:LINE "WHY"`'
    cycle = state.open_cycle
    if cycle is not None and edits.oracle[0] == cycle.spec_path:
        bug = f"put {cycle.spec_path} back: {supersede_steps(cycle)}"
    return _settlement(project, state, _SettlementOutcome(verdict, _paths(edits), following=bug))


def _refuse_links(
    project: Project, state: WorktreeState, tree: str, edits: TreeDifference, links: tuple[LinkOut, ...]
) -> Settlement:
    verdict = Verdict(Kind.BROKEN, tuple(map(explain, links)))
    project.record(Settled(turn=_turn(state).id, verdict=verdict.kind, tree=tree, reasons=verdict.reasons))
    return _settlement(project, state, _SettlementOutcome(verdict, _paths(edits), following=remedy(links[0])))


def _accept(
    project: Project, state: WorktreeState, trial: Trial, verdict: Verdict, edits: TreeDifference
) -> Settlement:
    turn = _turn(state)
    triples = accepted_events(state, turn, trial.tree, _paths(edits), trial.seqs)
    settled = settled_event(state, turn, verdict, trial.tree, edited=True)
    suite = () if trial.suite is None else (trial.suite,)
    project.record(settled, *suite, *triples, sync=True)
    return _settlement(
        project, state, _SettlementOutcome(verdict, _paths(edits), trial=trial, accepted=tuple(state.claims))
    )


def _refuse(
    project: Project,
    state: WorktreeState,
    trial: Trial,
    verdict: Verdict,
    edits: TreeDifference,
    progress: Progress | None,
) -> Settlement:
    turn = _turn(state)
    since = difference(project, turn.judged or turn.tree, trial.tree)
    edited = bool(since.source or since.other)
    settled = settled_event(state, turn, verdict, trial.tree, edited=edited)
    if not is_struck_out(state, settled, project.settings.strikes):
        project.record(settled, sync=True)
        return _settlement(project, state, _SettlementOutcome(verdict, _paths(edits), trial=trial))
    return _lay_aside(project, state, _JudgedTrial(trial, verdict, edits), settled, progress)


@value
class _JudgedTrial:
    trial: Trial
    verdict: Verdict
    edits: TreeDifference


def _lay_aside(
    project: Project, state: WorktreeState, judged: _JudgedTrial, settled: Settled, progress: Progress | None
) -> Settlement:
    """The last strike: sets aside the edits of the failing claims, and settles the others on their own."""
    trial, verdict, edits = judged.trial, judged.verdict, judged.edits
    source = tuple(c.path for c in edits.source)
    failing = frozenset(verdict.failing or state.claims)
    alone = apart(state.claims.values(), failing, source) if failing < set(state.claims) else None
    ids = tuple(failing) if alone is not None else tuple(state.claims)
    paths = source if alone is None else tuple(p for p in source if p in alone)
    why = f"{project.settings.strikes} strikes: {verdict.reasons[0]}"
    intent = LayingAside(
        aside=next_aside(state),
        paths=paths,
        edited=trial.tree,
        start=_turn(state).tree,
        why=why,
        test_ids=tuple(sorted(ids)),
    )
    repair = Repair(why=why, test_ids=intent.test_ids, aside=intent.aside)
    set_aside(project, intent, settled, repair)
    rest = project.state()
    if alone is None or rest.turn is None:
        return _settlement(
            project, state, _SettlementOutcome(verdict, _paths(edits), trial=trial, laid=intent.aside)
        )
    other = _settle(project, rest, progress)
    if other.verdict.accepted:
        return _settlement(
            project,
            state,
            _SettlementOutcome(
                verdict, _paths(edits), trial=trial, laid=intent.aside, accepted=other.accepted
            ),
        )
    return _all_aside(project, other, verdict, trial, intent.aside)


def _all_aside(project: Project, other: Settlement, verdict: Verdict, trial: Trial, first: str) -> Settlement:
    """Sets the whole turn aside, because the passing claims do not pass on their own."""
    state = project.state()
    if state.turn is not None:
        tree = project.workspace.snapshot()
        left = tuple(c.path for c in difference(project, state.turn.tree, tree).source)
        why = f"it cannot be judged apart from {first}: {other.verdict.reasons[0]}"
        intent = LayingAside(
            aside=next_aside(state),
            paths=left,
            edited=tree,
            start=state.turn.tree,
            why=why,
            test_ids=tuple(state.claims),
        )
        set_aside(project, intent, Repair(why=why, test_ids=intent.test_ids, aside=intent.aside))
    return _settlement(project, state, _SettlementOutcome(verdict, other.paths, trial=trial, laid=first))


@value
class _SettlementOutcome:
    """The result of a settlement, before it is worded."""

    verdict: Verdict
    paths: tuple[str, ...]
    trial: Trial | None = None
    accepted: tuple[str, ...] = ()
    laid: str | None = None
    following: str | None = None


def _settlement(project: Project, state: WorktreeState, outcome: _SettlementOutcome) -> Settlement:
    verdict, paths, trial, laid = outcome.verdict, outcome.paths, outcome.trial, outcome.laid
    after = project.state()
    following = outcome.following or (
        f"`tdd test`, claim again, `tdd restore {laid}`" if laid else next_here(project, after)
    )
    claimed = tuple(state.claims)
    return Settlement(
        verdict,
        None if trial is None else trial.report,
        paths,
        laid,
        after.phase,
        following,
        footer(verdict, claimed, paths, after.phase, following),
        claimed,
        outcome.accepted,
        () if trial is None else failed_output(trial.tools),
        max((after.strikes.get(test_id, 0) for test_id in claimed), default=0),
        project.settings.strikes,
    )


def failed_output(tools: Iterable[Tool]) -> tuple[str, ...]:
    """What failing commands printed."""
    return tuple(tool.output for tool in tools if not tool.ok)


def _paths(edits: TreeDifference) -> tuple[str, ...]:
    return tuple(c.path for c in (*edits.source, *edits.other))


def _turn(state: WorktreeState) -> Turn:
    if state.turn is None:
        raise HarnessError("the green phase has no open turn.", hint="`tdd log verify`")
    return state.turn
