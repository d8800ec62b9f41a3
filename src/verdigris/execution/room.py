"""A room: its parameters, what a run in it gets, and what the run tried to change.

A layer shows a run another tree than the worktree's. It contains only the files that differ.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from verdigris.core.confinement.needs import surroundings
from verdigris.core.paths import Entry, PathClass, above
from verdigris.core.surroundings import Surroundings
from verdigris.core.value import replace, value
from verdigris.execution.places import find_needed, find_needed_by_tools, find_places_of_users, settle_in
from verdigris.sandbox.child import preexec
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.entry import temporary
from verdigris.sandbox.folders import ROOMS, Folders
from verdigris.sandbox.memory import Memory
from verdigris.sandbox.notes import names_in
from verdigris.sandbox.opens import LOST, Opens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from verdigris.sandbox.confinement import Network
    from verdigris.sandbox.syscalls import Way
    from verdigris.storage.project import Project

LONG_AGO = 1_000_000_000 * 10**9
"""A modification time in nanoseconds that is older than anything a tool built."""


@value
class Layer:
    """How the tree that a run sees differs from the worktree."""

    wanted: str
    """The tree that the run sees."""
    worktree: str
    """The tree that the worktree has."""
    firm: tuple[Entry, ...] = ()
    """Files that the layer repeats from the worktree, so that a change during the run has no effect."""
    cacheless: tuple[str, ...] = ()
    """Folders in which the run finds no byte code, because anybody may have put it there."""
    hidden: tuple[str, ...] = ()
    """Paths at which the run finds nothing, for the same reason: tools keep files there between runs."""
    dates: Mapping[str, int] | None = None
    """Modification times of the layer's files in nanoseconds, LONG_AGO for others; None: the real times."""
    around: Surroundings = Surroundings()
    """What else is other than usual."""

    @property
    def shows_worktree(self) -> bool:
        """Whether it shows the worktree's own tree, with some of its files from the store."""
        return self.wanted == self.worktree


def furnish(project: Project, layer: Layer, memory: Memory) -> tuple[str, ...]:
    """Adds the files that differ to the layer; returns the paths that the run must not find."""
    root = str(project.root)
    changes = (
        project.workspace.changes(layer.worktree, layer.wanted) if layer.wanted != layer.worktree else ()
    )
    gone = {change.path for change in changes if change.deleted}
    laid = {entry.path: (entry.mode, entry.blob) for entry in layer.firm if entry.path not in gone}
    laid |= {
        change.path: (change.new_mode or "", change.new or "") for change in changes if not change.deleted
    }
    with project.workspace.open_blobs() as blobs:
        for path, (mode, blob) in laid.items():
            time = None if layer.dates is None else layer.dates.get(path, LONG_AGO)
            memory.add(path, mode, blobs.pieces(blob), time)
    names = laid.keys() | {folder for path in laid for folder in above(path)}
    removed = _with_emptied(root, names, gone)
    for folder in layer.cacheless:
        if folder not in removed:
            for name in _bytecode_in(f"{root}/{folder}"):
                memory.remove(f"{folder}/{name}" if folder else name)
    return (*removed, *(path for path in layer.hidden if _can_hide(root, names, path)))


def _can_hide(root: str, laid: Collection[str], path: str) -> bool:
    """Whether a path can be hidden. Not behind a link: it lies elsewhere, where nothing may be removed."""
    folder = os.path.dirname(f"{root}/{path}")
    there = os.path.lexists(f"{root}/{path}") or path in laid
    return there and os.path.realpath(folder) == folder


def _bytecode_in(folder: str) -> list[str]:
    return [name for name in names_in(folder) if name == "__pycache__" or name.endswith(".pyc")]


def _with_emptied(root: str, laid: Collection[str], gone: Iterable[str]) -> tuple[str, ...]:
    """The deleted paths, and the folders that they leave empty, without those that the layer replaces."""
    removed = {path for path in gone if path not in laid}
    for path in sorted(removed, reverse=True):
        folder = os.path.dirname(path)
        while folder and folder not in removed and _is_emptied(root, laid, folder, removed):
            removed.add(folder)
            folder = os.path.dirname(folder)
    return tuple(sorted(removed))


