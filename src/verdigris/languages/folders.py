"""Walks the folders of a project, to any depth."""

# Plain `os` calls, so that names stay `str`:
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
    """Walks like `os.walk`, top down. A caller skips folders by removing them from the yielded list."""
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
    """Makes a folder and those above it; they may exist already."""
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
"""A project inside one of these folders is test data, an example, or the output of a build."""


@value
class Folder:
    path: str
    """The path relative to the root; `.` for the root itself."""
    files: frozenset[str]


@value
class FoundStacks:
    stacks: tuple[Stack, ...] = ()
    notes: tuple[str, ...] = ()
    """What was found that is not a stack yet, and what a person can do to make it one."""


def folders(root: Path) -> tuple[Folder, ...]:
    """Lists the folders of a project, each before the folders that it contains."""
    listed = []
    for at, inner, files in walk(root, DEPTH):
        inner[:] = [name for name in inner if not re.fullmatch(_ASIDE, name)]
        listed.append(Folder(at, frozenset(files)))
    return tuple(listed)


def walk(root: Path, depth: int | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walks like `os.walk`, but skips hidden folders and installed packages."""
    for folder, inner, files in walk_tree(os.fspath(root)):
        here = os.path.relpath(folder, root)
        level = 0 if here == "." else here.count("/") + 1
        hidden = {name for name in inner if name.startswith(".") or name in _INSTALLED}
        environments = {name for name in inner if os.path.exists(f"{folder}/{name}/pyvenv.cfg")}  # noqa: PTH110 - one join less per folder
        inner[:] = [] if depth is not None and level >= depth else sorted(set(inner) - hidden - environments)
        yield here, inner, files


def outermost_of(places: Iterable[str]) -> list[str]:
    """The folders that no other of them contains."""
    outermost: list[str] = []
    for place in sorted(places, key=lambda place: (place != ".", place)):
        if not any(is_below(place, outer) for outer in outermost):
            outermost.append(place)
    return outermost


def is_below(place: str, outer: str) -> bool:
    return outer in {".", place} or place.startswith(outer + "/")


def folders_with(known: Iterable[Folder], names: Collection[str]) -> list[str]:
    """The folders that contain a file with one of these names."""
    return [folder.path for folder in known if folder.files & frozenset(names)]


def holds_suffix(known: Iterable[Folder], place: str, suffixes: tuple[str, ...]) -> bool:
    return any(
        name.endswith(suffixes) for folder in known if is_below(folder.path, place) for name in folder.files
    )


def text_in(root: Path, *names: str) -> str:
    """The joined text of the named files; a missing or binary file counts as empty."""
    texts = []
    for name in names:
        try:
            texts.append((root / name).read_text("utf-8", errors="replace"))
        except OSError:
            continue
    return "\n".join(texts)


PACKAGES_DEPTH = 3
"""How many folders deep the packages of a workspace are looked for."""


def literal_glob(name: str) -> str:
    """A glob that matches this name and nothing else."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def is_usable_glob(glob: str) -> bool:
    try:
        compile_glob(glob)
    except ConfigError:
        return False
    return True


_SIGNS = ("pyvenv.cfg", "conda-meta")


def is_environment(folder: str) -> bool:
    """Whether the folder is a complete virtual environment."""
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
    """Yields the first candidate that is one of the files, if there is one."""
    first = next((name for name in candidates if name in files), None)
    if first is not None:
        yield first
