"""Remembers file digests by stat, and tells foreign bytecode from bytecode that the interpreter wrote.

It also keeps which files outside the project runs have loaded: those belong to the foundation.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.execution.process import Command, run
from verdigris.sandbox.child import apart, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.execution.interpreter import Interpreter


FILE = "foundation.json"
TICK = 100_000_000
"""Nanoseconds within which a file may change twice and show one stamp."""
LARGE = 1 << 24
"""Bytes from which on a file is known by its stamp: a library of that size would be read for seconds."""
MOST = 50_000


class DigestMemory:
    def __init__(self, private: Path) -> None:
        self._file = private / FILE
        self.changed = False
        self.known: dict[str, Any] = self._read()
        self._files: dict[str, list[Any]] = self.part("files")
        self._loaded: dict[str, int] = self.part("loaded")

    @property
    def loaded(self) -> frozenset[str]:
        return frozenset(self._loaded)

    def learn(self, paths: Iterable[str]) -> None:
        """Adds what a run loaded; bytecode counts as its source."""
        fresh = {path for path in paths if path not in self._loaded}
        fresh |= {_source_of(path) for path in fresh if path.endswith(".pyc")}
        if fresh and len(self._loaded) + len(fresh) <= MOST:
            self._loaded.update(dict.fromkeys(fresh, 1))
            self.changed = True

    def digest(self, path: str) -> str | None:
        try:
            status = os.stat(path)  # noqa: PTH116 - thousands of them
            stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            row = self._files.get(path)
            if row is not None and row[:4] == stamp:
                return str(row[4])
            if status.st_size >= LARGE:
                return f"stamp: {stamp}"
            with open(path, "rb") as file:  # noqa: PTH123 - as above
                digest = hashlib.sha256(file.read()).hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"unreadable: {error.strerror}"
        if status.st_ctime_ns < time.time_ns() - TICK:
            self._files[path] = [*stamp, digest]
            self.changed = True
        return digest

    def part(self, name: str) -> dict[str, Any]:
        """What else is worth remembering; it is kept whenever a digest is."""
        if not isinstance(self.known.get(name), dict):
            self.known[name] = {}
        found: dict[str, Any] = self.known[name]
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


def _source_of(cached: str) -> str:
    folder, _, name = cached.rpartition("/__pycache__/")
    return f"{folder}/{name.partition('.')[0]}.py" if folder else cached


def came_after(path: str, since: int) -> bool:
    """Compares with the change time that the system itself sets: no program can set it."""
    try:
        return os.stat(path).st_ctime_ns > since  # noqa: PTH116 - as above
    except OSError:
        return False


_SECONDS = 120
_CHECK = """
import importlib.util, marshal, os, sys
def genuine(cached):
    with open(cached, "rb") as file:
        data = file.read()
    source = importlib.util.source_from_cache(cached)
    with open(source, "rb") as file:
        text = file.read()
    stamp = int(os.stat(source).st_mtime) & 0xFFFFFFFF, len(text) & 0xFFFFFFFF
    found = tuple(int.from_bytes(data[at:at + 4], "little") for at in (8, 12))
    if data[:4] != importlib.util.MAGIC_NUMBER or (data[4:8] == bytes(4) and found != stamp):
        return True  # not what Python would load
    level = cached.rpartition(".opt-")[2][:-4] if ".opt-" in cached else 0
    return marshal.loads(data[16:]) == compile(text, source, "exec", dont_inherit=True, optimize=int(level))
for number, cached in enumerate(sys.argv[1:]):
    try:
        good = genuine(cached)
    except Exception:
        good = False
    print(number, int(good))
"""


def foreign(interpreter: Interpreter, caches: Sequence[str], root: Path) -> tuple[str, ...]:
    """Bytecode files that are not what the interpreter makes of the source beside them."""
    if not caches:
        return ()
    words = (str(interpreter.path), "-I", "-S", "-B", "-c", _CHECK, *caches)
    reads = (*environment_of(interpreter.path), *(Path(path).parent for path in caches))
    with apart(root, reads=reads) as confine:
        command = Command(words, interpreter.path.parent, os.environ, confine=confine)
        finished = run(command, timeout=_SECONDS)
    told = (line.split() for line in finished.output.splitlines())
    good = {int(fields[0]) for fields in told if fields[1:] == [b"1"]}
    return tuple(path for number, path in enumerate(caches) if number not in good)
