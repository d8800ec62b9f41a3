"""Confines a child process before its program runs; finds out how this system can do it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from verdigris.core.errors import ToolMissing
from verdigris.core.value import value
from verdigris.sandbox import strength
from verdigris.sandbox.confinement import Confinement, check_confinement, points_below
from verdigris.sandbox.entry import STEPS, enter, temporary
from verdigris.sandbox.folders import ROOMS, clear
from verdigris.sandbox.memory import Memory
from verdigris.sandbox.notes import remember
from verdigris.sandbox.syscalls import IDS, Way, identity_map, ways

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from verdigris.sandbox.process_table import FirstProcess


_OPTIONAL = frozenset({"network", "processes"})
_DONE = "done"
_INSIDE, _OUTSIDE = "root/inside", "outside"


@value
class Ability:
    """One step of confinement, and whether it works here."""

    name: str
    ok: bool
    why: str = ""
    """The error, if it does not work."""


@value
class Availability:
    """How this system can confine a child."""

    way: Way | None
    """None if no child can be confined."""
    disk: bool
    """Whether the file system of the rooms can hold `upper` and `work`; that of a container's root cannot."""
    abilities: tuple[Ability, ...]

    @property
    def ok(self) -> bool:
        return self.way is not None

    @property
    def network(self) -> bool:
        """Whether a run can have a network of its own, or none."""
        return self._is_able("network")

    @property
    def processes(self) -> bool:
        """Whether a run can have a process table of its own."""
        return self._is_able("processes")

    def _is_able(self, name: str) -> bool:
        return any(ability.ok for ability in self.abilities if ability.name == name)

    @property
    def why(self) -> str:
        return "; ".join(f"{ability.name}: {ability.why}" for ability in self.abilities if not ability.ok)


@cache
def available(rooms: str = "") -> Availability:
    """Tries the ways, the strongest first. If none works completely, returns the one with most steps.

    `rooms`: the folder in which rooms are made; without it, or if no upper layer can be there, in memory.
    """
    if sys.platform != "linux":
        why = "only Linux has them"
        return Availability(None, disk=False, abilities=(Ability("namespaces", ok=False, why=why),))
    found = []
    for disk in (True, False) if rooms else (False,):
        for way in ways():
            abilities = try_way(way, rooms or temporary(), disk=disk)
            found.append(_judge_abilities(way, abilities, disk=disk))
            if found[-1].ok and found[-1].network and found[-1].processes:
                return found[-1]
    return max(found, key=lambda one: (one.ok, sum(ability.ok for ability in one.abilities)))


def _judge_abilities(way: Way, abilities: tuple[Ability, ...], *, disk: bool) -> Availability:
    ok = all(ability.ok for ability in abilities if ability.name not in _OPTIONAL)
    return Availability(way if ok else None, disk, abilities)


def try_way(way: Way, place: str, *, disk: bool) -> tuple[Ability, ...]:
    """Forks a child that takes each step in a folder of its own; returns an ability for each step.

    Steps that a run can do without are left out when they fail, so that the others are tried. `disk`: whether
    the file system of `place` shall hold the upper layer.
    """
    folder = f"{place}/tdd-probe.{os.urandom(8).hex()}"
    os.makedirs(folder, 0o700)
    refused: dict[str, str] = {}
    try:
        for name in ("root/there", "memory", "upper", "work"):
            os.makedirs(f"{folder}/{name}")
        while True:
            said = _attempt_steps(way, folder, refused, disk=disk)
            step = said[-2] if len(said) > 1 else ""
            if said[-1] == _DONE or step not in _OPTIONAL.difference(refused):
                return _read_abilities(said, folder, refused)
            refused[step] = said[-1]
    finally:
        clear(folder)
        os.rmdir(folder)


def _attempt_steps(way: Way, folder: str, refused: Collection[str], *, disk: bool) -> list[str]:
    """Returns the lines of a child: each step when it began, then `done` or the error."""
    memory = Memory(f"{folder}/memory")
    above = folder if disk else memory.folder
    confinement = Confinement(
        f"{folder}/root",
        f"{above}/upper",
        f"{above}/work",
        memory=memory,
        network="host" if "network" in refused else "loopback",
        processes="processes" not in refused,
    )
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _confine_and_write(way, confinement, folder, writing)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as lines:
        said = lines.read().splitlines()
    os.waitpid(child, 0)
    memory.close()
    return said or ["the attempt died"]


def _confine_and_write(way: Way, confinement: Confinement, folder: str, writing: int) -> None:
    def say(line: str) -> None:
        os.write(writing, f"{line}\n".encode(errors="replace"))

    try:
        os.chdir("/")
        enter(confinement, way, say)
        os.close(os.open(f"{folder}/{_INSIDE}", os.O_CREAT | os.O_WRONLY))
        with suppress(OSError):
            os.close(os.open(f"{folder}/{_OUTSIDE}", os.O_CREAT | os.O_WRONLY))
        say(_DONE)
    except BaseException as error:  # noqa: BLE001 - the parent reads it
        say(str(error) or type(error).__name__)
    finally:
        os._exit(0)


def _read_abilities(said: Sequence[str], folder: str, refused: Mapping[str, str]) -> tuple[Ability, ...]:
    *reached, end = said
    why = dict.fromkeys(STEPS, "not tried")
    why |= dict.fromkeys(reached, "")
    why |= refused
    if end != _DONE:
        why[reached[-1] if reached else STEPS[0]] = end
    if os.path.exists(f"{folder}/{_INSIDE}"):
        why["overlay"] = "what is written in it goes through"
    if os.path.exists(f"{folder}/{_OUTSIDE}"):
        why["read-only"] = "the rest of the system could be written"
    return tuple(Ability(name, ok=not reason, why=reason) for name, reason in why.items())


