"""Which files of an interpreter run before or around every test, whatever the project holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.execution.interpreter import Places

RUNNER = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli")
"""Modules of the runner's distribution and of what it needs to start."""
CUSTOM = ("sitecustomize", "usercustomize")
_START_UP = ("__editable__", *(f"{name}." for name in CUSTOM))
_CODE = (".py", ".so", ".pyd", ".pyc")
_PLUGINS = "[pytest11]"


def watched(places: Places, env: Mapping[str, str]) -> frozenset[str]:
    found = {f"{places.prefix}/pyvenv.cfg"}
    modules = set(RUNNER)
    started = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry] + [places.library]
    for folder in places.packages:
        names = _names(folder)
        found.update(f"{folder}/{n}" for n in names if n.endswith(".pth") or n.startswith(_START_UP))
        modules.update(_plugins(f"{folder}/{n}/entry_points.txt" for n in names if n.endswith("-info")))
        started += [folder, *_added(folder, names)]
    for folder in started:
        found.update(f"{folder}/{name}{end}" for name in CUSTOM for end in (".py", "/__init__.py"))
    found.update(_code(f"{places.library}/unittest", places.cache_tag))
    for folder in places.packages:
        for module in modules:
            found.update(_code(f"{folder}/{module}", places.cache_tag))
    return frozenset(found)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - hundreds of names, and only names are wanted
    except OSError:
        return []


def _plugins(files: Iterable[str]) -> Iterator[str]:
    """Top-level modules of the plugins that the runner loads by itself."""
    for file in files:
        within = False
        for line in _lines(file):
            if line.startswith("["):
                within = line == _PLUGINS
            elif within and "=" in line:
                yield line.partition("=")[2].strip().split(":")[0].split(".")[0]


def _added(folder: str, names: Iterable[str]) -> Iterator[str]:
    """Folders that `.pth` files put on the path, where start-up modules are looked for too."""
    for name in names:
        if name.endswith(".pth"):
            lines = _lines(f"{folder}/{name}")
            yield from (
                os.path.join(folder, line)  # noqa: PTH118 - text in, text out
                for line in lines
                if line and not line.startswith(("#", "import ", "import\t"))
            )


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:  # noqa: PTH123 - as above
            return [line.strip() for line in opened]
    except OSError:
        return []


def package_files(module: str) -> Iterator[str]:
    """A module's file, or all code of a package, whichever is there."""
    yield from (path for path in (f"{module}.py",) if os.path.isfile(path))  # noqa: PTH113 - text in, text out
    yield from _package(module, "")


def _code(module: str, cache_tag: str) -> Iterator[str]:
    """A module's file, or all of a package's; bytecode only as this interpreter would load it."""
    yield f"{module}.py"
    folder, _, name = module.rpartition("/")
    yield from _caches(folder, cache_tag, only=f"{name}.")
    yield from _package(module, cache_tag)


def _package(folder: str, cache_tag: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name == "__pycache__":
            yield from _caches(folder, cache_tag) if cache_tag else ()
        elif entry.is_dir():
            yield from _package(entry.path, cache_tag)
        elif entry.name.endswith(_CODE):
            yield entry.path


def _caches(folder: str, cache_tag: str, only: str = "") -> Iterator[str]:
    """Not those that pytest rewrote: a verdict does not read them."""
    for name in _names(f"{folder}/__pycache__"):
        if name.startswith(only) and f".{cache_tag}." in name and "-pytest-" not in name:
            yield f"{folder}/__pycache__/{name}"
