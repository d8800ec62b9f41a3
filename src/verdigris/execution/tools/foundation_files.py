"""Lists files of the foundation: of the interpreter, and of the programs that a stack's commands start."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from verdigris.core.settings import Stack
from verdigris.execution.tools.interpreter import InterpreterPlaces

RUNNER = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli")
"""The modules of pytest, and of the packages that it needs to start."""
CUSTOM = ("sitecustomize", "usercustomize")
_START_UP = ("__editable__", *(f"{name}." for name in CUSTOM))
_CODE = (".py", ".so", ".pyd", ".pyc")
_PLUGINS = "[pytest11]"


TICK = 100_000_000
"""Nanoseconds within which a path may change twice and have the same stamp."""
_KNOWN: dict[tuple[object, ...], tuple[dict[str, tuple[int, ...] | None], frozenset[str]]] = {}
"""Answers of this process, with the stamps of all files and folders that each depends on."""


def interpreter_files(places: InterpreterPlaces, env: Mapping[str, str]) -> frozenset[str]:
    """The files of an interpreter.

    A command asks several times: they are listed again only after a change.
    """
    on_path = tuple(entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry)
    key = (places.prefix, places.library, *places.packages, places.cache_tag, on_path)
    known = _KNOWN.get(key)
    if known is not None and all(_stamp(path) == stamp for path, stamp in known[0].items()):
        return known[1]
    look = _Look()
    found = frozenset(_interpreter_files(look, places, on_path))
    if look.is_settled():
        _KNOWN[key] = look.stamps, found
    return found


def code_folders(places: InterpreterPlaces) -> Iterator[str]:
    """The folders from which an interpreter loads code, as far as they exist."""
    look = _Look()
    yield from (places.prefix, os.path.dirname(os.path.dirname(places.library)))
    for folder in places.packages:
        found = (folder, *_pth_folders(look, folder, look.names(folder)))
        yield from (one for one in found if os.path.isabs(one) and os.path.exists(one))


class _Look:
    """Reads files and folders, and records their stamps before it does."""

    def __init__(self) -> None:
        self.stamps: dict[str, tuple[int, ...] | None] = {}

    def names(self, folder: str) -> list[str]:
        self._record(folder)
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        self._record(folder)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return []
        for entry in entries:
            if entry.is_symlink():
                self._record(entry.path)
        return entries

    def lines(self, file: str) -> list[str]:
        self._record(file)
        try:
            with open(file, encoding="utf-8", errors="surrogateescape") as opened:
                return [line.strip() for line in opened]
        except OSError:
            return []

    def is_settled(self) -> bool:
        """Whether no stamp is recent: within a tick a path may change twice.

        No program can set a change time.
        """
        now = time.time_ns()
        return all(stamp is None or stamp[0] < now - TICK for stamp in self.stamps.values())

    def _record(self, path: str) -> None:
        self.stamps.setdefault(path, _stamp(path))


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_dev, status.st_size


def _interpreter_files(look: _Look, places: InterpreterPlaces, on_path: tuple[str, ...]) -> set[str]:
    found = {f"{places.prefix}/pyvenv.cfg"}
    modules = set(RUNNER)
    started = [*on_path, places.library]
    for folder in places.packages:
        names = look.names(folder)
        found.update(f"{folder}/{n}" for n in names if n.endswith(".pth") or n.startswith(_START_UP))
        modules.update(
            _plugins(look, (f"{folder}/{n}/entry_points.txt" for n in names if n.endswith("-info")))
        )
        started += [folder, *_pth_folders(look, folder, names)]
    for folder in started:
        found.update(f"{folder}/{name}{end}" for name in CUSTOM for end in (".py", "/__init__.py"))
    found.update(_code(look, f"{places.library}/unittest", places.cache_tag))
    for folder in places.packages:
        for module in modules:
            found.update(_code(look, f"{folder}/{module}", places.cache_tag))
    return found


def _plugins(look: _Look, files: Iterable[str]) -> Iterator[str]:
    """Top-level modules of the plugins that pytest loads by itself."""
    for file in files:
        within = False
        for line in look.lines(file):
            if line.startswith("["):
                within = line == _PLUGINS
            elif within and "=" in line:
                yield line.partition("=")[2].strip().split(":")[0].split(".")[0]


def _pth_folders(look: _Look, folder: str, names: Iterable[str]) -> Iterator[str]:
    """Folders that `.pth` files add to the path: start-up modules are searched there too."""
    for name in names:
        if name.endswith(".pth"):
            yield from (
                os.path.join(folder, line)
                for line in look.lines(f"{folder}/{name}")
                if line and not line.startswith(("#", "import ", "import\t"))
            )


def package_files(module: str) -> Iterator[str]:
    """The file of a module, or all code of a package, whichever exists."""
    yield from (path for path in (f"{module}.py",) if os.path.isfile(path))
    yield from _package(_Look(), module, "")


def _code(look: _Look, module: str, cache_tag: str) -> Iterator[str]:
    """The file of a module, or all files of a package; byte code only if this interpreter would load it."""
    yield f"{module}.py"
    folder, _, name = module.rpartition("/")
    yield from _caches(look, folder, cache_tag, only=f"{name}.")
    yield from _package(look, module, cache_tag)


def _package(look: _Look, folder: str, cache_tag: str) -> Iterator[str]:
    for entry in look.entries(folder):
        if entry.name == "__pycache__":
            yield from _caches(look, folder, cache_tag) if cache_tag else ()
        elif entry.is_dir():
            yield from _package(look, entry.path, cache_tag)
        elif entry.name.endswith(_CODE):
            yield entry.path


def _caches(look: _Look, folder: str, cache_tag: str, only: str = "") -> Iterator[str]:
    """The cached byte code, without that of pytest's rewritten modules, which a verdict does not read."""
    for name in look.names(f"{folder}/__pycache__"):
        if name.startswith(only) and f".{cache_tag}." in name and "-pytest-" not in name:
            yield f"{folder}/__pycache__/{name}"


_STARTS = re.compile(rb"^(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_SCRIPT = 1 << 14
"""The most bytes of a start script: an installer writes no longer ones."""


def programs(stack: Stack, root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """The programs that a stack's commands name and git does not track, with the package of a script."""
    folder = os.path.normpath(root / stack.root)
    for command in (stack.check, stack.format, stack.verify):
        for word in _words(command or ""):
            found = _find_program(word, folder, environ.get("PATH", os.defpath))
            if found is not None:
                yield found
                yield from _started_modules(Path(found))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace(";", " ; "), comments=True)
    except ValueError:
        return command.split()


def _find_program(word: str, folder: str, path: str) -> str | None:
    if "/" not in word:
        return shutil.which(word, path=path)
    found = os.path.normpath(os.path.join(folder, word))
    return found if os.path.isfile(found) and os.access(found, os.X_OK) else None


def _started_modules(program: Path) -> Iterator[str]:
    """The modules that an environment's script, such as `mypy`, imports first."""
    try:
        with program.open("rb") as file:
            text = file.read(_SCRIPT)
    except OSError:
        return
    if not text.startswith(b"#!"):
        return
    for packages in program.parent.parent.glob("lib/python*/site-packages"):
        for name in {found.decode() for found in _STARTS.findall(text)}:
            yield from package_files(f"{packages}/{name}")
