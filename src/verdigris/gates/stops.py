"""When an agent stops: settles its edits, sends it back if that fails, and reports what is left open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.errors import OthersCallOpen, UserError
from verdigris.core.events import Edit, LeftOpen, SentBack
from verdigris.core.policy.done import WorkFacts, find_notes, find_open, lost_tests
from verdigris.core.state import Phase, Stage, WorktreeState
from verdigris.core.value import replace
from verdigris.core.verdict import Kind
from verdigris.gates.calls import PASS, HookCall, Reply
from verdigris.storage.calls.callers import end_edit, end_session, forget_caller
from verdigris.turns.claim_check import claims_by
from verdigris.turns.completion import describe_unproven, gather_work
from verdigris.turns.next_move import as_it_stands, following_move
from verdigris.turns.refactor import end
from verdigris.turns.settle import Settlement, has_edits, settle
from verdigris.turns.tripwire.authors import what_to_wait_for
from verdigris.turns.tripwire.calls import look_between_calls, with_next

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.storage.project import Project
    from verdigris.turns.tripwire import Tripped

_TEST_BUG = re.compile(
    r"^[\s>*-]*TEST_BUG:[ \t]*(?P<place>\S+:\d+)[ \t]*(?:\u2014|--?|:)?[ \t]*(?P<why>\S.*)$", re.MULTILINE
)


def stop(project: Project, call: HookCall) -> Reply:
    """Settles edits, ends a refactor, and reports what is left open.

    A stop without new edits is a question to the person: the turn stays open, and it is no strike.
    """
    private = str(project.repo.private)
    tripped = look_between_calls(project)
    end_edit(private, project.context)
    try:
        reply = _with_news(project, tripped, _judge_stop(project, call))
    except OthersCallOpen as error:
        reply = _with_news(project, tripped, _leave_open(error))
    if reply.kind == "pass":
        end_session(private, call.session)
    return reply


def _judge_stop(project: Project, call: HookCall) -> Reply:
    state = project.state()
    if bug := _reported_bug(project, call, state):
        return bug
    reply = PASS
    match state.phase:
        case Phase.GREEN if claims_by(project, state) and has_edits(project, state):
            reply = _reply_to_verdict(project, call, settle(project))
        case Phase.REFACTOR if has_restructured(project, state):
            reply = _reply_to_verdict(project, call, end(project))
    if reply.kind != "pass":
        return reply
    left = _tell_unfinished(project, call, project.state())
    if left.kind != "pass":
        return replace(left, text="\n".join(filter(None, (reply.note, left.text))))
    reports = as_it_stands(project, state, project.workspace.snapshot()).test_bugs.values()
    bugs = (f"test-bug {bug.id} is open: {', '.join(bug.places)}: {bug.why}" for bug in reports)
    unproven = () if project.state().phase is Phase.RED else describe_unproven(project)
    return replace(left, note="\n".join(filter(None, (reply.note, left.note, *unproven, *bugs))))


def subagent_stop(project: Project, call: HookCall) -> Reply:
    """Settles the subagent's claims; those of others in the turn stay open."""
    private = str(project.repo.private)
    tripped = look_between_calls(project)
    end_edit(private, project.context)
    forget_caller(private, call.actor.context)
    state = project.state()
    if bug := _reported_bug(project, call, state):
        return _with_news(project, tripped, bug)
    mine = state.phase is Phase.GREEN and _is_its_turn(project, call, state) and has_edits(project, state)
    try:
        reply = _reply_to_verdict(project, call, settle(project)) if mine else PASS
    except OthersCallOpen as error:
        reply = _leave_open(error)
    return _with_news(project, tripped, reply)


def _with_news(project: Project, tripped: Tripped, reply: Reply) -> Reply:
    """Adds what the agent was to hear: to its own words if it goes on, else to the person's.

    The next move is named once, by what holds at the end of the stop.
    """
    if not tripped.text:
        return reply
    own = reply.text if reply.kind == "send-back" else reply.note
    text = "\n".join(filter(None, (tripped.text, own)))
    if "next: " not in own:
        text = with_next(project, replace(tripped, text=text)).text
    return replace(reply, text=text) if reply.kind == "send-back" else replace(reply, note=text)


def _leave_open(error: OthersCallOpen) -> Reply:
    return Reply(note=f"Nothing was judged at this stop. {error.message}\nnext: {error.hint}")


