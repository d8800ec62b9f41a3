"""The foundation by content hash: cited by the claim, compared at the settlement, cheap by stamps."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

from verdigris.core.commands import IN_PYTHON
from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.kernel.foundation.bytecode import foreign
from verdigris.kernel.foundation.watched import watched
from verdigris.kernel.interpreter import find_interpreter

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.kernel.interpreter import Interpreter
    from verdigris.kernel.project import Project

_TICK = 100_000_000
"""Nanoseconds within which a file may change twice and show one stamp."""


def prepare(project: Project) -> str:
    """The blob that says what the foundation is now; a claim cites it. Without a Python, none."""
    memory = _Memory(project.repo.private / "foundation.json")
    told = json.dumps(_fingerprint(project, _interpreters(project), memory), sort_keys=True)
    digest = hashlib.sha256(told.encode("ascii")).hexdigest()
    if memory.known.get("told") != digest:
        memory.known |= {"told": digest, "blob": project.workspace.blob(told.encode("ascii"))}
        memory.changed = True
    memory.save()
    return str(memory.known["blob"])


def changed(project: Project, blob: str) -> tuple[str, ...]:
    """What is not as it was when `blob` was made; paths below the root are relative to it."""
    data = project.workspace.blob_bytes(blob) if blob else None
    if data is None:
        return ()
    memory = _Memory(project.repo.private / "foundation.json")
    before: dict[str, str] = json.loads(data)
    interpreters = _interpreters(project)
    now = _fingerprint(project, interpreters, memory)
    differing = sorted(path for path in before.keys() | now if before.get(path) != now.get(path))
    caches = [path for path in differing if path.endswith(".pyc")]
    genuine = _genuine(project.root, interpreters, [path for path in caches if path in now], now, memory)
    memory.save()
    # Bytecode that is gone harms nobody, and what Python itself wrote anew neither.
    harmless = genuine.union(path for path in caches if path not in now)
    return tuple(path.removeprefix(f"{project.root}/") for path in differing if path not in harmless)


def _interpreters(project: Project) -> tuple[Interpreter, ...]:
    known = project.repo.private / "interpreters.json"
    found = []
    for stack in project.settings.stacks:
        if stack.runner not in IN_PYTHON:
            continue
        home = project.root / stack.root
        try:
            found.append(find_interpreter(home, project.root, stack.python, os.environ, known))
        except (ConfigError, ToolMissing):
            continue
    return tuple(dict.fromkeys(found))


def _fingerprint(project: Project, interpreters: tuple[Interpreter, ...], memory: _Memory) -> dict[str, str]:
    places = (interpreter.places for interpreter in interpreters)
    paths = frozenset().union(*(watched(place, os.environ) for place in places if place is not None))
    others = [stack for stack in project.settings.stacks if stack.runner not in IN_PYTHON]
    if others:
        from verdigris.kernel.foundation.imported import imported
        from verdigris.kernel.foundation.tools import tool_files

        paths |= frozenset().union(*(tool_files(stack, project.root, os.environ) for stack in others))
        paths |= imported(project, memory.part("imported"))
    return {path: digest for path in paths if (digest := memory.digest(path)) is not None}


def _genuine(
    root: Path,
    interpreters: tuple[Interpreter, ...],
    caches: list[str],
    now: dict[str, str],
    memory: _Memory,
) -> set[str]:
    """Bytecode appears when somebody runs what had none: it counts only where it is not its source's."""
    checked: dict[str, str] = memory.known.setdefault("genuine", {})
    unknown = [path for path in caches if checked.get(path) != now[path]]
    for interpreter in interpreters:
        tag = interpreter.places.cache_tag if interpreter.places else ""
        mine = [path for path in unknown if tag and f".{tag}." in path.rpartition("/")[2]]
        bad = set(foreign(interpreter, mine, root))
        checked |= {path: now[path] for path in mine if path not in bad}
        memory.changed |= bool(mine)
    return {path for path in caches if checked.get(path) == now[path]}


class _Memory:
    """Digests by stamp, so that the usual look is a stat a file; lost, it costs time and nothing else."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.changed = False
        self.known: dict[str, Any] = self._read()
        self._files: dict[str, list[Any]] = self.known.setdefault("files", {})

    def digest(self, path: str) -> str | None:
        try:
            status = os.stat(path)  # noqa: PTH116 - hundreds of them
            stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            row = self._files.get(path)
            if row is not None and row[:4] == stamp:
                return str(row[4])
            with open(path, "rb") as file:  # noqa: PTH123 - as above
                digest = hashlib.sha256(file.read()).hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"unreadable: {error.strerror}"
        if status.st_ctime_ns < time.time_ns() - _TICK:
            self._files[path] = [*stamp, digest]
            self.changed = True
        return digest

    def part(self, name: str) -> dict[str, Any]:
        """What else is worth remembering; it is kept whenever a digest is."""
        found: dict[str, Any] = self.known.setdefault(name, {})
        return found

    def save(self) -> None:
        if not self.changed:
            return
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(self.known), encoding="ascii")
            fresh.replace(self._file)
        except OSError:
            return

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}
