"""The process outside of a shell call: passes signals on, and has each `tdd` served by a broker."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import _socket
import os
import select
import sys

from verdigris.storage.open_calls import is_inside

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_FORWARDED = (
    _signal.SIGINT,
    _signal.SIGTERM,
    _signal.SIGHUP,
    _signal.SIGQUIT,
    _signal.SIGUSR1,
    _signal.SIGUSR2,
)
_FROM_TERMINAL = (_signal.SIGINT, _signal.SIGQUIT)
_WAITING = 64
_CREDENTIALS = 12
"""Bytes: process, user, group."""


def open_socket(path: str) -> _socket.socket:
    """Listens by way of its folder: a socket's own path may have a hundred bytes only."""
    folder, name = os.path.split(path)
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    held = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    made.bind(f"/proc/self/fd/{held}/{name}")
    os.close(held)
    made.listen(_WAITING)
    return made


class Outside:
    """Ends when the call has, with its exit code."""

    def __init__(
        self,
        tdd: Sequence[str],
        root: str,
        child: int,
        socket: _socket.socket,
        subagent: str,
        namespace: str,
    ) -> None:
        self.tdd = tdd
        self.namespace = namespace
        """That of the call's processes; empty if they are not confined."""
        self.root = root
        self.subagent = subagent
        self.child = child
        self.listening = socket
        self.on_terminal = _in_foreground()

    def wait(self) -> int:
        woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, _ignore_signal)
        for number in _FORWARDED:
            if _signal.getsignal(number) is not _signal.SIG_IGN:
                _signal.signal(number, self._forward)
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        poll.register(self.listening.fileno(), select.POLLIN)
        while (code := self._reap_child()) is None:
            for ready, _ in poll.poll():
                if ready == woken:
                    os.read(woken, 4096)
                else:
                    self._serve()
        return code

    def is_alone(self) -> bool:
        """Whether no process of the call lives: what others leave behind has become our child."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    def _reap_child(self) -> int | None:
        code = None
        while code is None:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return None
            if pid == self.child:
                code, self.child = os.waitstatus_to_exitcode(status), 0
        return code if code >= 0 else 128 - code

    def _forward(self, number: int, _: object) -> None:
        if self.child and not (self.on_terminal and number in _FROM_TERMINAL):  # a terminal tells the group
            os.kill(self.child, number)

    def _serve(self) -> None:
        descriptor, _ = self.listening._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - what `socket.accept` calls
        if self._is_ours(descriptor) and os.fork() == 0:
            self._broker(descriptor)
        os.close(descriptor)

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the other end is a process of this call, as the kernel says."""
        if not self.namespace:
            return True
        peer = _socket.socket(fileno=descriptor)
        credentials = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS)
        peer.detach()
        return is_inside(int.from_bytes(credentials[:4], sys.byteorder), self.namespace)

    def _broker(self, descriptor: int) -> NoReturn:
        """In a session of its own: it learns from its connection that the call was ended."""
        try:
            os.setsid()
            _signal.set_wakeup_fd(-1)
            for number in (*_FORWARDED, _signal.SIGCHLD):
                _signal.signal(number, _signal.SIG_DFL)
            import socket

            from verdigris.gates.broker import ServedCommand, serve

            with socket.socket(fileno=descriptor) as connection:
                serve(connection, ServedCommand(self.tdd, self.root, os.environ, self.subagent))
        finally:
            os._exit(0)


def _ignore_signal(*_: object) -> None:
    """Does nothing: that a child ended is read from the wakeup pipe."""


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
