"""Reports which files a run opens and executes, at once: before code in them could prevent the report.

It listens to the interpreter's own audit events, in every run alike. A file of the worktree is reported with
the nearest file of the project that asked for it, a file of the environment only by its path.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from . import audit_events  # noqa: TID252 - the package has another name when injected
from .code_loading import INSTALLED, OwnFiles  # noqa: TID252 - same
from .outside import HEARD, OutsideReads  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable


_CODE = (".py", ".pyc", ".pyd", ".so", ".pth", ".zip", ".egg")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_MOST = 20_000
"""The most files that are reported."""
_RUNS_CODE = frozenset(("exec", "eval", "compile", "__import__", "setattr", "delattr"))
_RUNNERS = ("runpy", "importlib", "imp", "os", "posix", "subprocess", "sys", "code", "ctypes", "marshal")
_FRAMEWORK = ("_pytest", "pytest", "unittest", "gc", "types")
_MAKERS: dict[str, set[tuple[str, int]]] = {}
"""For code that is in no file, by its name (`<string>`): the files and lines that executed it."""
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - start-up time


class OpenedFiles:
    """Listens and reports. `send` is the channel's: it writes at once, so nobody can take a report back."""

    def __init__(self, worktree: str, send: Callable[..., None]) -> None:
        self._inside = OwnFiles(worktree)
        own = (os.path.dirname(_HERE), os.environ.get("HOME", ""), os.environ.get("TMPDIR", ""))  # noqa: PTH120
        self._own = tuple(f"{folder}/" for folder in own if folder)
        self._outside = OutsideReads(self._inside, self._own, send)
        self._send = send
        self._told: set[tuple[str, ...]] = set()
        self._handlers: dict[str, Callable[[Any], None]] = {
            "open": self._on_open,
            "exec": self._on_exec,
            "import": self._on_library,
            "ctypes.dlopen": self._on_extension,
            "function.__new__": self._on_code_made,
            "pickle.find_class": self._on_pickle_lookup,
            "os.rename": self._on_rename,
        }

    def start(self) -> None:
        self.report_loaded()
        self._outside.start()
        audit_events.listen(
            {**{event: partial(self._outside.hear, event) for event in HEARD}, **self._handlers}
        )

    def report_loaded(self) -> None:
        """Reports the environment's modules that are loaded: some may be older than the run."""
        paths = []
        for module in list(sys.modules.values()):
            for name in ("__file__", "__cached__"):
                path = getattr(module, name, None)
                if isinstance(path, str) and self._is_below(path) and ("", path) not in self._told:
                    self._told.add(("", path))
                    paths.append(path)
        if paths:
            self._send("below", paths=paths)

    def _on_open(self, args: Any) -> None:
        name, mode, flags = args
        if isinstance(name, int) or (flags or 0) & _FOLDER:
            return
        path = _absolute(name)
        if not self._inside.has(path):
            self._report_below(path)
            if (flags or 0) & os.O_CREAT:
                self._outside.note_writing(path)
            else:
                self._outside.note(path)
        elif (flags or 0) & _WRITES or set(mode or "r") & set("wax+"):
            self._report("wrote", path, "")
        elif not path.endswith(".pyc"):
            self._report("read", path, self._asker()[0])

    def _on_exec(self, args: Any) -> None:
        name = getattr(args[0], "co_filename", "<")
        path = "" if name.startswith("<") else _absolute(name)
        frame = sys._getframe(2)  # noqa: SLF001 - as `inspect` would, without its loading
        caller = _file_of(frame)
        if not path and len(_MAKERS) < _MOST:
            _MAKERS.setdefault(name, set()).add((caller, frame.f_lineno))
        if self._inside.has(caller):
            self._report("made", caller, self._asker()[1])
        elif path and not self._inside.has(path):
            self._report_below(path)
        elif path:
            self._report("executed", _existing_path(path, self._inside.roots), self._asker()[0])

    def _on_rename(self, args: Any) -> None:
        path = _absolute(args[1])
        if self._inside.has(path):
            self._report("wrote", path, "")

    def _on_library(self, args: Any) -> None:
        if args[1]:
            self._on_extension((args[1],))

    def _on_extension(self, args: Any) -> None:
        if not args[0]:
            return
        path = _absolute(args[0])
        if self._inside.has(path):
            self._report("executed", path, self._asker()[0])
        else:
            self._report_below(path)

    def _on_code_made(self, _args: Any) -> None:
        caller = _file_of(sys._getframe(2))  # noqa: SLF001 - same
        if self._inside.has(caller):
            self._report("made", caller, self._asker()[1])

    def _on_pickle_lookup(self, args: Any) -> None:
        module, name = args
        first = module.partition(".")[0]
        if first in _FRAMEWORK or first in _RUNNERS or (first == "builtins" and name in _RUNS_CODE):
            asker, at = self._asker()
            if asker:
                self._report("made", asker, at)

    def _asker(self) -> tuple[str, str]:
        """The nearest file of the project on the stack, as a relative path, without and with its line."""
        frame: Any = sys._getframe(2)  # noqa: SLF001 - same
        while frame is not None:
            path = _file_of(frame)
            if self._inside.has(path):
                relative = self._relative(path)
                return relative, f"{relative}:{frame.f_lineno}"
            frame = frame.f_back
        return "", ""

    def _report(self, how: str, path: str, by: str) -> None:
        relative = self._relative(path)
        told = (how, relative, by)
        if relative and told not in self._told and len(self._told) < _MOST:
            self._told.add(told)
            self._send("file", how=how, path=relative, by=by)

    def _report_below(self, path: str) -> None:
        if self._is_below(path) and ("", path) not in self._told and len(self._told) < _MOST:
            self._told.add(("", path))
            if path.endswith(".pyc"):
                self._told.add(("", _source_of(path)))
            self._send("below", paths=[path])

    def _is_below(self, path: str) -> bool:
        """Whether a file is code outside the project; our own files and those the run made do not count."""
        return path.endswith(_CODE) and not self._inside.has(path) and not path.startswith(self._own)

    def _relative(self, path: str) -> str:
        return self._inside.relative(os.path.normpath(path))


