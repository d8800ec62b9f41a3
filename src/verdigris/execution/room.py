"""A room: its parameters, what a run in it gets, and what the run tried to change.

A layer shows a run another tree than the worktree's. It contains only the files that differ.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from verdigris.core.confinement.needs import surroundings
from verdigris.core.paths import EXECUTABLE, LINK
from verdigris.core.value import replace, value
from verdigris.languages.folders import make_folders
from verdigris.sandbox.child import preexec
from verdigris.sandbox.confinement import Confinement, is_inside
from verdigris.sandbox.entry import RUN, TEMPORARY
from verdigris.sandbox.folders import Folders
from verdigris.sandbox.opens import LOST, Opens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from verdigris.core.paths import Entry, PathClass
    from verdigris.sandbox.confinement import Network
    from verdigris.sandbox.syscalls import Way
    from verdigris.storage.project import Project


# `os` calls on `str`, since names may contain any bytes:
# ruff: noqa: PTH120, PTH208, PTH211


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

    @property
    def shows_worktree(self) -> bool:
        """Whether it shows the worktree's own tree, with some of its files from the store."""
        return self.wanted == self.worktree


def furnish(project: Project, layer: Layer, folders: Folders) -> tuple[str, ...]:
    """Writes the files that differ into the layer's folder; returns the paths that the run must not find."""
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
            _write(f"{folders.layer}/{path}", mode, blobs.pieces(blob))
            if layer.dates is not None:
                time = layer.dates.get(path, LONG_AGO)
                os.utime(f"{folders.layer}/{path}", ns=(time, time), follow_symlinks=False)
    removed = _with_emptied(str(project.root), folders.layer, gone)
    for folder in layer.cacheless:
        if folder not in removed:
            _hide_bytecode(str(project.root), folders.layer, folder)
    return (*removed, *(path for path in layer.hidden if _can_hide(str(project.root), folders.layer, path)))


def _write(path: str, mode: str, pieces: Iterable[bytes]) -> None:
    make_folders(os.path.dirname(path))
    if mode == LINK:
        os.symlink(b"".join(pieces), os.fsencode(path))
        return
    permissions = 0o755 if mode == EXECUTABLE else 0o644
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
    with os.fdopen(file, "wb") as stream:
        stream.writelines(pieces)


def _can_hide(root: str, layer: str, path: str) -> bool:
    """Whether a path can be hidden. Not behind a link: it lies elsewhere, where nothing may be removed."""
    folder = os.path.dirname(f"{root}/{path}")
    there = os.path.lexists(f"{root}/{path}") or os.path.lexists(f"{layer}/{path}")
    return there and os.path.realpath(folder) == folder


def _hide_bytecode(root: str, layer: str, folder: str) -> None:
    try:
        names = os.listdir(f"{root}/{folder}")
    except OSError:
        return
    hidden = [name for name in names if name == "__pycache__" or name.endswith(".pyc")]
    if hidden:
        make_folders(f"{layer}/{folder}")
    for name in hidden:
        _white_out(f"{layer}/{folder}/{name}")


def _white_out(path: str) -> None:
    """Marks a name as removed, in the way of an overlay; if that is not permitted, makes an empty file."""
    try:
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
    except FileExistsError:
        return
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444))


def _with_emptied(root: str, layer: str, gone: Iterable[str]) -> tuple[str, ...]:
    """The deleted paths, and the folders that they leave empty, without those that the layer replaces."""
    removed = {path for path in gone if not os.path.lexists(f"{layer}/{path}")}
    for path in sorted(removed, reverse=True):
        folder = os.path.dirname(path)
        while folder and folder not in removed and _is_emptied(root, layer, folder, removed):
            removed.add(folder)
            folder = os.path.dirname(folder)
    return tuple(sorted(removed))


def _is_emptied(root: str, layer: str, folder: str, removed: set[str]) -> bool:
    if os.path.lexists(f"{layer}/{folder}"):
        return False
    try:
        names = os.listdir(f"{root}/{folder}")
    except OSError:
        return False
    return all(f"{folder}/{name}" in removed or name == "__pycache__" for name in names)


# `os` calls instead of pathlib: this is loaded before a head start.
# ruff: noqa: PTH110, PTH120