def _is_emptied(root: str, laid: Collection[str], folder: str, removed: set[str]) -> bool:
    if folder in laid:
        return False
    try:
        names = os.listdir(f"{root}/{folder}")
    except OSError:
        return False
    return all(f"{folder}/{name}" in removed or name == "__pycache__" for name in names)


_WORDS = 7
PLAIN = "/tmp"  # noqa: S108 - the run's own: nothing of the machine's is in it
"""The temporary folder of a run whose surroundings are plain."""
_NO_STAMP = "-buildvcs=false"
"""Otherwise a Go program that a test builds contains its commit, and `go build` fails if there is no git
folder.
"""
LEAN = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""Added to the variables if the configuration names the plugins."""


@value
class Sandbox:
    """How a run is confined. `way`: None if it is not. `disk`: the control area can hold an upper layer."""

    way: Way | None = None
    disk: bool = True
    processes: bool = False
    """Whether it gets a process table of its own."""


_USUAL = Surroundings()


def find_hidden(around: Surroundings, home: str) -> tuple[str, ...]:
    """The places that a run in these surroundings finds empty."""
    places = find_places_of_users(home) if around.alone or around.home else ()
    return tuple(place for place in places if around.alone or around.home.startswith(f"{place}/"))


class Terms:
    """The parameters of a room.

    `given`: the variables of `room.env`. `git`: the git folder, which is hidden from the run, because it
    contains tests and solutions of old commits.
    """

    __slots__ = ("control", "git", "given", "network", "root", "sandbox")

    def __init__(
        self,
        root: str,
        control: str,
        sandbox: Sandbox,
        network: Network,
        given: tuple[str, ...],
        git: str = "",
    ) -> None:
        self.root = root
        self.control = control
        self.sandbox = sandbox
        self.network = network
        self.given = given
        self.git = git

    @property
    def way(self) -> Way | None:
        return self.sandbox.way

    @property
    def place(self) -> str:
        """The folder of all rooms. An unconfined run sees it, and needs a short path."""
        return temporary() if self.way is None else f"{self.control}/{ROOMS}"

    def folders(self, *, lasting: bool = False) -> Folders:
        confined, memory = self.way is not None, not self.sandbox.disk
        return Folders(self.place, confined=confined, memory=memory, lasting=lasting)

    def words(self) -> tuple[str, ...]:
        """The terms as words, for a note."""
        way, disk, table = self.sandbox.way or "", self.sandbox.disk, self.sandbox.processes
        fixed = (self.root, self.control, way, f"{disk:d}{table:d}", self.network, self.git)
        return (*fixed, str(len(self.given)), *self.given)

    def confinement(
        self,
        folders: Folders,
        argv: Sequence[str],
        memory: Memory,
        removed: tuple[str, ...] = (),
        around: Surroundings = _USUAL,
    ) -> Confinement:
        upper, work = folders.pair()
        hidden = find_hidden(around, os.environ.get("HOME", ""))
        by_tools = find_needed_by_tools(argv, self.env(folders, os.environ), hidden) if hidden else ()
        home = ((f"{folders.kept}/home", around.home),) if around.home else ()
        return Confinement(
            root=self.root,
            upper=upper,
            work=work,
            memory=memory,
            laid=(folders.layer,),
            removed=removed,
            masked=(self.git,) if self.git else (),
            decoys=((folders.control, self.control),),
            writable=((folders.kept, folders.own), *home),
            needed=(*find_needed(argv, hidden), *by_tools),
            hidden=hidden,
            host=around.host,
            network=self.network,
            processes=self.sandbox.processes,
        )

    def unconfined_terms(self) -> Terms:
        return Terms(self.root, self.control, Sandbox(), "host", ())

    def env(
        self, folders: Folders, environ: Mapping[str, str], around: Surroundings = _USUAL
    ) -> dict[str, str]:
        home, tmp = (around.home, PLAIN) if around.home else (folders.home, folders.tmp)
        env = around.apply(surroundings(environ, self.given, home=home, tmp=tmp), self.given)
        if self.git:
            env.setdefault("GOFLAGS", _NO_STAMP)
        return env


def read(words: Sequence[str]) -> tuple[Terms, Sequence[str]]:
    """Reads terms from the words of a note; returns them and the other words.

    Raises ValueError for nonsense.
    """
    root, control, way, able, network, git, count = words[:_WORDS]
    rest = words[_WORDS:]
    given = tuple(rest[: int(count)])
    if network not in {"none", "loopback", "host"} or way not in {"", "mapped", "own", "plain"}:
        raise ValueError(network, way)
    sandbox = Sandbox(way or None, *(letter == "1" for letter in able))  # type: ignore[arg-type]
    terms = Terms(root, control, sandbox, network, given, git)  # type: ignore[arg-type]
    return terms, rest[len(given) :]


class Room:
    """A room for one run of `argv`. It is used once, because the run writes to its overlay."""

    def __init__(
        self,
        terms: Terms,
        argv: Sequence[str],
        furnish: Callable[[Memory], tuple[str, ...]] | None = None,
        equip: Callable[[Confinement, Folders], Confinement] | None = None,
        *,
        around: Surroundings = _USUAL,
        lasting: bool = False,
    ) -> None:
        """`furnish` adds the files of the layer, and returns the paths that the run must not find.

        `equip` adds the mounts that a tool needs beside the worktree. `lasting`: it outlives the command, and
        must not keep the file system from being unmounted.
        """
        self.terms = terms
        self.around = around
        self.opens: Opens | None = None
        self.memory: Memory | None = None
        self.confine: Callable[[], object] | None = None
        self.folders = terms.folders(lasting=lasting)
        try:
            if around.home:
                settle_in(f"{self.folders.kept}/home")
            if terms.way is not None:
                self._make_confinement(terms.way, argv, furnish, equip)
        except BaseException:
            self.close()
            raise
        self.env = terms.env(self.folders, os.environ, around)

    def _make_confinement(
        self,
        way: Way,
        argv: Sequence[str],
        furnish: Callable[[Memory], tuple[str, ...]] | None,
        equip: Callable[[Confinement, Folders], Confinement] | None,
    ) -> None:
        self.memory = Memory(self.folders.memory)
        removed = furnish(self.memory) if furnish else ()
        self.opens = _record_opens()
        made = self.terms.confinement(self.folders, argv, self.memory, removed, self.around)
        made = replace(made, opens=self.opens)
        self.confinement = equip(made, self.folders) if equip else made
        self.confine = preexec(self.confinement, way)

    @property
    def private(self) -> tuple[str, ...]:
        """The folders, as the run sees them, whose contents are thrown away after it."""
        tmp = PLAIN if self.around.home else self.folders.tmp
        return self.folders.home, tmp, self.folders.cache

    @property
    def sandbox(self) -> Literal["overlay", "none"]:
        return "none" if self.confine is None else "overlay"

    def wrote(self, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
        """Protected paths that the run wrote or deleted; the worktree has not changed."""
        from verdigris.sandbox.written_paths import report

        if self.memory is None or not self.memory.is_made():
            return ()
        made, seen = self.confinement, self.memory.outside
        decoys = tuple((seen(decoy), path) for decoy, path in made.decoys)
        laid = tuple(map(seen, made.laid))
        return report(replace(made, upper=seen(made.upper), laid=laid, decoys=decoys), classify)

    def opened_files(self) -> tuple[str, ...]:
        """Paths of the worktree's files that the run opened."""
        return () if self.opens is None else self.opens.opened_paths()

    def notes(self) -> tuple[str, ...]:
        """What the room could not do. Call it after `opened_files`."""
        missed = self.confine is not None and (self.opens is None or self.opens.lost)
        return (LOST,) if missed else ()

    def close(self) -> None:
        if self.opens is not None:
            self.opens.close()
            self.opens = None
        if self.memory is not None:
            self.memory.close()
            self.memory = None
        self.folders.discard(in_time=self.terms.way is not None)


def _record_opens() -> Opens | None:
    """Starts to record opened files; None if the system cannot, or has no watch left."""
    try:
        return Opens()
    except (OSError, AttributeError):
        return None
