"""Reports what code of the project reads outside the worktree, the interpreter and its libraries.

The interpreter's audit events tell of files that are opened, folders that are listed, databases, sockets and
words of commands. They do not tell who asks for a file's time or size: those functions of `os` are wrapped.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .code_loading import OwnFiles  # noqa: TID252 - the package has another name when injected


_ASKING = ("stat", "lstat", "access", "readlink")
_OF_TIME = ("", "stat", "lstat", "getmtime", "getctime", "getatime", "getsize")
_ENTRIES_OR_TIME = frozenset((*_OF_TIME, "listdir", "scandir", "iterdir", "walk", "glob", "rglob"))
"""Functions of libraries; the empty name: the project asks without one."""
_LISTING = frozenset(("os.listdir", "os.scandir", "sqlite3.connect"))
_STARTING = frozenset(("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"))
HEARD = _LISTING | _STARTING | {"socket.connect", "os.mkdir"}
_SYSTEM = tuple(
    f"/{name}/"
    for name in ["usr", "lib", "lib64", "bin", "sbin", "etc", "opt", "dev", "sys", "nix", "System", "Library"]
)
_SHARED = "/dev/shm/"  # noqa: S108 - where POSIX shared memory is
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - start-up time
_PATH = tuple(f"{entry.rstrip('/')}/" for entry in (*sys.path, sys.prefix, sys.base_prefix) if entry)
"""Where the interpreter and its libraries lie, before any code of the project could change it."""


class OutsideReads:
    """`own`: folders of this run. `send`: as for `OpenedFiles`."""

    def __init__(self, inside: OwnFiles, own: Iterable[str], send: Callable[..., None]) -> None:
        self._inside = inside
        libraries = (entry for entry in _PATH if not any(root.startswith(entry) for root in inside.roots))
        self._quiet = (*inside.roots, *own, *libraries, *_SYSTEM, f"/proc/{os.getpid()}/")
        self._send = send
        self._told: set[tuple[str, str]] = set()
        self._fresh: set[str] = set()
        self._busy = False

    def start(self) -> None:
        for name in _ASKING:
            self._wrap(name)

    def _wrap(self, name: str) -> None:
        asked: Any = getattr(os, name)

        @functools.wraps(asked)
        def ask(path: Any, *args: Any, **options: Any) -> Any:
            if not isinstance(path, int) and options.get("dir_fd") is None and not self._busy:
                self.note(path)
            return asked(path, *args, **options)

        for module in (os, sys.modules[os.name]):
            setattr(module, name, ask)
        for able in (
            os.supports_dir_fd,
            os.supports_fd,
            os.supports_follow_symlinks,
            os.supports_effective_ids,
        ):
            if asked in able:
                able.add(ask)

    def hear(self, event: str, args: Any) -> None:
        """`args`: those of an audit event that is not about one opened file."""
        if event in _LISTING:
            self.note("." if args[0] is None else args[0])
        elif event == "os.mkdir":
            self.note_writing(args[0])
        elif event == "socket.connect":
            self.note(args[1] if isinstance(args[1], (str, bytes)) else 0)
        else:
            for word in _words_of(args):
                self.note(word)

    def note_writing(self, name: Any) -> None:
        """What a run makes itself says nothing new when it reads it."""
        path = _absolute(name)
        if not self._is_quiet(path) and not os.path.lexists(path):
            self._fresh.add(path)

    def note(self, name: Any) -> None:
        if isinstance(name, int) or (isinstance(name, str) and "/.." not in name and self._is_quiet(name)):
            return
        try:
            path = self._resolve(_absolute(name))
            if path:
                self._report(path, sys._getframe(1))  # noqa: SLF001 - as `inspect` would, without its loading
        except (OSError, ValueError, TypeError, RecursionError):
            return  # the name is invalid: the call that used it fails by itself

    def _is_quiet(self, path: str) -> bool:
        return path.startswith(self._quiet) and not path.startswith(_SHARED)

    def _resolve(self, path: str) -> str:
        """The real path of what lies outside and is there; otherwise empty."""
        if self._busy or self._is_quiet(path) or path in self._fresh:
            return ""
        self._busy = True
        try:
            real = os.path.realpath(path)
            silent = self._is_quiet(f"{real}/") or real in self._fresh or not os.path.lexists(real)
        finally:
            self._busy = False
        return "" if silent else real

    def _report(self, path: str, frame: Any) -> None:
        caller, frame = "", _above(frame)
        while frame is not None:
            file: str = frame.f_code.co_filename
            if not file.startswith("<") and self._inside.has(_absolute(file)):
                break
            if file.startswith((_HERE, "<frozen importlib")):
                return  # we ask ourselves; or a module is loaded, and reported as such
            caller, frame = frame.f_code.co_name, frame.f_back
        if frame is None or (path, file) in self._told or self._is_folder(path, caller):
            return
        self._told.add((path, file))
        by = self._inside.relative(os.path.normpath(_absolute(file)))
        self._send("outside", path=path, by=f"{by}:{frame.f_lineno}")

    def _is_folder(self, path: str, caller: str) -> bool:
        """Whether a library looks for a folder, and asks neither for its entries nor for its time."""
        self._busy = True
        try:
            return caller not in _ENTRIES_OR_TIME and os.path.isdir(path)  # noqa: PTH112
        finally:
            self._busy = False


def _above(frame: Any) -> Any:
    """The frame that called us."""
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def _words_of(args: Any) -> Iterator[str]:
    """The program of a command, its words that may name a file, and the folder that it starts in."""
    words = [word for part in _texts(args) for word in part.split()]
    for word in words[:1]:
        yield from (f"{folder}/{word}" for folder in os.environ.get("PATH", "").split(":") if "/" not in word)
    yield from (word for word in words if "/" in word)


def _texts(parts: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from _texts(part)
        elif isinstance(part, (str, bytes)):
            yield os.fsdecode(part)


def _absolute(name: Any) -> str:
    return os.path.abspath(os.fsdecode(name))  # noqa: PTH100 - start-up time
