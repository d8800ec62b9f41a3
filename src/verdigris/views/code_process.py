"""Runs the screen of a session in a process of its own, and exchanges messages with it.

The session stays in the main thread of the first process, where an interrupt ends whatever it waits for: a
model, a test, a command. The screen has its own process, so that it answers keys at any time.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import HarnessError
from verdigris.drivers import happenings as w
from verdigris.drivers.code.commands import CommandAnswer, Dialogue
from verdigris.drivers.code.facts import Changes, read_changes, read_facts
from verdigris.drivers.code.session import OutOfTime, Session
from verdigris.drivers.code.tools.dispatch import READING
from verdigris.views.code import Cancel, Earlier, PermissionAsked, ScreenMessage

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


SCREEN_FAILED = 70
_MAIN = threading.main_thread().ident or 0
_TELLING = (w.Asked, w.ToolCalled, w.TurnJudged, w.PlanShown, w.SessionEnded, w.SessionBegan)
"""After one of these the panes may have changed."""


class ScreenLink:
    """The session's end of the channel. Threads read and write, so that an interrupt cuts no message."""

    def __init__(self, channel: Connection) -> None:
        self.gone = threading.Event()
        """The screen has ended."""
        self._channel = channel
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[ScreenMessage | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._lock = threading.Lock()
        self._under_way = False
        """A line was read and is not answered yet, so there is something to interrupt."""
        self._interrupted = 0.0
        self._session: Session | None = None
        self._changes = Changes()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._writer.start()

    def _read(self) -> None:
        try:
            while True:
                message = self._channel.recv()
                if isinstance(message, Cancel):
                    self._interrupt()
                    continue
                with self._lock:
                    self._under_way = self._under_way or isinstance(message, str)
                self._inbox.put(message)
        except (EOFError, OSError):
            self.leave()
            self._interrupt()

    def _write(self) -> None:
        with suppress(OSError):
            while (message := self._outbox.get()) is not None:
                self._channel.send(message)

    def _interrupt(self) -> None:
        """Interrupts the main thread, but not twice within a second: it may be cleaning up."""
        with self._lock:
            if self._under_way and time.monotonic() - self._interrupted > 1:
                self._interrupted = time.monotonic()
                signal.pthread_kill(_MAIN, signal.SIGINT)

    def leave(self) -> None:
        """Stops waiting for lines."""
        self.gone.set()
        self._inbox.put(None)

    def close(self) -> None:
        self._outbox.put(None)
        self._writer.join(timeout=5)
        # Closing alone would not wake the reader.
        with socket.socket(fileno=os.dup(self._channel.fileno())) as line, suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
        self._reader.join(timeout=5)
        self._channel.close()

    # -- for the session ---------------------------------------------------------------

    def watch(self, happening: w.Happening) -> None:
        self._outbox.put(happening)
        if self._session is not None and isinstance(happening, _TELLING):
            if not isinstance(happening, w.Asked) and getattr(happening, "tool", "") not in READING:
                self._changes = read_changes(self._session)
            self._outbox.put(read_facts(self._session, self._changes))

    def ask_person(self, tool: str, arguments: str) -> bool:
        self._outbox.put(PermissionAsked(tool, arguments))
        return self._inbox.get() is True

    def converse(self, dialogue: Dialogue) -> bool:
        """Takes lines until the session ends; returns whether a person ended it."""
        answer = CommandAnswer(())
        while True:
            self._answer(answer)
            if answer.ends or self.gone.is_set():
                return answer.ends
            try:
                answer = dialogue.take(self._next_line())
                self._finish_line()
            except KeyboardInterrupt as why:
                self._finish_line()
                told = "the time is over (--timeout)" if isinstance(why, OutOfTime) else "cancelled"
                answer = CommandAnswer((told,))

    def _finish_line(self) -> None:
        """Drops what a person sent before an interrupt and the session had not read."""
        with self._lock:
            self._under_way, self._interrupted = False, 0.0
        while not self._inbox.empty():
            self._inbox.get()

    def attend(self, session: Session) -> None:
        self._session = session
        if said := session.file.record.conversation.said:
            self._outbox.put(Earlier(said))

    def _answer(self, answer: CommandAnswer) -> None:
        if self._session is not None:
            self._changes = read_changes(self._session)
            self._outbox.put(read_facts(self._session, self._changes))
        self._outbox.put(answer)

    def _next_line(self) -> str:
        """The next line; skips answers to questions that an interrupt ended."""
        while not isinstance(message := self._inbox.get(), str):
            if self.gone.is_set():
                return ""
        return message


@contextmanager
def open_screen() -> Iterator[ScreenLink]:
    """Forks before the session has locks or threads; the screen appears with its first message."""
    ours, theirs = Pipe()
    child = os.fork()
    if child == 0:
        ours.close()
        _run_screen(theirs)
    theirs.close()
    link, status = ScreenLink(ours), 0
    try:
        yield link
    finally:
        link.close()
        _, status = os.waitpid(child, 0)
    if status:
        raise HarnessError(
            "the screen failed; the session is kept.", hint="`tdd code --continue --plain` goes on"
        )


def _run_screen(channel: Connection) -> None:
    """Runs in the child. It ignores signals of the terminal: the session's process handles them."""
    code = SCREEN_FAILED
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        from verdigris.views.code_screen import CodeScreen

        threading.Thread(target=_end_with_terminal, daemon=True).start()
        screen = CodeScreen(channel, channel.recv())
        screen.run(mouse=False)
        code = screen.return_code or 0
    except EOFError:
        code = 0  # the session did not begin, and its own process says why
    except BaseException:  # noqa: BLE001 - the parent's stack must not run here
        traceback.print_exc()
    finally:
        os._exit(code)


def _end_with_terminal() -> None:
    """Ends the screen's process when its terminal is gone.

    If the terminal controls no session, no signal says so: as in a container whose client hung up. The screen
    would read the end of its input again and again, and take a whole core.
    """
    waiting = select.poll()
    waiting.register(0, 0)  # hang-ups and errors are always reported
    if any(event & select.POLLHUP for _, event in waiting.poll()):
        os._exit(0)
