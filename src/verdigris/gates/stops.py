"""When an agent stops: settles its edits, sends it back where that fails, and tells what is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.checks.unproven_commits import describe, remedy
from verdigris.checks.weakening import lost
from verdigris.core.actions import Deny
from verdigris.core.events import LeftOpen, SentBack
from verdigris.core.policy.reds import owners
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.gates.calls import PASS, Reply
from verdigris.storage.open_calls import alive, forget_caller
from verdigris.turns.claim_check import following
from verdigris.turns.refactor import end
from verdigris.turns.settle import settle
from verdigris.turns.tripwire.calls import before_call
from verdigris.turns.tripwire.watch import recall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import WorktreeState
    from verdigris.gates.calls import Call
    from verdigris.storage.project import Project
    from verdigris.turns.refactor import RefactorResult
    from verdigris.turns.settle import Settlement

MANY = 20
"""Unclaimed edits that are told one by one."""


def stop(project: Project, call: Call) -> Reply:
    """Nothing stays open unseen: edits are settled, a refactor is ended, and what is left is told.

    A stop without new edits is a question to the person: the turn stays open, and it is no strike.
    """
    tripped = before_call(project, agent_alive=alive(str(project.repo.private)))
    state = project.state()
    match state.phase:
        case Phase.GREEN if _has_edits(project, state):
            reply = _reply_to_verdict(project, call, settle(project))
        case Phase.REFACTOR if _has_restructured(project, state):
            reply = _reply_to_verdict(project, call, end(project))
        case _:
            reply = _left_open(project, call, state)
    if reply.kind != "pass":
        return reply
    reports = () if state.phase is Phase.RED else _unproven(project)
    bugs = (
        f"test-bug {bug.id} is open: {', '.join(bug.places)}: {bug.why}" for bug in state.test_bugs.values()
    )
    return Reply(note="\n".join(filter(None, (tripped.text, reply.note, *reports, *bugs))))


def subagent_stop(project: Project, call: Call) -> Reply:
    """Its own claims are settled; where others' are open in the same turn, they all wait for the last."""
    private = str(project.repo.private)
    before_call(project, agent_alive=alive(private))
    forget_caller(private, call.actor.context)
    state = project.state()
    theirs = {claim.by for claim in state.claims.values()}
    if state.phase is not Phase.GREEN or theirs != {call.actor.context} or not _has_edits(project, state):
        return PASS
    return _reply_to_verdict(project, call, settle(project))


def _has_edits(project: Project, state: WorktreeState) -> bool:
    """Whether anything that the claims are about changed since the last settlement."""
    if state.turn is None or state.turn.suspended:
        return False
    since = difference(project, state.turn.judged or state.turn.tree, project.workspace.snapshot())
    claims = state.claims.values()
    return bool(since.source) or any(owners(claims, change.path) for change in since.other)


def _has_restructured(project: Project, state: WorktreeState) -> bool:
    """Whether an open refactor changed anything since it was begun or last judged."""
    refactor = state.refactor
    if refactor is None:
        return False
    since = difference(project, refactor.judged or refactor.tree, project.workspace.snapshot())
    return bool(since.protected)


def _left_open(project: Project, call: Call, state: WorktreeState) -> Reply:
    """The agent hears of it once; whatever is the same at its next stop is for the person to know."""
    what = tuple(_describe_unfinished(project, state))
    if not what:
        return PASS
    text = "\n".join(("Left at this stop:", *what, f"next: {following(project, state)}"))
    if what == state.left_open:
        return Reply(note=text)
    project.record(LeftOpen(what=what))
    if state.phase is Phase.REFACTOR:
        return Reply(note=text)
    return _sent_back(project, call, f"{text}\nIf a person wants it so, say so and stop again.")


def _describe_unfinished(project: Project, state: WorktreeState) -> Iterator[str]:
    match state.phase:
        case Phase.GREEN if state.turn is not None and state.turn.suspended:
            claimed = ", ".join(state.claims)
            yield f"the turn that claims {claimed} is suspended: it is not finished, and proves nothing"
        case Phase.REFACTOR:
            yield "a refactor is open: `tdd refactor end` has it judged, `tdd refactor abort` gives it up"
        case Phase.RED:
            yield from _unproven(project)
            tree = project.workspace.snapshot()
            yield from (f"the suite lost something: {loss}" for loss in lost(project, state, tree).blocking)
            edits = find_unclaimed(project, state.ground or tree, tree, limit=MANY)
            yield from (f"no claim covers {edit.path}:{edit.line}: {edit.why}" for edit in edits)


def _unproven(project: Project) -> tuple[str, ...]:
    """What HEAD holds as no tree did, with the way out."""
    memory = recall(project)
    if memory is None or not memory.unproven:
        return ()
    return (*describe(memory.unproven), f"to mend HEAD: {remedy(memory.unproven)}")


def _reply_to_verdict(project: Project, call: Call, judged: Settlement | RefactorResult | Deny) -> Reply:
    match judged:
        case Deny() as no:
            return _sent_back(project, call, "\n".join(no.lines()))
        case done if done.verdict.accepted:
            return Reply(note=done.footer)
        case done if done.verdict.kind is Kind.BROKEN and call.again:
            # A suite that does not run may be beyond the agent.
            return Reply(note=done.footer)
        case done:
            return _sent_back(project, call, _describe_verdict(done))


def _describe_verdict(judged: Settlement | RefactorResult) -> str:
    """The reasons that the footer has no room for, then the footer, then what became of the edits."""
    lines = [*judged.verdict.reasons[1:], judged.footer]
    if judged.aside is not None:
        lines.append(f"The edits are set aside as {judged.aside}: nothing of them is lost.")
    return "\n".join(lines)


def _sent_back(project: Project, call: Call, text: str) -> Reply:
    nth = project.state().sent_back + 1 if call.again else 1
    if nth >= call.most_refusals:
        return Reply(note=f"{text}\nThe agent was sent back {nth - 1} times; the turn stays open.")
    project.record(SentBack(why=text, nth=nth))
    return Reply("send-back", text)
