"""`tdd settle`: ends a turn with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.evidence import about_the_run
from verdigris.checks.file_use import data_outside, objections_of
from verdigris.checks.foundation import judge_foundation
from verdigris.checks.observation import TreeDifference, difference
from verdigris.core.actions import Deny, Do
from verdigris.core.agents import deny_persons_verb
from verdigris.core.errors import HarnessError
from verdigris.core.events import (
    Event,
    LayingAside,
    Owed,
    Paid,
    Repair,
    Settled,
    Violation,
)
from verdigris.core.policy.actors import is_only_others
from verdigris.core.policy.cycle import supersede_steps
from verdigris.core.policy.next_move import apart, owners, report_wrong_test
from verdigris.core.records import AGENT
from verdigris.core.test_ids import shell_words, split_id
from verdigris.core.turn_events import (
    accepted_events,
    is_struck_out,
    next_aside,
    settled_event,
)
from verdigris.core.value import replace, value
from verdigris.core.verdict import STRIKES, Kind, Tool, TrialFacts, Verdict, footer, judge
from verdigris.storage.paths import LinkOut, explain, links_out, remedy
from verdigris.turns.aside import put_frozen_back, set_aside
from verdigris.turns.candidate_run import Trial, format_edits, try_candidate
from verdigris.turns.claim_check import claims_by
from verdigris.turns.late_proof import claim_late, is_late
from verdigris.turns.next_move import following_move as next_here
from verdigris.turns.operation import close_late_turn, operation, refusal
from verdigris.turns.own_part import concerns_about_authors, join_edits, own_part, without_others

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.debts import Debt
    from verdigris.core.report import TestReport
    from verdigris.core.state import Refusal, Turn, WorktreeState
    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project

_MEND = "mend that, then `tdd settle`"


@value
class Settlement:
    """The end of a turn, or of a refactor."""

    verdict: Verdict
    report: TestReport | None
    paths: tuple[str, ...]
    """What was edited."""
    aside: str | None = None
    """The id that the edits are set aside as, after the last strike."""
    phase: str = ""
    next: str = ""
    footer: str = ""
    claimed: tuple[str, ...] = ()
    """Of a turn."""
    accepted: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """What failing commands (check, format, verify) printed."""
    strikes: int = 0
    """Settlements in a row that this red was not accepted in."""
    limit: int = 0
    """The strike that sets the edits aside."""
    report_wrong: str = ""
    """How to report that the claimed test is wrong."""
    known: bool = False
    """The tree was judged before, and nothing was run again."""
    owed: tuple[Debt, ...] = ()
    """What the accepted code decides and no test notices."""
    paid: tuple[Debt, ...] = ()


def settle(project: Project, progress: Progress | None = None, *, owe: bool = False) -> Settlement | Deny:
    """`owe`: a person accepts code that no test runs, as a debt."""
    if owe and project.actor.role == AGENT:
        return deny_persons_verb("settle --owe")
    with operation(project) as state:
        if is_late(project, state):
            return _settle_late(project, state, progress, owe=owe)
        if denial := refusal(project, state, Do("settle")):
            return denial
        if denial := join_edits(project, state, _turn(state)):
            return denial
        return _settle(project, own_part(project, project.state()), progress, owe=owe)


def _settle_late(
    project: Project, state: WorktreeState, progress: Progress | None, *, owe: bool
) -> Settlement | Deny:
    """Judges what a person wrote in any order; without an acceptance all is as it was before."""
    try:
        if denial := claim_late(project, state):
            return denial
        judged = _settle(project, project.state(), progress, owe=owe)
    finally:
        close_late_turn(project)
    return judged if judged.verdict.accepted else complete(project, replace(judged, next=_MEND))


def has_edits(project: Project, state: WorktreeState) -> bool:
    """Whether anything that the acting agent's claims are about changed since the last settlement."""
    if state.turn is None or state.turn.suspended:
        return False
    since = difference(project, state.turn.judged or state.turn.tree, project.workspace.snapshot())
    own, every = claims_by(project, state), state.claims.values()
    source = any(not is_only_others(change.path, own, every) for change in since.source)
    return source or any(owners(own, change.path) for change in since.other)


