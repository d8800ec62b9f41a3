"""Confines a child process before its program runs; finds out how this system can do it."""

# `os` calls on `str` instead of pathlib: this runs between fork and exec.
# ruff: noqa: PTH102, PTH105, PTH106, PTH108, PTH110, PTH123

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
from verdigris.sandbox.folders import Folders, clear
from verdigris.sandbox.syscalls import IDS, Way, identity_map, ways

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verdigris.sandbox.confinement import Network


_OPTIONAL = frozenset({"network"})
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a folder of ours is made in it
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
    place: str
    """A folder whose file system can hold `upper` and `work`; that of a container's root cannot."""
    abilities: tuple[Ability, ...]

    @property
    def ok(self) -> bool:
        return self.way is not None

    @property
    def network(self) -> bool:
        """Whether a run can have a network of its own, or none."""
        return any(ability.ok for ability in self.abilities if ability.name == "network")

    @property
    def why(self) -> str:
        return "; ".join(f"{ability.name}: {ability.why}" for ability in self.abilities if not ability.ok)


@cache
def available() -> Availability:
    """Tries the ways, the strongest first. If none works completely, returns the one with most steps."""
    if sys.platform != "linux":
        return Availability(None, "", (Ability("namespaces", ok=False, why="only Linux has them"),))
    found = []
    for place in _places():
        for way in ways():
            found.append(_judge_abilities(way, place, try_way(way, place)))
            if found[-1].ok and found[-1].network:
                return found[-1]
    return max(found, key=lambda one: (one.ok, sum(ability.ok for ability in one.abilities)))


def _places() -> Iterator[str]:
    yield temporary()
    if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK):
        yield _SHARED_MEMORY


def _judge_abilities(way: Way, place: str, abilities: tuple[Ability, ...]) -> Availability:
    ok = all(ability.ok for ability in abilities if ability.name not in _OPTIONAL)
    return Availability(way if ok else None, place, abilities)


def try_way(way: Way, place: str) -> tuple[Ability, ...]:
    """Forks a child that takes each step in a folder of its own; returns an ability for each step."""
    folder = f"{place}/tdd-probe.{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    try:
        for name in ("root", "upper", "work"):
            os.mkdir(f"{folder}/{name}")
        said = _attempt_steps(way, folder, "loopback")
        if said[-1] != _DONE and said[-2:-1] == ["network"]:
            refused = said[-1]
            return _read_abilities(_attempt_steps(way, folder, "host"), folder, refused)
        return _read_abilities(said, folder)
    finally:
        clear(folder)
        os.rmdir(folder)


def _attempt_steps(way: Way, folder: str, network: Network) -> list[str]:
    """Returns the lines of a child: each step when it began, then `done` or the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _confine_and_write(way, folder, network, writing)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as lines:
        said = lines.read().splitlines()
    os.waitpid(child, 0)
    return said or ["the attempt died"]


def _confine_and_write(way: Way, folder: str, network: Network, writing: int) -> None:
    def say(line: str) -> None:
        os.write(writing, f"{line}\n".encode(errors="replace"))

    try:
        os.chdir("/")
        enter(Confinement(f"{folder}/root", f"{folder}/upper", f"{folder}/work", network=network), way, say)
        os.close(os.open(f"{folder}/{_INSIDE}", os.O_CREAT | os.O_WRONLY))
        with suppress(OSError):
            os.close(os.open(f"{folder}/{_OUTSIDE}", os.O_CREAT | os.O_WRONLY))
        say(_DONE)
    except BaseException as error:  # noqa: BLE001 - the parent reads it
        say(str(error) or type(error).__name__)
    finally:
        os._exit(0)


def _read_abilities(said: Sequence[str], folder: str, network: str = "") -> tuple[Ability, ...]:
    *reached, end = said
    why = dict.fromkeys(STEPS, "not tried")
    why |= dict.fromkeys(reached, "")
    why["network"] = network or why["network"]
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

    def __call__(self, mapped: Callable[[], None] | None = None) -> None:
        step = ["start"]
        try:
            enter(self.confinement, self.way, step.append, mapped)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the program must not run
            os.write(2, REFUSAL + f"{step[-1]}: {error}\n".encode(errors="surrogateescape"))
            os._exit(REFUSED)


_FORMAT = 2
"""Of notes: those of an earlier version were written before `strength` remembered the way."""
_BOOT = "/proc/sys/kernel/random/boot_id"


def recall_availability(note: str) -> Availability:
    """Reads the answer from the file `note` if it is about this system and user.

    Otherwise it tries, and writes the note if confinement works. Raises if it is weaker than it was before.
    """
    system = _system()
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            known, way, place, network = file.read().split("\0")
    except (OSError, ValueError):
        known = ""
    if known == system and os.access(place, os.W_OK | os.X_OK):
        for possible in ways():
            if possible == way:
                return Availability(possible, place, (Ability("network", ok=not network, why=network),))
    found = available()
    strength.require(control_of(note), ways_of_runs(found))
    if found.way is not None:
        network = "" if found.network else found.why
        _write(note, f"{system}\0{found.way}\0{found.place}\0{network}")
    return found


def control_of(note: str) -> str:
    """The control area of a note, which lies in a worktree's private folder."""
    return note.rpartition("/worktrees/")[0] or note.rpartition("/")[0]


def ways_of_runs(found: Availability) -> dict[str, str]:
    """How runs are confined, as `strength` remembers it."""
    way = found.way or ""
    return {strength.RUN: way, strength.NETWORK: way if found.network else ""}


def forget(note: str) -> None:
    """Removes a note by which a child could not be confined; what works is found out again."""
    available.cache_clear()
    with suppress(OSError):
        os.unlink(note)


def _system() -> str:
    """What a note depends on: this boot, the kernel, the user and the temporary folder."""
    try:
        with open(_BOOT, encoding="ascii") as boot:
            started = boot.read().strip()
    except OSError:
        started = ""
    return f"{_FORMAT} {started} {os.uname().release} {os.geteuid()} {temporary()}"


def _write(note: str, text: str) -> None:
    """Writes a note. It only saves time, so an error of the disk is ignored."""
    fresh = f"{note}.{os.getpid()}"
    with suppress(OSError):
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(fresh, note)


NOTE = "sandbox"
"""The file in a worktree's private folder that says how this system confines processes."""


@contextmanager
def confine_query(
    root: Path, note: Path | None = None, *, reads: Sequence[Path] = (), hides: Sequence[Path] = ()
) -> Iterator[Callable[[], None] | None]:
    """Gives a function for `Popen(preexec_fn=…)` that lets a query write nothing; None if nothing can be
    confined, and never was.

    `reads`: paths that stay visible even in a temporary folder. `hides`: paths that the query cannot read.
    """
    found = available() if note is None else recall_availability(str(note))
    if found.way is None:
        yield None
        return
    folders = Folders(found.place)
    try:
        confinement = Confinement(
            str(root),
            folders.upper,
            folders.work,
            masked=tuple(map(str, hides)),
            needed=tuple(str(path) for path in reads if path.exists()),
            network="none" if found.network else "host",
        )
        yield preexec(confinement, found.way)
    finally:
        folders.discard()


def environment_of(python: Path) -> tuple[Path, ...]:
    """The folders that an interpreter needs to start: its environment, and that of the linked program."""
    return tuple(dict.fromkeys((python.parent.parent, Path(python.resolve()).parent.parent)))
