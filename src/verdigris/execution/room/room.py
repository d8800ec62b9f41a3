"""A room: its parameters, what a run in it is given, and what the run tried to change."""

# Plain calls, as this is loaded before a head start:
# ruff: noqa: PTH110, PTH120

from __future__ import annotations

import os

from verdigris.core.confinement.environment import surroundings
from verdigris.sandbox import Confinement, preexec
from verdigris.sandbox.confinement import inside
from verdigris.sandbox.entry import RUN, TEMPORARY
from verdigris.sandbox.folders import Folders
from verdigris.sandbox.opens import LOST, Opens

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Literal

    from verdigris.core.paths import PathClass
    from verdigris.sandbox.confinement import Network
    from verdigris.sandbox.syscalls import Way


_WORDS = 7
_HIDDEN = (*TEMPORARY, RUN)
_NO_STAMP = "-buildvcs=false"
"""A program that a test builds names its commit otherwise, and `go build` fails without one."""
LEAN = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""Given with the variables where the configuration names the plugins."""


class Terms:
    """`sandbox`: the way to make one (None where none can be made), and the place for its folders. `given`
    are the variables of `room.env`.

    `git` is the git folder, of which the run sees nothing: tests and answers of old commits are in it.
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
        """As a note holds them."""
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

    def unconfined(self) -> Terms:
        return Terms(self.root, self.control, (None, self.place), "host", ())

    def confining(self, confinement: Confinement) -> Callable[[], None] | None:
        return None if self.way is None else preexec(confinement, self.way)

    def env(self, folders: Folders, environ: Mapping[str, str]) -> dict[str, str]:
        env = surroundings(environ, self.given, home=folders.home, tmp=folders.tmp)
        if self.git:
            env.setdefault("GOFLAGS", _NO_STAMP)
        return env


def read(words: Sequence[str]) -> tuple[Terms, Sequence[str]]:
    """From a note, and what else stands in it; nonsense is a ValueError."""
    root, control, way, place, network, git, count = words[:_WORDS]
    rest = words[_WORDS:]
    given = tuple(rest[: int(count)])
    if network not in {"none", "loopback", "host"} or way not in {"", "mapped", "own", "plain"}:
        raise ValueError(network, way)
    terms = Terms(root, control, (way or None, place), network, given, git)  # type: ignore[arg-type]
    return terms, rest[len(given) :]


def _needed_folders(argv: Sequence[str]) -> Iterator[str]:
    """Where the programs are, if that is in a folder of which the run would otherwise see nothing."""
    programs = os.environ.get("PATH", "").split(":")
    for word in argv:
        if word.startswith("/"):
            programs += (os.path.dirname(word), os.path.dirname(os.path.dirname(word)))
            programs.append(os.path.dirname(os.path.dirname(os.path.realpath(word))))
    for folder in dict.fromkeys(programs):
        hidden = any(inside(folder, place) for place in _HIDDEN) and folder not in _HIDDEN
        if hidden and os.path.exists(folder):
            yield folder


class Room:
    """For one run of `argv`: an overlay that has been written to is not used again."""

    def __init__(
        self,
        terms: Terms,
        argv: Sequence[str],
        furnish: Callable[[Folders], tuple[str, ...]] | None = None,
        equip: Callable[[Confinement, Folders], Confinement] | None = None,
    ) -> None:
        """`furnish` lays files over the worktree's, and says which of those are not to be found.

        `equip` gives a tool what it has besides the worktree.
        """
        self.terms = terms
        self.opens: Opens | None = None
        self.folders = Folders(terms.place)
        try:
            removed = furnish(self.folders) if furnish else ()
            made = terms.confinement(self.folders, argv, removed)
            if terms.way is not None:
                self.opens = _listening()
                made = made.but(opens=self.opens)
            self.confinement = equip(made, self.folders) if equip else made
            self.confine = terms.confining(self.confinement)
        except BaseException:
            self.close()
            raise
        self.env = terms.env(self.folders, os.environ)

    @property
    def sandbox(self) -> Literal["overlay", "none"]:
        return "none" if self.confine is None else "overlay"

    def wrote(self, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
        """Protected paths that the run wrote or deleted, without effect."""
        from verdigris.sandbox import report

        return () if self.confine is None else report(self.confinement, classify)

    def opened(self) -> tuple[str, ...]:
        """The files of the worktree that the run opened, by path."""
        return () if self.opens is None else self.opens.opened_paths()

    def notes(self) -> tuple[str, ...]:
        """What it could not do, once `opened` was asked."""
        missed = self.confine is not None and (self.opens is None or self.opens.lost)
        return (LOST,) if missed else ()

    def close(self) -> None:
        if self.opens is not None:
            self.opens.close()
            self.opens = None
        self.folders.discard()


def _listening() -> Opens | None:
    """None where the system has no more of them, or none at all."""
    try:
        return Opens()
    except (OSError, AttributeError):
        return None
