"""When an agent wants to stop: settle what it edited, and send it back where that was not accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.events import SentBack
from verdigris.core.state import Phase
from verdigris.core.targets import owners
from verdigris.core.verdict import Kind
from verdigris.gates.calls import PASS, Reply
from verdigris.kernel.callers import ended
from verdigris.kernel.observe import difference
from verdigris.kernel.opencall import alive
from verdigris.kernel.settle import settle
from verdigris.kernel.tripwire import before_call

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.gates.calls import Call
    from verdigris.kernel.project import Project
    from verdigris.kernel.settle import Settlement


def stop(project: Project, call: Call) -> Reply:
    """A stop without new edits is a question to the person: the turn stays open, and it is no strike."""
    tripped = before_call(project, agent_alive=alive(str(project.repo.private)))
    state = project.state()
    if state.phase is not Phase.GREEN or not _edited(project, state):
        return Reply(note=tripped.text)
    return _settled(project, call)


def subagent_stop(project: Project, call: Call) -> Reply:
    """Its own claims are settled; where others' are open in the same turn, they all wait for the last."""
    private = str(project.repo.private)
    before_call(project, agent_alive=alive(private))
    ended(private, call.actor.context)
    state = project.state()
    theirs = {claim.by for claim in state.claims.values()}
    if state.phase is not Phase.GREEN or theirs != {call.actor.context} or not _edited(project, state):
        return PASS
    return _settled(project, call)


def _edited(project: Project, state: WorktreeState) -> bool:
    """Whether anything that the claims are about changed since the last settlement."""
    if state.turn is None or state.turn.suspended:
        return False
    since = difference(project, state.turn.judged or state.turn.tree, project.workspace.snapshot())
    claims = state.claims.values()
    return bool(since.source) or any(owners(claims, change.path) for change in since.other)


def _settled(project: Project, call: Call) -> Reply:
    match settle(project):
        case Deny() as no:
            return _sent_back(project, call, "\n".join(no.lines()))
        case settlement if settlement.verdict.accepted:
            return Reply(note=settlement.footer)
        case settlement if settlement.verdict.kind is Kind.BROKEN and call.again:
            # A suite that does not run may be beyond the agent.
            return Reply(note=settlement.footer)
        case settlement:
            return _sent_back(project, call, _told(settlement))


def _told(settlement: Settlement) -> str:
    """The reasons that the footer has no room for, then the footer, then what became of the edits."""
    lines = [*settlement.verdict.reasons[1:], settlement.footer]
    if settlement.aside is not None:
        lines.append(
            f"The turn's source edits are laid aside as {settlement.aside}: nothing of them is lost."
        )
    return "\n".join(lines)


def _sent_back(project: Project, call: Call, text: str) -> Reply:
    nth = project.state().sent_back + 1 if call.again else 1
    if nth >= call.most_refusals:
        return Reply(note=f"{text}\nThe agent was sent back {nth - 1} times; the turn stays open.")
    project.record(SentBack(why=text, nth=nth))
    return Reply("send-back", text)
