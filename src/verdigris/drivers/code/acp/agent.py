"""The agent that an editor speaks to: the protocol's methods, which a `SessionHost` carries out."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from acp import PROTOCOL_VERSION, AgentSideConnection, RequestError, schema
from acp.helpers import update_current_mode

from verdigris import __version__
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.drivers.code.acp.connection import (
    Interrupted,
    StdioTransport,
    Worker,
    WorkItem,
    take_over_stdio,
)
from verdigris.drivers.code.acp.session_host import HostedSession, SessionHost
from verdigris.drivers.code.acp.updates import Update, commands_update, mode_named, modes_of
from verdigris.drivers.code.session_file import describe_sessions
from verdigris.drivers.code.session_start import SessionOptions
from verdigris.drivers.happenings import Happening, Noted, Watcher
from verdigris.storage.repository import find_repository

T = TypeVar("T")
INVALID_PARAMS, INTERNAL, NOT_FOUND = -32602, -32603, -32002
INTERRUPTED = 130
_SECONDS = 10.0
"""How long the connection may take to close after the last session."""
_TITLE = 80
_UNREAD = 10_000
"""How many events may wait to be written to standard error; later ones are dropped."""
_LAST_WORDS = 2.0
"""Seconds to write the rest of the log."""


class EditorAgent:
    """The SDK calls its methods in the connection's thread; a `RequestError` is an answer."""

    def __init__(self, options: SessionOptions, log: Watcher) -> None:
        self.worker = Worker()
        self.host = SessionHost(options, log, self)
        self._log = log
        self.cut_off = False
        """The client went away while a prompt was under way."""
        self._initialized = False
        self._loop: asyncio.AbstractEventLoop
        self._client: AgentSideConnection

    def on_connect(self, connection: AgentSideConnection) -> None:
        self._client, self._loop = connection, asyncio.get_running_loop()

    async def leave(self) -> None:
        """The client is gone: interrupts the prompt under way."""
        self.cut_off = self.worker.prompt is not None
        await self.worker.cancel_prompt()

    # -- the protocol's methods ---------------------------------------------------------------

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        """Answers with version 1, whichever the client offers; a client that cannot speak it disconnects."""
        del protocol_version
        self._initialized = True
        capabilities = schema.AgentCapabilities(
            load_session=True,
            prompt_capabilities=schema.PromptCapabilities(image=False, audio=False, embedded_context=True),
            mcp_capabilities=schema.McpCapabilities(http=False, sse=False),
            session_capabilities=schema.SessionCapabilities(
                list=schema.SessionListCapabilities(),
                resume=schema.SessionResumeCapabilities(),
                close=schema.SessionCloseCapabilities(),
            ),
        )
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            auth_methods=[],
            agent_info=schema.Implementation(name="verdigris", title="Verdigris", version=__version__),
        )

    async def new_session(self, cwd: str, **given: Any) -> schema.NewSessionResponse:
        hosted = await self._open(cwd, given, self.host.open)
        return schema.NewSessionResponse(session_id=hosted.name, modes=_modes(hosted))

    async def load_session(self, cwd: str, session_id: str, **given: Any) -> schema.LoadSessionResponse:
        hosted = await self._open(cwd, given, lambda folder: self.host.open(folder, session_id, replays=True))
        return schema.LoadSessionResponse(modes=_modes(hosted))

    async def resume_session(self, cwd: str, session_id: str, **given: Any) -> schema.ResumeSessionResponse:
        hosted = await self._open(cwd, given, lambda folder: self.host.open(folder, session_id))
        return schema.ResumeSessionResponse(modes=_modes(hosted))

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        """Lists the sessions of a worktree, or of every worktree with a session here."""
        self._require_initialized()
        roots = [_folder(cwd)] if cwd is not None else [s.root for s in self.host.sessions.values()]
        sessions = []
        with answer_errors():
            for repo in dict.fromkeys(map(find_repository, roots)):
                for name, changed, task in await asyncio.to_thread(describe_sessions, repo):
                    when = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
                    cwd, title = str(repo.root), task[:_TITLE]
                    sessions.append(
                        schema.SessionInfo(session_id=name, cwd=cwd, title=title, updated_at=when)
                    )
        return schema.ListSessionsResponse(sessions=sessions)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        hosted = self._find(session_id)
        await self.worker.cancel_prompt(session_id)
        await self._work(WorkItem(lambda: self.host.forget(hosted)))
        return schema.CloseSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Takes effect at once, also during a prompt. No mode overrides the law."""
        hosted, mode = self._find(session_id), mode_named(mode_id)
        if mode is None:
            raise RequestError(INVALID_PARAMS, f"There is no mode {mode_id!r}: ask, edits and all are there.")
        dispatcher = hosted.session.dispatcher
        dispatcher.permission = replace(dispatcher.permission, mode=mode)
        await self._client.session_update(session_id, update_current_mode(mode))
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> schema.PromptResponse:
        """Works on a prompt. A cancelled one ends as `cancelled`, whatever else happened."""
        hosted = self._find(session_id)
        self._require_idle()
        item = WorkItem(lambda: self.host.work_on(hosted, prompt), session_id)
        try:
            reason = await self._work(item)
        except RequestError:
            if not (item.cancelled or self.worker.ends):
                raise
            reason = "cancelled"
        return schema.PromptResponse(stop_reason="cancelled" if item.cancelled else reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        await self.worker.cancel_prompt(session_id)

    # -- shared parts ----------------------------------------------------------------------

    async def _open(
        self, cwd: str, given: dict[str, Any], opening: Callable[[Path], HostedSession]
    ) -> HostedSession:
        self._require_initialized()
        self._require_idle()
        folder = _folder(cwd)
        if given.get("mcp_servers"):
            self._log(Noted("MCP servers are not used: a session has the tools of the law, and no others"))
        hosted = await self._work(WorkItem(lambda: opening(folder)))
        # A task runs after the answer to this request is written: only then does the client know the session.
        self._offer = self._loop.create_task(self._client.session_update(hosted.name, commands_update()))
        return hosted

    async def _work(self, item: WorkItem[T]) -> T:
        with answer_errors():
            return await asyncio.wrap_future(self.worker.submit(item))

    def _find(self, name: str) -> HostedSession:
        self._require_initialized()
        if name not in self.host.sessions:
            names = ", ".join(self.host.sessions) or "none"
            raise RequestError(
                NOT_FOUND,
                f"There is no session {name!r} here (open: {names}): session/load brings back an earlier.",
            )
        return self.host.sessions[name]

    def _require_initialized(self) -> None:
        if not self._initialized:
            raise RequestError(INVALID_PARAMS, "The first request of a client is initialize.")

    def _require_idle(self) -> None:
        """Refuses a second prompt: the sessions of a connection share a process."""
        if (busy := self.worker.prompt) is not None:
            raise RequestError(
                INVALID_PARAMS,
                f"Session {busy.session} is at work on a prompt: wait for its end, or cancel it.",
            )

    # -- the editor, for the host -------------------------------------------------------------

    def tell(self, session: str, update: Update) -> None:
        self._wait_for(self._client.session_update(session, update))

    def ask_permission(
        self, session: str, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str:
        answer = self._wait_for(self._client.request_permission(session, call, options))
        return str(getattr(answer.outcome, "option_id", "")) if answer is not None else ""

    def _wait_for(self, answer: Coroutine[Any, Any, T]) -> T | None:
        """None if the client is gone, or its answer is invalid."""
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._loop).result()
        except (RequestError, ConnectionError, ValueError, RuntimeError) as error:
            self._log(Noted(f"the editor did not answer as it should: {error}"))
            return None


@contextmanager
def answer_errors() -> Iterator[None]:
    """Turns our errors into answers to a request: what happened, and what to do."""
    try:
        yield
    except Interrupted:
        raise RequestError(INTERNAL, "It was cut off: session/load goes on with the session.") from None
    except VerdigrisError as error:
        code = INVALID_PARAMS if isinstance(error, UserError) else INTERNAL
        words = f"{error.message} — {error.hint}" if error.hint else error.message
        raise RequestError(code, words, {"hint": error.hint}) from None


def _modes(hosted: HostedSession) -> schema.SessionModeState:
    return modes_of(hosted.session.dispatcher.permission.mode)


def _folder(cwd: str) -> Path:
    if "\0" in cwd or not Path(cwd).is_absolute() or not Path(cwd).is_dir():
        raise RequestError(
            INVALID_PARAMS, f"cwd has to be the absolute path of a folder that exists: {cwd!r}."
        )
    return Path(cwd)


class BackgroundLog:
    """Writes in its own thread: an editor that does not read standard error must not block a session."""

    def __init__(self, log: Watcher) -> None:
        self._log = log
        self._waiting: queue.Queue[Happening | None] = queue.Queue(_UNREAD)
        self._thread = threading.Thread(target=self._write, name="acp-log", daemon=True)
        self._thread.start()

    def __call__(self, happening: Happening) -> None:
        with suppress(queue.Full):
            self._waiting.put_nowait(happening)

    def _write(self) -> None:
        while (happening := self._waiting.get()) is not None:
            self._log(happening)

    def close(self) -> None:
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
            self._thread.join(_LAST_WORDS)


def serve_editor(options: SessionOptions, log: Watcher) -> int:
    """Serves until the client disconnects or a signal comes; returns 130 if that interrupted a prompt."""
    source, sink = take_over_stdio()
    written = BackgroundLog(log)
    agent = EditorAgent(options, written)
    transports: list[StdioTransport] = []

    async def connect() -> None:
        try:
            transports.append(StdioTransport(source, sink, leave=agent.leave))
            connected = cast("Any", agent)  # it has only the methods that its capabilities name
            connection = AgentSideConnection(
                connected, transports[0], listening=False, use_unstable_protocol=True
            )
            await connection.listen()
            await connection.close()
        finally:
            agent.worker.stop()

    thread = threading.Thread(target=lambda: asyncio.run(connect()), name="acp", daemon=True)
    thread.start()
    agent.worker.run()
    with suppress(RuntimeError):  # its loop is closed already
        for transport in transports:
            transport.end_input()
    thread.join(_SECONDS)
    agent.host.close()
    written.close()
    return INTERRUPTED if agent.worker.ends or agent.cut_off else 0