def maker_of(name: str) -> tuple[str, int] | None:
    """The file and line that executed the code of this name; None if several files did so."""
    makers = sorted(_MAKERS.get(name, ()))
    return makers[0] if len({file for file, _ in makers}) == 1 else None


def _absolute(name: Any) -> str:
    return os.path.abspath(os.fsdecode(name))  # noqa: PTH100 - start-up time


def _source_of(cached: str) -> str:
    """The source of a byte code file: it need not be reported too."""
    folder, _, name = cached.rpartition("/__pycache__/")
    return f"{folder}/{name.partition('.')[0]}.py"


def _file_of(frame: Any) -> str:
    name: str = frame.f_code.co_filename
    return name if name.startswith(("/", "<")) else _absolute(name)


def _existing_path(path: str, roots: tuple[str, ...]) -> str:
    """The path itself, or for code in an archive the path of the archive."""
    at = path
    while at.startswith(roots) and not os.path.lexists(at):
        at = os.path.dirname(at)  # noqa: PTH120 - same
    return at if os.path.isfile(at) else path  # noqa: PTH113 - same


RUNNER = ("unittest", "pytest", "_pytest", "pluggy", "iniconfig", "packaging")
_PATH = list(sys.path)
"""`sys.path` from before any code of the project could change it."""


def module_files(settings: dict[str, Any]) -> dict[str, list[str]]:
    """Which files the loaded modules come from.

    `inside`: files below the worktree. `outside`: a text `FILE instead of PATH` for each module that the
    project has and that was loaded from elsewhere, and for each module of the test runner that was loaded
    from the project. The latter is fine if the environment has no copy of it but a link to the project (an
    editable install): then the project is the runner.
    """
    root = os.path.realpath(settings["worktree"]) + "/"
    inside: set[str] = set()
    outside: set[str] = set()
    folders: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == "__main__":
            continue
        path = _real_path(file, folders)
        if path.startswith(root) and not path.startswith(INSTALLED):
            inside.add(path[len(root) :])
            if name.split(".")[0] in RUNNER and _has_other_copy(name.split(".")[0], root):
                outside.add(f"{path[len(root) :]} instead of the installed {name}")
        elif not _is_standard(path):
            own = _own_file(name, root, settings["sources"])
            if own is not None:
                outside.add(f"{path} instead of {own}")
    return {"inside": sorted(inside), "outside": sorted(outside)}


def _real_path(file: str, folders: dict[str, str]) -> str:
    """The same as `os.path.realpath`, but for many files of few folders: it resolves each folder once."""
    folder, _, name = file.rpartition("/")
    if not folder or name in {"", ".", ".."}:
        return os.path.realpath(file)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    path = f"{folders[folder]}/{name}"
    return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114 - start-up time


def _has_other_copy(name: str, root: str) -> bool:
    """Whether the environment has a copy of the package outside the project."""
    others = [entry for entry in _PATH if not _is_below(entry, root) or f"{entry}/".startswith(INSTALLED)]
    found = PathFinder.find_spec(name, others)
    return found is not None and not _is_below(found.origin or root, root)


def _is_below(path: str, root: str) -> bool:
    real = os.path.realpath(path) + "/"
    return real.startswith(root) and not real.startswith(INSTALLED)


def _own_file(name: str, root: str, sources: list[str]) -> str | None:
    """The project's own file of a module that was loaded from elsewhere, if it has one."""
    module = name.replace(".", "/")
    for source in sources:
        for end in (".py", "/__init__.py"):
            own = f"{source}/{module}{end}" if source else module + end
            if os.path.isfile(root + own):  # noqa: PTH113 - start-up time, as everywhere here
                return own
    return None


_LIBRARY = os.path.realpath(os.path.dirname(os.__file__)) + "/"  # noqa: PTH120 - start-up time


def _is_standard(path: str) -> bool:
    return path.startswith(_LIBRARY) and "-packages/" not in path
