"""The resident of a Python stack: borrows processes from it for runs, and starts it again when it must
change.

Its key contains all that a process reads when it starts: the interpreter and its start-up files, environment
variables, the room's terms, the project's lock files, and our own code. The resident itself compares the
files of loaded modules before each run.
"""

# `os` calls on `str` instead of pathlib: this is loaded before a head start.
# ruff: noqa: PTH105, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import _socket
import json
import os

from verdigris.core.confinement.needs import surroundings
from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.resident.borrowed_child import Lent, LentChild
from verdigris.execution.room import Room
from verdigris.storage.log.light import digest

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from verdigris.core.settings import Stack
    from verdigris.execution.resident.resident import ResidentProgram
    from verdigris.execution.room import Terms
    from verdigris.runners.reporter.verdigris_reporter.line import MessageLine
    from verdigris.storage.project import Project


WATCHED, LEARNED = "watched", "learned.json"
LOCKS = (
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pylock.toml",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)
ALL, EVERYTHING = "+", "*"
"""Stand for a module's name.

ALL: load no module in advance. EVERYTHING: nor the test tool, which the project hides.
"""
MOST = 20_000
"""The most names of modules that are learned."""


def take(private: str, terms: Terms, argv: Sequence[str], cwd: str) -> tuple[Lent, Room] | None:
    """Borrows a process that waits for its greeting; returns it with its room.

    None if anything is in doubt: a cold run is always right.
    """
    begun = begin(private, terms, argv, cwd)
    if begun is None or begun[0].has_arrived():
        return begun
    begun[0].end()
    begun[1].close()
    return None


def begin(private: str, terms: Terms, argv: Sequence[str], cwd: str) -> tuple[Lent, Room] | None:
    """Does what `take` does, but the process may not have arrived in its room yet, or may never arrive."""
    if not resident.is_allowed() or not borrowed_child.is_possible(terms.way):
        return None
    folder = _folder(private, argv, cwd)
    try:
        with open(os.path.join(folder, WATCHED), "rb") as file:
            watched = os.fsdecode(file.read()).split("\0")
    except OSError:
        return None
    found = resident.connect(folder, _key(terms, argv, cwd, watched))
    if found is None:
        return None
    line, user = found
    try:
        return _ask_for_child(line, user, terms, argv, cwd)
    except OSError:
        line.close()
        return None
    finally:
        os.close(user)


def _ask_for_child(
    line: MessageLine, user: int, terms: Terms, argv: Sequence[str], cwd: str
) -> tuple[Lent, Room]:
    room = Room(terms, argv)
    confining: Any = room.confine
    ours, theirs = _socket.socketpair()
    output, write = os.pipe()
    try:
        if room.opens is not None:
            line.send({"leave": True}, (room.opens.events,))  # the keeper closes it, which takes time
        run = {"kept": borrowed_child.capability_bits(terms.way or ""), "cwd": cwd, "env": room.env}
        maker = borrowed_child.request_run(confining, cwd, user, line, run, (write, theirs.fileno()))
    except BaseException:
        ours.close()
        os.close(output)
        room.close()
        raise
    finally:
        theirs.close()
        os.close(write)
    ours.setblocking(False)
    return Lent(LentChild(output, line), ours, maker), room


def learn(
    private: str,
    program: ResidentProgram,
    *,
    places: Iterable[str],
    own: Callable[[], Iterable[str]],
    names: Sequence[str],
    declined: str = "",
) -> None:
    """Call it after a run: starts a resident for the next run that loads the same modules in advance.

    `places`: folders of installed packages. `own`: top-level names that the project has itself. `names`: the
    installed modules that the run loaded. `declined`: the module because of which the run was declined.
    """
    terms, argv, cwd = program.terms, program.argv, program.cwd
    if not resident.is_allowed() or not borrowed_child.is_possible(terms.way):
        return
    folder = _folder(private, argv, cwd)
    watched = _watched_paths(argv, cwd, terms.root, places)
    key = _key(terms, argv, cwd, watched)
    known = _read_learned(folder, key)
    known["refused"] = {**known["refused"], **_read_refused(folder, key)}
    if declined:
        known["declined"] = sorted({*known["declined"], declined.partition(".")[0]})
    fresh = [name for name in names if name not in set(known["names"])]
    if EVERYTHING in known["declined"] and not declined:
        return
    if not fresh and not declined and _is_serving(folder, key):
        return
    known["names"] = [*known["names"], *fresh][:MOST]
    load = [] if ALL in known["declined"] else resident.without_refused(known["names"], known["refused"])
    if not _write_learned(folder, known, watched):
        return
    if resident.is_running(folder):
        resident.end(folder)
    if EVERYTHING in known["declined"]:
        return
    greeting = {"load": load, "own": sorted({*own(), *known["declined"]})}
    resident.ensure(resident.Resident(folder, key, program, greeting=greeting))


def _folder(private: str, argv: Sequence[str], cwd: str) -> str:
    import zlib

    tool = "-".join(argv[2:]) or "usual"
    return resident.folder_of(private, f"{tool}-{zlib.crc32(os.fsencode(cwd)):08x}")


def _is_serving(folder: str, key: str) -> bool:
    return resident.is_running(folder) and resident.read_note(folder).get("key") == key


def _write_learned(folder: str, known: Mapping[str, Any], watched: Sequence[str]) -> bool:
    """Writes what was learned; returns whether that worked."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - see above
        _write(os.path.join(folder, LEARNED), json.dumps(known).encode("ascii"))
        _write(os.path.join(folder, WATCHED), os.fsencode("\0".join(watched)))
    except OSError:
        return False
    return True


def _key(terms: Terms, argv: Sequence[str], cwd: str, watched: Sequence[str]) -> str:
    env = surroundings(os.environ, terms.given, home="", tmp="")
    variables = (f"{name}={text}" for name, text in sorted(env.items()))
    required = (path for folder in dict.fromkeys((terms.root, cwd)) for path in _requirements(folder))
    stamps = (f"{path} {resident.stamp_of(path)}" for path in (*watched, *required))
    words = (*terms.words(), *argv, cwd, *variables, "", *stamps)
    return digest(os.fsencode("\0".join(words)))


def _watched_paths(argv: Sequence[str], cwd: str, root: str, places: Iterable[str]) -> list[str]:
    """Files and folders that change with the environment or with our reporter."""
    python, bootstrap = argv[0], argv[1]
    paths = [
        python,
        os.path.realpath(python),
        os.path.join(os.path.dirname(os.path.dirname(python)), "pyvenv.cfg"),
    ]
    reporter = os.path.dirname(bootstrap)
    ours = os.path.join(reporter, "verdigris_reporter")
    for folder in (reporter, ours, os.path.join(ours, "cases"), os.path.join(ours, "resident")):
        paths += [os.path.join(folder, name) for name in _names(folder) if name.endswith(".py")]
    for folder in places:
        paths.append(folder)
        paths += [
            os.path.join(folder, name) for name in _names(folder) if name.endswith((".pth", ".egg-link"))
        ]
    for folder in dict.fromkeys((root, cwd)):
        paths += [os.path.join(folder, name) for name in LOCKS]
    return paths


def _requirements(folder: str) -> Iterator[str]:
    """Requirement files, by any usual name; a new one counts too."""
    for name in _names(folder):
        if name.startswith("requirements"):
            path = os.path.join(folder, name)
            yield path
            yield from (os.path.join(path, inner) for inner in _names(path))


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read_learned(folder: str, key: str) -> dict[str, Any]:
    """What earlier runs learned about this environment; empty if the environment has changed since."""
    try:
        with open(os.path.join(folder, LEARNED), encoding="ascii") as file:
            known = json.loads(file.read())
        if known["key"] == key:
            return known  # type: ignore[no-any-return]  # ours, in a folder of ours
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {"key": key, "names": [], "refused": {}, "declined": []}


def _read_refused(folder: str, key: str) -> dict[str, str]:
    told = resident.read_note(folder)
    return dict(told.get("refused") or {}) if told.get("key") == key else {}


def _write(path: str, data: bytes) -> None:
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(data)
    os.replace(fresh, path)


_USUAL = ("src", "lib", "python", "tests", "test")


def learn_from(
    project: Project,
    stack: Stack,
    program: ResidentProgram,
    *,
    packages: Sequence[str],
    installed: Mapping[str, Any] | None,
    declined: Mapping[str, Any] | None,
) -> None:
    """Learns from the reporter's messages: `installed` lists modules, `declined` says why a run
    was declined.
    """
    learn(
        str(project.repo.private),
        program,
        places=packages,
        own=lambda: own_names(str(project.root), program.cwd, stack.source),
        names=[name for name in (installed or {}).get("names", ()) if isinstance(name, str)],
        declined="" if declined is None else str(declined.get("module") or EVERYTHING),
    )


def own_names(root: str, cwd: str, sources: Sequence[str]) -> set[str]:
    """Top-level names of the project's modules, in every folder from which it is imported."""
    tops = dict.fromkeys((root, cwd))
    folders = [*tops, *(f"{top}/{name}" for top in tops for name in (*_USUAL, *sources))]
    return {name.partition(".")[0] for folder in folders for name in _modules(folder)} - {""}


def _modules(folder: str) -> list[str]:
    try:
        return [
            entry.name
            for entry in os.scandir(folder)
            if entry.is_dir() or entry.name.endswith((".py", ".so"))
        ]
    except OSError:
        return []
