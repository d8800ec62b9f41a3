"""Walks the folders of a project, to any depth."""

# Plain calls, and names stay `str`:
# ruff: noqa: PTH102, PTH120

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError
from verdigris.core.paths import compile_glob
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from verdigris.core.settings import Stack


def walk_tree(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walks as `os.walk` does, top down; a caller who takes names out of the folders skips them."""
    waiting = [top]
    while waiting:
        here = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
        except OSError:
            continue
        yield here, folders, files
        waiting += [f"{here}/{name}" for name in reversed(folders)]


def make_folders(path: str) -> None:
    """Makes folders as `os.makedirs` does where the folder may exist already."""
    missing: list[str] = []
    while path and not os.path.isdir(path):  # noqa: PTH112
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):  # noqa: PTH112
                raise


DEPTH = 4
_INSTALLED = frozenset({"node_modules", "__pycache__", "venv"})
_ASIDE = (
    "tests?|__tests__|spec|testdata|test_data|fixtures|__fixtures__|examples?|samples?|templates?|docs?|"
    "target|dist|build|out|vendor|third_party|coverage|benchmarks?"
)
"""A project inside one of these is data, an example, or what a build made."""


@value
class Folder:
    path: str
    """Relative to the root, `.` for itself."""
    files: frozenset[str]


@value
class FoundStacks:
    stacks: tuple[Stack, ...] = ()
    notes: tuple[str, ...] = ()
    """What was seen, and what it would take to make a stack of it."""


def folders(root: Path) -> tuple[Folder, ...]:
    """A folder before those in it."""
    found = []
    for at, inner, files in walk(root, DEPTH):
        inner[:] = [name for name in inner if not re.fullmatch(_ASIDE, name)]
        found.append(Folder(at, frozenset(files)))
    return tuple(found)


def walk(root: Path, depth: int | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walks as `os.walk` does, without hidden folders and installed packages."""
    for folder, inner, files in walk_tree(os.fspath(root)):
        here = os.path.relpath(folder, root)
        level = 0 if here == "." else here.count("/") + 1
        hidden = {name for name in inner if name.startswith(".") or name in _INSTALLED}
        environments = {name for name in inner if os.path.exists(f"{folder}/{name}/pyvenv.cfg")}  # noqa: PTH110 - one join less per folder
        inner[:] = [] if depth is not None and level >= depth else sorted(set(inner) - hidden - environments)
        yield here, inner, files


def outermost_of(places: Iterable[str]) -> list[str]:
    """The folders that lie in none of the others."""
    found: list[str] = []
    for place in sorted(places, key=lambda place: (place != ".", place)):
        if not any(is_below(place, outer) for outer in found):
            found.append(place)
    return found


def is_below(place: str, outer: str) -> bool:
    return outer in {".", place} or place.startswith(outer + "/")


def folders_with(known: Iterable[Folder], names: Collection[str]) -> list[str]:
    """The folders that hold a file of one of these names."""
    return [folder.path for folder in known if folder.files & frozenset(names)]


def holds_suffix(known: Iterable[Folder], place: str, suffixes: tuple[str, ...]) -> bool:
    return any(
        name.endswith(suffixes) for folder in known if is_below(folder.path, place) for name in folder.files
    )


def text_in(root: Path, *names: str) -> str:
    """The text of the named files together; a missing or binary one counts as empty."""
    texts = []
    for name in names:
        try:
            texts.append((root / name).read_text("utf-8", errors="replace"))
        except OSError:
            continue
    return "\n".join(texts)


PACKAGES_DEPTH = 3
"""Folders deep: where the packages of a workspace lie."""


def literal_glob(name: str) -> str:
    """A glob that matches just this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def is_usable_glob(glob: str) -> bool:
    try:
        compile_glob(glob)
    except ConfigError:
        return False
    return True


_SIGNS = ("pyvenv.cfg", "conda-meta")


def is_environment(folder: str) -> bool:
    """Whether an interpreter's environment is there, with all that makes one."""
    if not any(os.path.lexists(f"{folder}/{sign}") for sign in _SIGNS):
        return False
    if not os.path.lexists(f"{folder}/bin/python"):
        return False
    try:
        versions = os.listdir(f"{folder}/lib")  # noqa: PTH208 - only names are wanted
    except OSError:
        return False
    return any(os.path.isdir(f"{folder}/lib/{name}/site-packages") for name in versions)  # noqa: PTH112


def first_known(candidates: Iterable[str], files: Collection[str]) -> Iterator[str]:
    """The first that is one of the files, if any is."""
    found = next((name for name in candidates if name in files), None)
    if found is not None:
        yield found
