"""The resident of a Python stack: borrows processes from it for runs, and starts it again when it must
change.

Its key contains all that a process reads when it starts: the interpreter and its start-up files, environment
variables, the room's terms, the project's lock files, and our own code. The resident itself compares the
files of loaded modules before each run.
"""

from __future__ import annotations

import _socket
import os

from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.resident.borrowed_child import Lent, LentChild
from verdigris.execution.room import Room
from verdigris.sandbox.notes import names_in, replace_file

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from verdigris.execution.resident.resident import ResidentProgram
    from verdigris.execution.room import Terms
    from verdigris.runners.reporter.verdigris_reporter.line import MessageLine


WATCHED, DECLINED = "watched", "declined"
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
    if not resident.can_serve(terms):
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


def keep(private: str, program: ResidentProgram, *, places: Iterable[str], declined: bool) -> None:
    """Call it after a run that no resident made, or that one declined: starts a resident for the next run.

    `places`: folders of installed packages. `declined`: the project hides a module that the test tool loads
    first. Then no resident is started again in this environment.
    """
    terms, argv, cwd = program.terms, program.argv, program.cwd
    if not resident.can_serve(terms):
        return
    folder = _folder(private, argv, cwd)
    watched = _watched_paths(argv, cwd, terms.root, places)
    key = _key(terms, argv, cwd, watched)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if declined:
            replace_file(os.path.join(folder, DECLINED), os.fsencode(key))
        if _is_declined(folder, key):
            resident.end(folder)
            return
        replace_file(os.path.join(folder, WATCHED), os.fsencode("\0".join(watched)))
    except OSError:
        return
    resident.ensure(resident.Resident(folder, key, program))


def _is_declined(folder: str, key: str) -> bool:
    try:
        with open(os.path.join(folder, DECLINED), encoding="ascii") as file:
            return file.read() == key
    except OSError:
        return False


def _folder(private: str, argv: Sequence[str], cwd: str) -> str:
    return resident.folder_at(private, "-".join(argv[2:]) or "usual", cwd)


def _key(terms: Terms, argv: Sequence[str], cwd: str, watched: Sequence[str]) -> str:
    required = (path for folder in dict.fromkeys((terms.root, cwd)) for path in _requirements(folder))
    return resident.key_of(terms, (*argv, cwd), (*watched, *required))


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
        paths += [os.path.join(folder, name) for name in sorted(names_in(folder)) if name.endswith(".py")]
    for folder in places:
        paths.append(folder)
        paths += [
            os.path.join(folder, name)
            for name in sorted(names_in(folder))
            if name.endswith((".pth", ".egg-link"))
        ]
    for folder in dict.fromkeys((root, cwd)):
        paths += [os.path.join(folder, name) for name in LOCKS]
    return paths


def _requirements(folder: str) -> Iterator[str]:
    """Requirement files, by any usual name; a new one counts too."""
    for name in sorted(names_in(folder)):
        if name.startswith("requirements"):
            path = os.path.join(folder, name)
            yield path
            yield from (os.path.join(path, inner) for inner in sorted(names_in(path)))