_WORDS = 7
_HIDDEN = (*TEMPORARY, RUN)
_NO_STAMP = "-buildvcs=false"
"""Otherwise a Go program that a test builds contains its commit, and `go build` fails if there is no git
folder.
"""
LEAN = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""Added to the variables if the configuration names the plugins."""


class Terms:
    """The parameters of a room.

    `sandbox`: the way to make a sandbox (None if none can be made), and the place for its folders. `given`:
    the variables of `room.env`. `git`: the git folder, which is hidden from the run, because it contains
    tests and solutions of old commits.
    """

    __slots__ = ("control", "git", "given", "network", "place", "root", "way")

    def __init__(
        self,
        root: str,
        control: str,
        sandbox: tuple[Way | None, str],
        network: Network,
        given: tuple[str, ...],
        git: str = "",
    ) -> None:
        self.root = root
        self.control = control
        self.way, self.place = sandbox
        self.network = network
        self.given = given
        self.git = git

    def words(self) -> tuple[str, ...]:
        """The terms as words, for a note."""
        fixed = (self.root, self.control, self.way or "", self.place, self.network, self.git)
        return (*fixed, str(len(self.given)), *self.given)

    def confinement(
        self, folders: Folders, argv: Sequence[str], removed: tuple[str, ...] = ()
    ) -> Confinement:
        return Confinement(
            root=self.root,
            upper=folders.upper,
            work=folders.work,
            laid=(folders.layer,),
            removed=removed,
            masked=(*((self.git,) if self.git else ()), folders.layer, folders.upper, folders.work),
            decoys=((folders.control, self.control),),
            writable=(folders.own,),
            needed=tuple(_needed_folders(argv)),
            network=self.network,
        )

    def unconfined_terms(self) -> Terms:
        return Terms(self.root, self.control, (None, self.place), "host", ())

    def confiner(self, confinement: Confinement) -> Callable[[], None] | None:
        return None if self.way is None else preexec(confinement, self.way)

    def env(self, folders: Folders, environ: Mapping[str, str]) -> dict[str, str]:
        env = surroundings(environ, self.given, home=folders.home, tmp=folders.tmp)
        if self.git:
            env.setdefault("GOFLAGS", _NO_STAMP)
        return env


def read(words: Sequence[str]) -> tuple[Terms, Sequence[str]]:
    """Reads terms from the words of a note; returns them and the other words.

    Raises ValueError for nonsense.
    """
    root, control, way, place, network, git, count = words[:_WORDS]
    rest = words[_WORDS:]
    given = tuple(rest[: int(count)])
    if network not in {"none", "loopback", "host"} or way not in {"", "mapped", "own", "plain"}:
        raise ValueError(network, way)
    terms = Terms(root, control, (way or None, place), network, given, git)  # type: ignore[arg-type]
    return terms, rest[len(given) :]


def _needed_folders(argv: Sequence[str]) -> Iterator[str]:
    """The folders of programs that lie in a folder which would be hidden from the run."""
    programs = os.environ.get("PATH", "").split(":")
    for word in argv:
        if word.startswith("/"):
            programs += (os.path.dirname(word), os.path.dirname(os.path.dirname(word)))
            programs.append(os.path.dirname(os.path.dirname(os.path.realpath(word))))
    for folder in dict.fromkeys(programs):
        hidden = any(is_inside(folder, place) for place in _HIDDEN) and folder not in _HIDDEN
        if hidden and os.path.exists(folder):
            yield folder


class Room:
    """A room for one run of `argv`. It is used once, because the run writes to its overlay."""

    def __init__(
        self,
        terms: Terms,
        argv: Sequence[str],
        furnish: Callable[[Folders], tuple[str, ...]] | None = None,
        equip: Callable[[Confinement, Folders], Confinement] | None = None,
    ) -> None:
        """`furnish` writes the layer, and returns the paths that the run must not find.

        `equip` adds the mounts that a tool needs beside the worktree.
        """
        self.terms = terms
        self.opens: Opens | None = None
        self.folders = Folders(terms.place)
        try:
            removed = furnish(self.folders) if furnish else ()
            made = terms.confinement(self.folders, argv, removed)
            if terms.way is not None:
                self.opens = _record_opens()
                made = replace(made, opens=self.opens)
            self.confinement = equip(made, self.folders) if equip else made
            self.confine = terms.confiner(self.confinement)
        except BaseException:
            self.close()
            raise
        self.env = terms.env(self.folders, os.environ)

    @property
    def sandbox(self) -> Literal["overlay", "none"]:
        return "none" if self.confine is None else "overlay"

    def wrote(self, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
        """Protected paths that the run wrote or deleted; the worktree has not changed."""
        from verdigris.sandbox.written_paths import report

        return () if self.confine is None else report(self.confinement, classify)

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
        self.folders.discard(in_time=self.terms.way is not None)


def _record_opens() -> Opens | None:
    """Starts to record opened files; None if the system cannot, or has no watch left."""
    try:
        return Opens()
    except (OSError, AttributeError):
        return None
