"""Hashes what runs below the tests at the claim, and compares it at the settlement."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.events import Settled, Suspended, Violation
from verdigris.core.verdict import Kind, Verdict
from verdigris.execution.process import Command, run
from verdigris.execution.tools.foundation_files import TICK, interpreter_files, programs
from verdigris.execution.tools.interpreter import Interpreter, find_interpreter
from verdigris.runners.registry import is_in_interpreter
from verdigris.sandbox.child import confine_query, environment_of
from verdigris.storage.repository import head, sandbox_note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.state import Turn
    from verdigris.storage.project import Project


FILE = "foundation.json"
LARGE = 1 << 24
"""Bytes from which on a file is known by its stamp: a library of that size would be read for seconds."""
MOST = 50_000


_SAVED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
"""By file: its stamp, and what this process read from it or saved there. Who takes that out may change it."""
_BLOBS: dict[str, dict[str, str]] = {}
"""The last foundation that was read, by the name of its blob; nobody changes it."""


class DigestMemory:
    def __init__(self, private: Path) -> None:
        self._file = private / FILE
        self.changed = False
        self._stamp = _stamp(self._file)
        stamp, parts = _SAVED.pop(str(self._file), ((), {}))
        self.known: dict[str, Any] = parts if stamp and stamp == self._stamp else self._read()
        self._files: dict[str, list[Any]] = self.part("files")
        self._loaded: dict[str, int] = self.part("loaded")
        self._data: dict[str, int] = self.part("data")

    @property
    def loaded(self) -> frozenset[str]:
        return frozenset(self._loaded)

    @property
    def data(self) -> frozenset[str]:
        return frozenset(self._data)

    def learn(self, paths: Iterable[str], data: Iterable[str] = ()) -> None:
        """Adds what a run loaded, where bytecode counts as its source, and what source read."""
        fresh = {path for path in paths if path not in self._loaded}
        fresh |= {_source_of(path) for path in fresh if path.endswith(".pyc")}
        self._add(self._loaded, fresh)
        self._add(self._data, {path for path in data if path not in self._data})

    def _add(self, known: dict[str, int], fresh: set[str]) -> None:
        if fresh and len(known) + len(fresh) <= MOST:
            known.update(dict.fromkeys(fresh, 1))
            self.changed = True

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Leaves out what is not there; this loop finds what is known by its stamp."""
        digests: dict[str, str] = {}
        rows, look = self._files, os.stat
        for path in paths:
            row = rows.get(path)
            try:
                status = look(path)
                if row is not None and row[:4] == [
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                ]:
                    digests[path] = row[4]
                    continue
                digest = self._digest(path, status)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                digest = f"unreadable: {error.strerror}"
            digests[path] = digest
        return digests

    def _digest(self, path: str, status: os.stat_result) -> str:
        stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        if status.st_size >= LARGE:
            return f"stamp: {stamp}"
        if not stat.S_ISREG(status.st_mode):
            return f"stamp: {stamp[:2]}"
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of them
            digest = hashlib.sha256(file.read()).hexdigest()
        if path in self._data:
            digest = f"{digest} {status.st_mtime_ns}"  # code may ask for the time
        if status.st_ctime_ns < time.time_ns() - TICK:
            self._files[path] = [*stamp, digest]
            self.changed = True
        return digest

    def part(self, name: str) -> dict[str, Any]:
        """What else is worth remembering; it is kept whenever a digest is."""
        if not isinstance(self.known.get(name), dict):
            self.known[name] = {}
        part: dict[str, Any] = self.known[name]
        return part

    def save(self) -> None:
        if self.changed:
            self._write()
        if self._stamp:
            _SAVED.clear()  # a command has one project
            _SAVED[str(self._file)] = self._stamp, self.known

    def _write(self) -> None:
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(self.known), encoding="ascii")
            self._stamp = _stamp(fresh)
            fresh.replace(self._file)
        except OSError:
            self._stamp = ()

    def _read(self) -> dict[str, Any]:
        try:
            parts = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return parts if isinstance(parts, dict) else {}


