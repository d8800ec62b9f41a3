"""Which files the loaded modules come from: those of the worktree, and those that stand in for them."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import Any

from .bytecode import INSTALLED  # noqa: TID252 - the package has another name when injected

RUNNER = ("unittest", "pytest", "_pytest", "pluggy", "iniconfig", "packaging")
_PATH = list(sys.path)
"""Before any code of the project could change it."""


def loaded(settings: dict[str, Any]) -> dict[str, list[str]]:
    """`inside`: files below the worktree. `outside`: `FILE instead of PATH`, for what the project has itself,
    and the runner's own modules where they are the project's. Where the environment has no copy of such a
    module but a link to the project (an editable install), the project *is* what the runner stands on.
    """
    root = os.path.realpath(settings["worktree"]) + "/"
    inside: set[str] = set()
    outside: set[str] = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == "__main__":
            continue
        path = os.path.realpath(file)
        if path.startswith(root) and not path.startswith(INSTALLED):
            inside.add(path[len(root) :])
            if name.split(".")[0] in RUNNER and _has_other(name.split(".")[0], root):
                outside.add(f"{path[len(root) :]} instead of the installed {name}")
        elif not _standard(path):
            own = _own(name, root, settings["sources"])
            if own is not None:
                outside.add(f"{path} instead of {own}")
    return {"inside": sorted(inside), "outside": sorted(outside)}


def _has_other(name: str, root: str) -> bool:
    """Whether the environment has a copy of the package that is not the project's."""
    others = [entry for entry in _PATH if not _is_below(entry, root) or f"{entry}/".startswith(INSTALLED)]
    found = PathFinder.find_spec(name, others)
    return found is not None and not _is_below(found.origin or root, root)


def _is_below(path: str, root: str) -> bool:
    real = os.path.realpath(path) + "/"
    return real.startswith(root) and not real.startswith(INSTALLED)


def _own(name: str, root: str, sources: list[str]) -> str | None:
    """The project's file of a module that was loaded from elsewhere."""
    module = name.replace(".", "/")
    for source in sources:
        for end in (".py", "/__init__.py"):
            own = f"{source}/{module}{end}" if source else module + end
            if os.path.isfile(root + own):  # noqa: PTH113 - start-up time, as everywhere here
                return own
    return None


_LIBRARY = os.path.realpath(os.path.dirname(os.__file__)) + "/"  # noqa: PTH120 - start-up time


def _standard(path: str) -> bool:
    return path.startswith(_LIBRARY) and "-packages/" not in path
