"""The tools that move the law: run tests, claim, settle, refactor, report a wrong test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from verdigris.core.actions import Deny
from verdigris.core.events import Accepted, Event, RefactorEnded, Repair
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import implied_claim
from verdigris.core.verdict import Kind
from verdigris.drivers.code.conversation import (
    describe_denial,
    describe_footer,
    describe_judgement,
    describe_run,
    in_tools,
)
from verdigris.drivers.code.plan import Verdicts
from verdigris.drivers.code.session_file import SessionRecord
from verdigris.drivers.code.settings import touched_files
from verdigris.drivers.code.tools.workbench import ToolAnswer, TurnVerdict, Workbench, answer_denial
from verdigris.drivers.edits import make_quote, quote_judged
from verdigris.drivers.judges.implementor import find_answer_lookup
from verdigris.storage.project import Project
from verdigris.turns import refactor
from verdigris.turns.claim import claim
from verdigris.turns.completion import events_since
from verdigris.turns.settle import Settlement, has_edits, settle
from verdigris.turns.test import run_tests as run
from verdigris.turns.test_bug import report_bug


def run_tests(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    project = bench.project
    tested = run(project, given.get("ids", ()), cwd=project.root)
    claims = not isinstance(implied_claim(project.state()), Deny)
    quote = make_quote(project)

    def quote_source(path: str, line: int) -> str:
        """Quotes source only: the model has just written the test."""
        return "" if project.classify(path) is PathClass.TEST else quote(path, line)

    return ToolAnswer(describe_run(tested, withheld=bench.withheld, quote=quote_source, edit_claims=claims))


def edit_claim(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    project = bench.project
    claimed = claim(project, given["test_ids"], given.get("paths", ()), cwd=project.root)
    if isinstance(claimed, Deny):
        return answer_denial(claimed)
    lines = [f"claimed {', '.join(claimed.test_ids)}: the tests are frozen until the verdict."]
    lines += [f"brought back: {', '.join(claimed.restored)}"] if claimed.restored else []
    lines += (
        [f"not brought back, since it conflicts: {', '.join(claimed.held_back)}"] if claimed.held_back else []
    )
    return ToolAnswer("\n".join(lines))


def refactor_begin(bench: Workbench, _: Mapping[str, Any]) -> ToolAnswer:
    begun = refactor.begin(bench.project, uncovered=False, known=True)
    if isinstance(begun, Deny):
        return answer_denial(begun)
    return ToolAnswer(
        f"A refactor is open; {begun.passed} tests pass, {begun.failed} do not. Edit, then refactor_end."
    )


def refactor_end(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    project = bench.project
    if given.get("abort", False):
        gone = refactor.abort(project)
        if isinstance(gone, Deny):
            return answer_denial(gone)
        return ToolAnswer(f"The refactor is given up; next: {in_tools(gone.next)}")
    if (no := bench.judge_sweep()) is not None:
        return answer_denial(no)
    touched = len(touched_files(project))
    ended = refactor.end(project)
    if isinstance(ended, Deny):
        return answer_denial(ended)
    count = "" if bench.sweep is None else f"The sweep touched {touched} files.\n"
    judged = _turn_verdict(bench, ended)
    return ToolAnswer(count + judged.text, "ok" if ended.verdict.accepted else "denied", judged=judged)


def test_bug(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    reported = report_bug(bench.project, [given["place"]], given["why"], cwd=bench.project.root)
    if isinstance(reported, Deny):
        return answer_denial(reported)
    aside = f" Your source edits are set aside as {reported.aside} and come back." if reported.aside else ""
    return ToolAnswer(
        f"Reported as {reported.bug}: {', '.join(reported.places)}.{aside} The test may be revised now; then "
        "run_tests it, and the next claim goes on. If a person has to decide, call finish."
    )


def settle_turn(bench: Workbench, brief: str = "") -> TurnVerdict | None:
    """Settles at the end of a model's turn; None if no claimed source changed.

    Source that looks up the tests' expected values is not accepted unless the `brief` names them: nobody
    reviews the concerns of an agent that works alone.
    """
    project = bench.project
    state = project.state()
    if state.turn is None or not has_edits(project, state):
        return None
    if find_answer_lookup(project, brief, state.turn.tree):
        project = replace(project, settings=replace(project.settings, concerns="block"))
    settlement = settle(project)
    if isinstance(settlement, Deny):
        return TurnVerdict(describe_denial(settlement), f"[tdd] denied [{settlement.rule}]", "denied")
    return _turn_verdict(bench, settlement)


def _turn_verdict(bench: Workbench, judged: Settlement) -> TurnVerdict:
    quote = quote_judged(bench.project, judged.aside)
    return TurnVerdict(
        describe_judgement(judged, withheld=bench.withheld, quote=quote),
        describe_footer(judged),
        judged.verdict.kind,
        judged.accepted,
        judged.aside,
        judged.claimed,
    )


def last_event(project: Project) -> int:
    """The number of the log's last event; 0 if there is none."""
    return next((record.seq for record in project.log.records(reverse=True, limit=1)), 0)


def events_of(project: Project, session: SessionRecord, start: int | None = None) -> Iterator[Event]:
    """The events since a session began, or since `start`, without those about work that was undone."""
    for seq, event in events_since(project, session.start if start is None else start):
        if not any(since < seq <= until for since, until in session.undone):
            yield event


def read_verdicts(project: Project, session: SessionRecord) -> Verdicts:
    """The verdicts of a session. They, not the model, decide the colours of the plan."""
    state = project.state()
    accepted: set[str] = set()
    refactors = 0
    for event in events_of(project, session):
        match event:
            case Accepted():
                accepted.add(event.test_id)
            case RefactorEnded(verdict=Kind.ACCEPTED.value):
                refactors += 1
    return Verdicts(
        frozenset((*state.claims, *(r.test_id for r in state.valid_reds))), frozenset(accepted), refactors
    )


def count_repairs(project: Project, session: SessionRecord, test_ids: tuple[str, ...]) -> int:
    """How often edits for one of these tests were set aside since its last acceptance, at most."""
    counts = dict.fromkeys(test_ids, 0)
    for event in events_of(project, session):
        match event:
            case Repair():
                for test_id in event.test_ids:
                    if test_id in counts:
                        counts[test_id] += 1
            case Accepted() if event.test_id in counts:
                counts[event.test_id] = 0
    return max(counts.values(), default=0)
