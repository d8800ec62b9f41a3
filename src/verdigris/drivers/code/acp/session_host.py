"""The sessions of one editor: opens them, works on their prompts, and tells the editor what happens.

Everything here runs in the main thread, called by the `Worker`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from acp import schema
from acp.helpers import update_agent_message_text, update_current_mode
from acp.schema import StopReason

from verdigris.core.errors import UserError, VerdigrisError
from verdigris.drivers.code.acp.updates import ConversationReplay, Narration, Update, stop_reason
from verdigris.drivers.code.commands import Dialogue
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.session_file import find_session, read_entries
from verdigris.drivers.code.session_start import SessionOptions, begin_session, open_session
from verdigris.drivers.code.tools.dispatch import EDITING
from verdigris.drivers.code.tools.workbench import Workbench
from verdigris.drivers.happenings import Happening, Watcher
from verdigris.storage.calls.open_calls import refusal
from verdigris.storage.repository import find_repository

_ONCE, _ALWAYS, _NO = "once", "always", "no"


class Editor(Protocol):
    """The editor, as the main thread calls it; both methods wait until the editor has it."""

    def tell(self, session: str, update: Update) -> None: ...

    def ask_permission(
        self, session: str, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str:
        """The option that a person chose; empty if nobody did."""
        ...


@dataclass(eq=False)
class HostedSession:
    name: str
    root: Path
    dialogue: Dialogue
    narration: Narration
    held: ExitStack
    """Holds the worktree; closed while another session has it."""
    open: bool = True
    begun: bool = False

    @property
    def session(self) -> Session:
        return self.dialogue.session

    def rest(self) -> None:
        if self.open:
            self.open = False
            self.held.close()


class SessionHost:
    def __init__(self, options: SessionOptions, log: Watcher, editor: Editor) -> None:
        self.sessions: dict[str, HostedSession] = {}
        self._options, self._log, self._editor = options, log, editor

    # -- opening and closing ------------------------------------------------------------------

    def open(self, folder: Path, resume: str | None = None, *, replays: bool = False) -> HostedSession:
        repo = find_repository(folder)
        if (no := refusal(str(repo.private))) is not None:
            raise UserError(no.reason, hint=no.next)
        if resume is not None and find_session(repo, resume) != resume:
            raise UserError(f"there is no session {resume!r} in {repo.root}.", hint="session/new begins one")
        hosted = self._enter(repo.root, resume)
        self.sessions[hosted.name] = hosted
        if replays:
            session = hosted.session
            replay = ConversationReplay(session.bench).tell(
                read_entries(session.file.path), session.dispatcher.verdicts()
            )
            self._tell(hosted, replay)
        return hosted

    def _enter(self, root: Path, resume: str | None) -> HostedSession:
        """Opens a session. An idle session of ours in the same worktree is closed until its next prompt."""
        for other in self.sessions.values():
            if other.root == root:
                other.rest()
        entered: list[HostedSession] = []

        def watch(happening: Happening) -> None:
            self._log(happening)
            for hosted in entered:
                self._tell(hosted, hosted.narration.tell(happening))

        def ask(tool: str, _: str) -> bool:
            return self._ask_person(entered[0], tool)

        with ExitStack() as held:
            opened = open_session(root, watch, replace(self._options, resume=resume), ask_person=ask)
            session = held.enter_context(opened)
            narration = Narration(session)
            entered.append(
                HostedSession(session.file.name, root, Dialogue(session), narration, held.pop_all())
            )
        return entered[0]

    def _take_up(self, hosted: HostedSession) -> None:
        """Reopens a session that was closed for another; keeps its permissions and notes."""
        if not hosted.open:
            permission, again = hosted.session.dispatcher.permission, self._enter(hosted.root, hosted.name)
            again.session.dispatcher.permission = permission
            hosted.dialogue.session = again.session
            hosted.narration, hosted.held, hosted.open = again.narration, again.held, True

    def forget(self, hosted: HostedSession) -> None:
        self.sessions.pop(hosted.name, None)
        hosted.rest()

    def close(self) -> None:
        for hosted in list(self.sessions.values()):
            self.forget(hosted)

    # -- a prompt -----------------------------------------------------------------------------

    def work_on(self, hosted: HostedSession, blocks: Sequence[Any]) -> StopReason:
        """Limits of turns and time count per prompt, those of tokens and money per session."""
        self._take_up(hosted)
        session, words = hosted.session, read_prompt(blocks, hosted.session.bench)
        if not hosted.begun and not words.startswith("/"):
            hosted.begun = True
            begin_session(session)
        session.turns, session.begun = 0, time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, session.limits.seconds)
            answer = hosted.dialogue.take(words)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._tell(hosted, hosted.narration.close_calls("It was cancelled."))
        if (ended := answer.ended) is None:
            lines = ("the editor closes a session",) if answer.ends else answer.lines
            self._tell(hosted, [update_agent_message_text("\n".join(lines) or "done")])
            return "end_turn"
        if ended.outcome == End.PROVIDER:
            raise VerdigrisError(ended.text, hint=ended.why or None)
        return stop_reason(End(ended.outcome), session.finish, session.limits, session.spent())

    def _tell(self, hosted: HostedSession, updates: Iterable[Update]) -> None:
        for update in updates:
            self._editor.tell(hosted.name, update)

    def _ask_person(self, hosted: HostedSession, tool: str) -> bool:
        dispatcher, call = hosted.session.dispatcher, next(iter(hosted.narration.calls.values()))
        every = "all edits" if tool in EDITING else "this command"
        options = [
            schema.PermissionOption(option_id=_ONCE, name="Allow once", kind="allow_once"),
            schema.PermissionOption(
                option_id=_ALWAYS, name=f"Allow {every} in this session", kind="allow_always"
            ),
            schema.PermissionOption(option_id=_NO, name="Reject", kind="reject_once"),
        ]
        shown = schema.ToolCallUpdate(
            tool_call_id=call.name,
            title=call.title,
            kind=call.kind,
            status="pending",
            content=list(call.proposal()),
            locations=call.locations(),
            raw_input=call.given,
        )
        chosen = self._editor.ask_permission(hosted.name, shown, options)
        if chosen == _ALWAYS and tool in EDITING:
            dispatcher.permission = replace(dispatcher.permission, mode="edits")
            self._tell(hosted, [update_current_mode("edits")])
        elif chosen == _ALWAYS:
            command = str(call.given.get("command", "")).strip()
            dispatcher.permission = replace(
                dispatcher.permission, allow=(*dispatcher.permission.allow, command)
            )
        return chosen in {_ONCE, _ALWAYS}


def read_prompt(blocks: Sequence[Any], bench: Workbench) -> str:
    """The person's words, followed by the attached files that models may see."""
    words, files = [], []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                words.append(block.text)
            case schema.ResourceContentBlock():
                words.append(_name_resource(block.uri, bench)[0])
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
                name, shown = _name_resource(resource.uri, bench)
                words.append(name)
                files.append(f"{name}:\n{bench.answer(resource.text)}" if shown else f"{name} is not shown.")
            case _:
                raise UserError(
                    "a prompt holds text and text files, and nothing else.", hint="send it as text"
                )
    task = "\n\n".join(("".join(words).strip(), *files)).strip()
    if not task:
        raise UserError("the prompt is empty.", hint="say what is to be done")
    return task.encode(errors="replace").decode()  # a lone surrogate cannot be stored


def _name_resource(uri: str, bench: Workbench) -> tuple[str, bool]:
    """Its name as in the tools, and whether models may see its text."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri, True
    path = bench.locate(unquote(parts.path))
    return (path, True) if isinstance(path, str) else (unquote(parts.path), False)