def _stamp(file: Path) -> tuple[int, ...]:
    """Empty where there is no file. Without the change time, since a file gets a new one with its name."""
    try:
        status = file.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ino, status.st_size


def _source_of(cached: str) -> str:
    folder, _, name = cached.rpartition("/__pycache__/")
    return f"{folder}/{name.partition('.')[0]}.py" if folder else cached


def came_after(path: str, since: int) -> bool:
    """Compares with the change time that the system itself sets: no program can set it.

    If that moment lies ahead, the clock was put back, and nobody can tell.
    """
    try:
        return os.stat(path).st_ctime_ns > since or since > time.time_ns()  # noqa: PTH116 - as above
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
    with confine_query(root, sandbox_note(root), reads=reads) as confine:
        command = Command(words, interpreter.path.parent, os.environ, confine=confine)
        finished = run(command, timeout=_SECONDS)
    rows = (line.split() for line in finished.output.splitlines())
    good = {int(fields[0]) for fields in rows if fields[1:] == [b"1"]}
    return tuple(path for number, path in enumerate(caches) if number not in good)


def prepare(project: Project, loaded: Iterable[str] = (), data: Iterable[str] = ()) -> str:
    """The blob that says what the foundation is now; a claim cites it. Without a Python, none.

    `loaded`: what a run has just loaded from outside the project. It belongs to it from now on. `data`: what
    source read there.
    """
    memory = DigestMemory(project.repo.private)
    memory.learn(loaded, data)
    firm = _firm(project, _interpreters(project), memory)
    digests = json.dumps(memory.digests(firm | memory.loaded | memory.data), sort_keys=True)
    digest = hashlib.sha256(digests.encode("ascii")).hexdigest()
    if memory.known.get("told") != digest:
        memory.known |= {"told": digest, "blob": project.workspace.blob(digests.encode("ascii"))}
        memory.changed = True
    memory.save()
    return str(memory.known["blob"])


def find_changes(
    project: Project, blob: str, since: int = 0, loaded: Iterable[str] = (), data: Iterable[str] = ()
) -> tuple[str, ...]:
    """What is not as it was when `blob` was made; paths below the root are relative to it.

    `since`: when that was. What runs load that was not known then has changed if it is newer. `loaded`,
    `data`: by the run that is looked at; data that it did not read does not count.
    """
    before = _read_blob(project, blob) if blob else None
    if before is None:
        return ()
    memory = DigestMemory(project.repo.private)
    read = frozenset(data)
    memory.learn(loaded, read)
    idle = memory.data - memory.loaded - read
    before = {path: digest for path, digest in before.items() if path not in idle}
    interpreters = _interpreters(project)
    firm = _firm(project, interpreters, memory)
    known = memory.loaded | read
    later = {path for path in known - firm - before.keys() if since and came_after(path, since)}
    if since:
        from verdigris.execution.tools.node_packages import new_package_code

        later |= new_package_code(project, since) - before.keys()
    now = memory.digests(before.keys() | firm | later)
    differing = sorted({path for path, _ in before.items() ^ now.items()}) if now != before else []
    caches = [path for path in differing if path.endswith(".pyc")]
    genuine = _genuine(project.root, interpreters, [path for path in caches if path in now], now, memory)
    memory.save()
    # Missing bytecode does no harm, nor does bytecode that Python itself wrote again.
    harmless = genuine.union(path for path in caches if path not in now)
    return tuple(path.removeprefix(f"{project.root}/") for path in differing if path not in harmless)


def _read_blob(project: Project, blob: str) -> dict[str, str] | None:
    """None if it is lost. One command asks several times, and what has this name is always the same."""
    cached = _BLOBS.get(blob)
    if cached is None:
        data = project.workspace.blob_bytes(blob)
        if data is None:
            return None
        cached = json.loads(data)
        _BLOBS.clear()
        _BLOBS[blob] = cached
    return cached


def is_known_since(project: Project, path: str, since: int) -> bool:
    """Whether runs have loaded it before, and it did not change since."""
    return path in DigestMemory(project.repo.private).loaded and not came_after(path, since)