def _settle(
    project: Project,
    state: WorktreeState,
    progress: Progress | None,
    *,
    owe: bool = False,
) -> Settlement:
    """Judges the claims of `state`, the acting agent's, on the tree without the others' part of the turn."""
    turn = _turn(state)
    seen = without_others(project, state, turn)
    tree = seen.workspace.snapshot()
    edits = difference(seen, turn.tree, tree)
    if edits.oracle:
        return _settle_tampered(project, state, tree, edits)
    if links := links_out(project, tree):
        return _refuse_links(project, state, tree, edits, links)
    if not owe and turn.judged == tree and (known := known_verdict(turn.refused)) is not None:
        return complete(
            project, Settlement(known, None, _paths(edits), claimed=tuple(state.claims), known=True)
        )
    if guesses := _guesses(project, state):
        return complete(project, Settlement(guesses, None, _paths(edits), claimed=tuple(state.claims)))
    if below := judge_foundation(project, turn, tree):
        return complete(project, Settlement(below, None, _paths(edits), claimed=tuple(state.claims)))
    whole = tree if seen.view is None else seen.view.worktree
    tree, formats = format_edits(project, whole, tuple(c.path for c in edits.source if not c.deleted))
    if seen.view is not None:
        seen = without_others(project, state, turn)
        tree = seen.workspace.snapshot()
    edits = difference(seen, turn.tree, tree)
    trial = try_candidate(seen, state, tree, edits, progress, owe=owe)
    if below := judge_foundation(seen, turn, tree, trial.report.below, data_outside(seen, trial.report)):
        return complete(project, _Judged(state, trial, below, edits).settlement())
    trial = replace(trial, tools=(*formats, *trial.tools))
    claimed = {c.test_id: c.native_id for c in state.claims.values()}
    scrutiny = trial.answers.scrutiny
    used = objections_of(seen, turn.founded, tree, edits, trial.report)
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
            noted=(
                *concerns_about_authors(project, state, turn),
                *used.noted,
                *scrutiny.noted,
                *about_the_run(seen, trial.report),
            ),
        )
    )
    judged = _Judged(state, trial, verdict, edits)
    return _accept(project, judged) if verdict.accepted else _refuse(project, judged, progress)


GUESSES = 2
"""So often held-out tests say to an agent that they fail: each answer tells something about them."""


def _guesses(project: Project, state: WorktreeState) -> Verdict | None:
    """The verdict where an agent would try once more what a held-out test expects."""
    spent = [i for i in state.claims if state.overfits.get(i, 0) >= GUESSES]
    if not spent or project.actor.role != AGENT:
        return None
    words = shell_words("tdd", "revise", spent[0])
    why = f"{spent[0]} passed {GUESSES} times where held-out tests fail; for an agent they run no more"
    ways = f"ask the person to run `tdd settle` in a shell of their own, or `{words} --why WHY`"
    return Verdict(Kind.BROKEN, (f"{why}: {ways}",))


def _settle_tampered(project: Project, state: WorktreeState, tree: str, edits: TreeDifference) -> Settlement:
    """Puts back an agent's edit of the oracle; a person puts an own edit back by `tdd restore`."""
    what = "changed while it was frozen"
    is_agent = project.actor.role == AGENT
    back = "; it was put back (`tdd displaced` has your version)" if is_agent else ""
    cycle = state.open_cycle
    if cycle is not None and cycle.spec_path in edits.oracle:
        back += f"; {supersede_steps(cycle)}"
    verdict = Verdict(Kind.TAMPERED, tuple(f"{path} {what}{back}" for path in edits.oracle))
    settled = Settled(turn=_turn(state).id, verdict=verdict.kind, tree=tree, reasons=verdict.reasons)
    if is_agent:
        project.record(settled)
        put_frozen_back(project, state, tree, edits.oracle, what)
    else:
        project.record(*(Violation(path=path, what=what) for path in edits.oracle), settled)
    return complete(project, Settlement(verdict, None, _paths(edits), claimed=tuple(state.claims)))


def _refuse_links(
    project: Project, state: WorktreeState, tree: str, edits: TreeDifference, links: tuple[LinkOut, ...]
) -> Settlement:
    verdict = Verdict(Kind.BROKEN, tuple(map(explain, links)))
    project.record(Settled(turn=_turn(state).id, verdict=verdict.kind, tree=tree, reasons=verdict.reasons))
    return complete(
        project,
        Settlement(verdict, None, _paths(edits), claimed=tuple(state.claims), next=remedy(links[0])),
    )


@value
class _Judged:
    """A trial of the turn's edits, and the verdict on it."""

    state: WorktreeState
    trial: Trial
    verdict: Verdict
    edits: TreeDifference

    def settlement(self) -> Settlement:
        output, claimed = failed_output(self.trial.tools), tuple(self.state.claims)
        return Settlement(self.verdict, self.trial.report, _paths(self.edits), claimed=claimed, output=output)