def _is_its_turn(project: Project, call: HookCall, state: WorktreeState) -> bool:
    """Whether a claim is the subagent's; in a cycle, where freezing claims, whether it made an edit."""
    if state.open_cycle is None:
        return any(claim.by == call.actor.context for claim in state.claims.values())
    for record in project.log.records(reverse=True):
        if record.seq <= state.open_cycle.since:
            break
        if record.type == Edit.kind() and record.actor.get("context") == call.actor.context:
            return True
    return False


def _reported_bug(project: Project, call: HookCall, state: WorktreeState) -> Reply | None:
    """A line `TEST_BUG: FILE:LINE — WHY` in the coder's last words is as good as the verb."""
    cycle = state.open_cycle
    found = _TEST_BUG.search(call.said)
    if found is None or cycle is None or cycle.stage is not Stage.GREEN or cycle.stopped:
        return None
    if call.actor in cycle.workers.get(Stage.VALIDATE, ()):
        return None  # a validator that quotes the report it ruled on
    from verdigris.turns.test_bug import report_bug

    try:
        reported = report_bug(project, [found["place"]], found["why"], cwd=project.root)
    except UserError as error:
        return _send_back(project, call, f"The TEST_BUG is not reported: {error.message} {error.hint or ''}")
    if isinstance(reported, Deny):
        return _send_back(project, call, "\n".join(reported.lines()))
    return _tell_unfinished(project, call, project.state())


def has_restructured(project: Project, state: WorktreeState) -> bool:
    """Whether an open refactor changed anything since it was begun or last judged."""
    refactor = state.refactor
    if refactor is None:
        return False
    since = difference(project, refactor.judged or refactor.tree, project.workspace.snapshot())
    return bool(since.protected)


def _tell_unfinished(project: Project, call: HookCall, state: WorktreeState) -> Reply:
    """Sends the agent back once; what is the same at its next stop is shown to the person alone.

    A report of a wrong test waits for a person, and so does a turn without new edits: to stop there is right.
    """
    facts = gather_work(project, call.session)
    what, notes = find_open(facts), find_notes(facts)
    if not what:
        return Reply(notes=notes)
    ways = tuple(_ways_to_mend(facts))
    move = following_move(project, project.state(), wait=what_to_wait_for(project))
    text = "\n".join(("Left at this stop:", *what, *ways, f"next: {move}"))
    asks = not find_open(replace(facts, bugs=(), claims=()))
    told = Reply(note="" if asks else text, open=what, notes=notes)
    waits = asks or (state.open_cycle is not None and state.open_cycle.stopped)
    if what == state.left_open or waits:
        return told
    project.record(LeftOpen(what=what))
    if state.phase is Phase.REFACTOR and (call.again or state.refactor is None or not state.refactor.refused):
        return told
    sent = _send_back(project, call, f"{text}\nIf a person wants it so, say so and stop again.")
    return replace(sent, open=what, notes=notes)


def _ways_to_mend(facts: WorkFacts) -> Iterator[str]:
    """What helps where the tests are the matter; the next move knows nothing of the session's start."""
    if facts.changed:
        place = facts.changed[0].split(": ", 1)[0]
        report = f"tdd test-bug {place}, and why in quotation marks"
        yield f"Put the assertion back; if the test was wrong, report it: {report}."
    if facts.losses or lost_tests(facts.suite) or lost_tests(facts.since_accepted):
        yield "Put back what is lost; only a person gives a test up (`tdd revise`)."


def _reply_to_verdict(project: Project, call: HookCall, judged: Settlement | Deny) -> Reply:
    match judged:
        case Deny() as no:
            return _send_back(project, call, "\n".join(no.lines()))
        case done if done.verdict.accepted:
            return Reply(note=done.footer)
        case done if done.verdict.kind is Kind.BROKEN and call.again:
            # A suite that does not run may be beyond the agent.
            return Reply(note=done.footer)
        case done:
            return _send_back(project, call, _describe_verdict(done))


def _describe_verdict(judged: Settlement) -> str:
    """The reasons that are not in the footer, then the footer, then where the edits are."""
    lines = [*judged.verdict.reasons[1:], judged.footer]
    if judged.aside is not None:
        aside = judged.aside
        lines.append(
            f"The edits are kept: they are set aside as {aside}; in green `tdd restore {aside}` has them."
        )
    return "\n".join(lines)


def _send_back(project: Project, call: HookCall, text: str) -> Reply:
    nth = project.state().sent_back + 1 if call.again else 1
    if nth >= call.most_refusals:
        return Reply(note=f"{text}\nThe agent was sent back {nth - 1} times; the turn stays open.")
    project.record(SentBack(why=text, nth=nth))
    return Reply("send-back", text)