def _interpreters(project: Project) -> tuple[Interpreter, ...]:
    cache = project.repo.private / "interpreters.json"
    interpreters = []
    for stack in project.settings.stacks:
        if not is_in_interpreter(stack.runner):
            continue
        home = project.root / stack.root
        try:
            chosen = find_interpreter(home, project.root, stack.python, os.environ, cache, stack.runner)
            interpreters.append(chosen)
        except (ConfigError, ToolMissing):
            continue
    return tuple(dict.fromkeys(interpreters))


def _firm(project: Project, interpreters: tuple[Interpreter, ...], memory: DigestMemory) -> frozenset[str]:
    """What counts whether or not a run has loaded it, and when it appears."""
    places = (interpreter.places for interpreter in interpreters)
    paths = frozenset().union(
        *(interpreter_files(place, os.environ) for place in places if place is not None)
    )
    paths |= {str(interpreter.path) for interpreter in interpreters}
    stacks = project.settings.stacks
    paths |= frozenset().union(*(programs(stack, project.root, os.environ) for stack in stacks))
    others = [stack for stack in stacks if not is_in_interpreter(stack.runner)]
    if others:
        from verdigris.execution.tools.node_packages import asserted_packages
        from verdigris.execution.tools.registry import tool_files

        paths |= frozenset().union(*(tool_files(stack, project.root, os.environ) for stack in others))
        paths |= asserted_packages(project, memory.part("imported"))
    return paths


def _genuine(
    root: Path,
    interpreters: tuple[Interpreter, ...],
    caches: list[str],
    now: dict[str, str],
    memory: DigestMemory,
) -> set[str]:
    """New bytecode that matches its source: it appears when a module without bytecode is run."""
    checked: dict[str, str] = memory.part("genuine")
    unknown = [path for path in caches if checked.get(path) != now[path]]
    for interpreter in interpreters:
        tag = interpreter.places.cache_tag if interpreter.places else ""
        mine = [path for path in unknown if tag and f".{tag}." in path.rpartition("/")[2]]
        bad = set(foreign(interpreter, mine, root))
        checked |= {path: now[path] for path in mine if path not in bad}
        memory.changed |= bool(mine)
    return {path for path in caches if checked.get(path) == now[path]}


_FEW = 3
_FOLDERS = (
    re.compile(r"^(.*?(?:site-packages|dist-packages|node_modules)/(?:@[^/]+/)?[^/]+)/"),
    re.compile(r"^(.*?(?:site-packages|dist-packages|node_modules|lib/python[\d.]+))/"),
)
"""A package, and the environment that holds it."""
CHANGED = "changed since the claim; the tests run on it"


def judge_foundation(
    project: Project, turn: Turn, tree: str, loaded: Iterable[str] = (), data: Iterable[str] = ()
) -> Verdict | None:
    """None while all is as it was frozen. Otherwise `tdd test` of the claims resumes; no edit is touched.

    `loaded`, `data`: by the verdict's run, where it was made.
    """
    paths = find_changes(project, turn.foundation, turn.founded, loaded, data)
    if not paths:
        return None
    reasons = tuple(f"{what} {CHANGED}" for what in fold_paths(paths))
    now = head(project.repo)
    project.record(
        *(Violation(path=path, what=CHANGED) for path in fold_paths(paths)),
        Settled(turn=turn.id, verdict=Kind.TAMPERED, tree=tree, reasons=reasons),
        Suspended(turn=turn.id, tree=turn.tree, commit=now.commit, on=now.branch, why=reasons[0]),
        sync=True,
    )
    return Verdict(Kind.TAMPERED, reasons)


def fold_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Many files of one package are told as one, many packages as their folder: an upgrade changes them."""
    shown = {path: path for path in paths}
    for folder in _FOLDERS:
        above = {what: match[1] for what in set(shown.values()) if (match := folder.match(f"{what}/"))}
        number = Counter(above.values())
        shown = {
            path: above[what] if number[above.get(what, "")] > _FEW else what for path, what in shown.items()
        }
    count = Counter(shown.values())
    return tuple(f"{what}: {count[what]} files" if count[what] > 1 else what for what in count)
