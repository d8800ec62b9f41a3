"""Finds the places of a machine that a run does without, and what its tools need in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.confinement import TEMPORARY
from verdigris.sandbox.confinement import is_inside
from verdigris.sandbox.entry import RUN
from verdigris.sandbox.notes import names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SYSTEM = frozenset(
    {
        *("bin", "boot", "dev", "etc", "gnu", "init", "lib", "lib32", "lib64", "libx32", "lost+found"),
        *("nix", "opt", "proc", "run", "sbin", "snap", "sys", "usr", "var"),
    }
)
_ALWAYS = (*TEMPORARY, RUN)
"""What every run finds empty, unless it reads something there."""
_PROGRAMS = frozenset({"bin", "sbin", "shims"})
_NO_PLACES = frozenset({"HOME", "PATH", "TMPDIR", "SHELL"})
"""Variables that do not say where a tool has its files, or are read otherwise."""
_LINKS = 40
_OF_EVERY_HOME = (".cache", ".config", "Documents")


def find_places_of_users(home: str) -> tuple[str, ...]:
    """Folders at the top that belong neither to the system nor to a run, and the home elsewhere."""
    tops = (f"/{name}" for name in sorted(names_in("/")) if name not in _SYSTEM)
    places = [top for top in tops if os.path.isdir(top) and not os.path.islink(top) and top not in TEMPORARY]
    own = os.path.realpath(home) if home else "/"
    if own.count("/") > 2 and not any(is_inside(own, place) for place in (*places, *TEMPORARY)):  # noqa: PLR2004 - `/usr/lib` is no home
        places.append(own)
    return tuple(places)


def settle_in(home: str) -> None:
    """Makes what every home has, so that an empty one is no mark of a run."""
    for name in _OF_EVERY_HOME:
        os.mkdir(f"{home}/{name}")
    for name in (".bashrc", ".profile", ".bash_history"):
        with open(f"{home}/{name}", "wb"):
            pass


def find_needed(argv: Sequence[str], hidden: Iterable[str] = ()) -> Iterator[str]:
    """Folders of programs that lie where a run would not find them."""
    wanted = os.environ.get("PATH", "").split(":")
    for word in argv:
        if word.startswith("/"):
            wanted += (os.path.dirname(word), os.path.dirname(os.path.dirname(word)))
            wanted.append(os.path.dirname(os.path.dirname(os.path.realpath(word))))
    yield from _list_inside(wanted, (*_ALWAYS, *hidden))


def find_needed_by_tools(argv: Sequence[str], env: Mapping[str, str], hidden: Sequence[str]) -> Iterator[str]:
    """Folders in hidden places that variables name, around those of `PATH`, and on the way of links."""
    folders = (folder for folder in env.get("PATH", "").split(":") if os.path.basename(folder) in _PROGRAMS)
    wanted = [os.path.dirname(folder) for folder in folders]
    wanted += (part for name in env.keys() - _NO_PLACES for part in env[name].split(":"))
    for hop in (hop for word in argv if word.startswith("/") for hop in _follow(word)):
        wanted += (os.path.dirname(hop), os.path.dirname(os.path.dirname(hop)))
    real = os.path.realpath(os.environ.get("HOME", "/"))
    narrow = [place for place in wanted if place.startswith("/") and not is_inside(real, place)]
    yield from _list_inside(sorted(narrow), hidden)


def _follow(path: str) -> Iterator[str]:
    """The paths to which a link leads, one after another."""
    for _ in range(_LINKS):
        if not os.path.islink(path):
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        yield path


def _list_inside(wanted: Iterable[str], hidden: Sequence[str]) -> Iterator[str]:
    for folder in dict.fromkeys(wanted):
        is_hidden = any(is_inside(folder, place) for place in hidden) and folder not in hidden
        if is_hidden and os.path.exists(folder):
            yield folder