def _accept(project: Project, judged: _Judged) -> Settlement:
    state, trial = judged.state, judged.trial
    turn = _turn(state)
    triples = accepted_events(state, turn, trial.tree, _paths(judged.edits), trial.seqs)
    settled = settled_event(state, turn, judged.verdict, trial.tree, edited=True)
    known = () if trial.collected is None else (trial.collected,)
    suite = () if trial.suite is None else (trial.suite,)
    debts = trial.answers.debts
    owed = (Owed(debts=debts.new),) if debts.new else ()
    paid = (Paid(debts=debts.paid),) if debts.paid else ()
    reports = _closed_reports(project, trial)
    project.record(*known, settled, *suite, *triples, *reports, *owed, *paid, sync=True)
    ended = replace(judged.settlement(), accepted=tuple(state.claims), owed=debts.new)
    ended = replace(ended, paid=tuple(state.owed[name] for name in debts.paid))
    return complete(project, ended)


def _closed_reports(project: Project, trial: Trial) -> tuple[Event, ...]:
    state = project.state()
    if not state.test_bugs or state.open_cycle is not None:
        return ()
    from verdigris.checks.test_reports import closed_bugs

    ended = {result.native_id: result.status for result in trial.report.results}
    return closed_bugs(project, state, ended, (), trial.tree)


def _refuse(project: Project, judged: _Judged, progress: Progress | None) -> Settlement:
    state, trial = judged.state, judged.trial
    turn = _turn(state)
    since = difference(project, turn.judged or turn.tree, trial.tree)
    edited = bool(since.source or since.other) and not turn.late
    settled = settled_event(state, turn, judged.verdict, trial.tree, edited=edited)
    if is_struck_out(state, settled, project.settings.strikes):
        return _lay_aside(project, judged, settled, progress)
    project.record(settled, sync=True)
    return complete(project, judged.settlement())


def _lay_aside(project: Project, judged: _Judged, settled: Settled, progress: Progress | None) -> Settlement:
    """The last strike: sets aside the edits of the failing claims, and settles the others on their own."""
    state, verdict = judged.state, judged.verdict
    source = tuple(c.path for c in judged.edits.source)
    failing = frozenset(verdict.failing or state.claims)
    alone = apart(state.claims.values(), failing, source) if failing < set(state.claims) else None
    ids = failing if alone is not None else state.claims
    paths = source if alone is None else tuple(p for p in source if p in alone)
    why = f"{project.settings.strikes} strikes: {verdict.reasons[0]}"
    intent = LayingAside(
        aside=next_aside(state),
        paths=paths,
        edited=judged.trial.tree,
        start=_turn(state).tree,
        why=why,
        test_ids=tuple(sorted(ids)),
    )
    set_aside(project, intent, settled, Repair(why=why, test_ids=intent.test_ids, aside=intent.aside))
    settlement = replace(judged.settlement(), aside=intent.aside)
    rest = project.state()
    if alone is None or not own_part(project, rest).claims:
        return complete(project, settlement)
    other = _settle(project, own_part(project, rest), progress)
    if other.verdict.accepted:
        return complete(project, replace(settlement, accepted=other.accepted))
    claimed = _lay_rest_aside(project, intent.aside, other.verdict.reasons[0])
    return complete(project, replace(settlement, paths=other.paths, claimed=claimed))


def _lay_rest_aside(project: Project, first: str, why_not: str) -> tuple[str, ...]:
    """Sets the rest of the turn aside, because its claims do not pass on their own; returns those claims."""
    state = own_part(project, project.state())
    if state.turn is not None and state.claims:
        seen = without_others(project, state, state.turn)
        tree = seen.workspace.snapshot()
        why = f"it cannot be judged apart from {first}: {why_not}"
        intent = LayingAside(
            aside=next_aside(state),
            paths=tuple(c.path for c in difference(seen, state.turn.tree, tree).source),
            edited=tree,
            start=state.turn.tree,
            why=why,
            test_ids=tuple(state.claims),
        )
        set_aside(project, intent, Repair(why=why, test_ids=intent.test_ids, aside=intent.aside))
    return tuple(state.claims)


def known_verdict(refused: Refusal | None) -> Verdict | None:
    """The verdict on the tree that was judged last, if nothing but the tree has a say in it."""
    if refused is None or refused.outdated or refused.verdict not in STRIKES:
        return None
    return Verdict(Kind(refused.verdict), refused.reasons, refused.concerns, unproven=refused.unproven)


def complete(project: Project, settlement: Settlement, about: Sequence[str] = ()) -> Settlement:
    """Adds the phase, the next move and the footer. `about`: what was judged, if it is not the claims."""
    after = project.state()
    following = settlement.next or next_here(project, after)
    files = dict.fromkeys(split_id(claim.native_id).path for claim in after.claims.values())
    told = footer(settlement.verdict, about or settlement.claimed, settlement.paths, after.phase, following)
    strikes = max((after.strikes.get(test_id, 0) for test_id in settlement.claimed), default=0)
    return replace(
        settlement,
        phase=after.phase,
        next=following,
        footer=told,
        strikes=strikes,
        limit=project.settings.strikes,
        report_wrong=report_wrong_test(after.claims.values(), next(iter(files), "")),
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