REFUSED = 126
"""The exit code of a child that could not be confined."""
REFUSAL = b"verdigris: not confined, so not run: "
"""How the line of such a child on standard error begins."""


def preexec(confinement: Confinement, way: Way | None = None) -> Confining:
    """Checks a confinement, and makes a function that applies it in the child before the program starts.

    `way`: one that is known to work; without it the ways are tried. If it fails in the child, nothing is run.
    """
    made = check_confinement(confinement)
    way = way or _find_way(made)
    if way == "own" and (points := points_below(made.root)):
        raise ToolMissing(
            f"only root can confine a run where something is mounted below the worktree: {points[0]}",
            hint="unmount it, or keep it outside the worktree",
        )
    return Confining(made, way)


def refusal(exit_code: int | None, output: bytes) -> str | None:
    """Why a child did not run its program because it could not be confined; None if it did."""
    if exit_code != REFUSED or not output.startswith(REFUSAL):
        return None
    return output.removeprefix(REFUSAL).decode("utf-8", "replace").strip()


def _find_way(confinement: Confinement) -> Way:

    possible = available()
    if possible.way is None:
        raise ToolMissing(f"no sandbox can be made here: {possible.why}", hint="run `tdd doctor`")
    if confinement.network != "host" and not possible.network:
        raise ToolMissing(
            f"no network of its own can be made here: {possible.why}",
            hint="set `room: {network: host}` in tdd.yaml",
        )
    return possible.way


class Confining:
    """A function for the child: it applies a checked confinement, or ends the child."""

    def __init__(self, confinement: Confinement, way: Way) -> None:
        self.confinement = confinement
        self.way = way
        self.ids = {name: identity_map(name) for name in IDS} if way == "mapped" else {}
        """The lines of each id map, which a process outside has to write; see `enter`."""

    def __call__(self, mapped: Callable[[int], None] | None = None) -> FirstProcess | None:
        step = ["start"]
        try:
            return enter(self.confinement, self.way, step.append, mapped)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the program must not run
            os.write(2, REFUSAL + f"{step[-1]}: {error}\n".encode(errors="surrogateescape"))
            os._exit(REFUSED)


_FORMAT = 3
"""The version of a note's words."""
_BOOT = "/proc/sys/kernel/random/boot_id"


def recall_availability(note: str) -> Availability:
    """Reads the answer from the file `note` if it is about this system and user.

    `note`: a file of a worktree's private folder. Otherwise it tries, and writes the note if confinement
    works. Raises if it is weaker than it was before.
    """
    system = _system()
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            known, way, disk, *optional = file.read().split("\0")
        why = dict(zip(sorted(_OPTIONAL), optional, strict=True))
    except (OSError, ValueError):
        known, why = "", {}
    for possible in ways() if known == system else ():
        if possible == way:
            abilities = (Ability(name, ok=not reason, why=reason) for name, reason in why.items())
            return Availability(possible, bool(disk), tuple(abilities))
    control = control_of(note)
    found = available(f"{control}/{ROOMS}")
    strength.require(control, ways_of_runs(found))
    if found.way is not None:
        missing = {ability.name: ability.why for ability in found.abilities}
        words = (system, found.way, "disk" if found.disk else "", *map(missing.get, sorted(_OPTIONAL)))
        remember(note, "\0".join(map(str, words)).encode("utf-8", "surrogateescape"))
    return found


def control_of(note: str) -> str:
    """The control area of a note, which lies in a worktree's private folder."""
    return note.rpartition("/worktrees/")[0] or note.rpartition("/")[0]


def ways_of_runs(found: Availability) -> dict[str, str]:
    """How runs are confined, as `strength` remembers it."""
    way = found.way or ""
    return {
        strength.RUN: way,
        strength.NETWORK: way if found.network else "",
        strength.TABLE: way if found.processes else "",
    }


def forget(note: str) -> None:
    """Removes a note by which a child could not be confined; what works is found out again."""
    available.cache_clear()
    with suppress(OSError):
        os.unlink(note)


def _system() -> str:
    """What a note depends on: this boot, the kernel and the user."""
    try:
        with open(_BOOT, encoding="ascii") as boot:
            started = boot.read().strip()
    except OSError:
        started = ""
    return f"{_FORMAT} {started} {os.uname().release} {os.geteuid()}"


_UNUSED = "/sys"
"""A folder that every system has and no query needs: what a query writes is kept there, in memory."""
NOTE = "sandbox"
"""The file in a worktree's private folder that says how this system confines processes."""


@contextmanager
def confine_query(
    root: Path, note: Path | None = None, *, reads: Sequence[Path] = (), hides: Sequence[Path] = ()
) -> Iterator[Callable[[], object] | None]:
    """Gives a function for `Popen(preexec_fn=…)` that lets a query write nothing; None if nothing can be
    confined, and never was.

    `reads`: paths that stay visible even in a temporary folder. `hides`: paths that the query cannot read.
    """
    found = available() if note is None else recall_availability(str(note))
    if found.way is None:
        yield None
        return
    memory = Memory(_UNUSED)
    confinement = Confinement(
        str(root),
        f"{_UNUSED}/upper",
        f"{_UNUSED}/work",
        memory=memory,
        masked=(*map(str, hides), _UNUSED),
        needed=tuple(str(path) for path in reads if path.exists()),
        network="none" if found.network else "host",
    )
    try:
        yield preexec(confinement, found.way)
    finally:
        memory.close()


def environment_of(python: Path) -> tuple[Path, ...]:
    """The folders that an interpreter needs to start: its environment, and that of the linked program."""
    return tuple(dict.fromkeys((python.parent.parent, Path(python.resolve()).parent.parent)))
