"""How a session ends, and the account of what happened since its last task."""

from __future__ import annotations

from enum import StrEnum

from verdigris.core.events import Accepted, RefactorEnded, Settled
from verdigris.core.policy.done import judge_end
from verdigris.core.value import value
from verdigris.drivers.code.session_file import SessionRecord
from verdigris.drivers.code.tools.law import events_of
from verdigris.gates.calls import Reply
from verdigris.storage.project import Project


class End(StrEnum):
    """How a session ends."""

    DONE = "done"
    """Something changed, and nothing is open."""
    ANSWERED = "answered"
    """Nothing changed, and the model did not try to change anything."""
    REFUSED = "refused-by-the-law"
    """The model stopped with something open, or the repairs of one red are used up."""
    NOT_DONE = "not-done"
    """Nothing changed although the model tried, or it gave up."""
    LIMIT = "limit-reached"
    PROVIDER = "no-model"
    INTERRUPTED = "interrupted"


EXIT_CODES = {
    End.DONE: 0,
    End.ANSWERED: 0,
    End.REFUSED: 1,
    End.NOT_DONE: 1,
    End.LIMIT: 3,
    End.PROVIDER: 69,
    End.INTERRUPTED: 130,
}


@value
class SessionResult:
    end: End
    text: str
    """The model's summary, or what happened instead, for a person."""
    why: str = ""
    open: tuple[str, ...] = ()
    """What is left open, a line each."""
    notes: tuple[str, ...] = ()
    """What a person should know beside it."""


@value
class Account:
    """What happened since the last task."""

    files: tuple[str, ...] = ()
    """Files that differ from then."""
    accepted: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    """Of accepting verdicts."""


def conclude(summary: str, reply: Reply, account: Account, *, tried: bool, failed: bool) -> SessionResult:
    """The result of a stop. `tried`: the model tried to edit something; `failed`: its last edit failed."""
    if reply.open:
        why = "; ".join(reply.open)
        text = f"{summary}\n\nNot accepted: {why}".strip()
        return SessionResult(End.REFUSED, text, why, reply.open, reply.notes)
    end = End(judge_end(summary, changed=account.files, accepted=account.accepted, tried=tried))
    if end is not End.NOT_DONE:
        return SessionResult(end, summary or "The model has nothing to say.", notes=reply.notes)
    why = "nothing changed" + ("; the last edit failed" if failed else "")
    return SessionResult(end, f"{summary}\n\nNot done: {why}".strip(), why, notes=reply.notes)


def read_account(project: Project, record: SessionRecord) -> Account:
    """What happened since the last task, without what a person undid."""
    if not record.begun or not record.begun[-1].tree:
        return Account()
    task, now = record.begun[-1], project.workspace.snapshot()
    changed = project.workspace.changes(task.tree, now) if now != task.tree else ()
    accepted: dict[str, None] = {}
    concerns: dict[str, None] = {}
    for event in events_of(project, record, task.after):
        match event:
            case Accepted():
                accepted[event.test_id] = None
            case Settled(verdict="accepted") | RefactorEnded(verdict="accepted"):
                concerns |= dict.fromkeys(event.concerns)
    return Account(tuple(change.path for change in changed), tuple(accepted), tuple(concerns))
