"""Places the stubs of a Python test into the modules that it imports."""

from __future__ import annotations

import posixpath
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.languages.python.modules import ENDS, import_roots
from verdigris.languages.python.stubs.declarations import (
    add_members,
    extend_module,
    python_stub,
    read_declarations,
)
from verdigris.languages.python.stubs.uses import find_wanted
from verdigris.languages.stubs import Stub, Wanted, by_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.stubs import WorktreeFiles


_INSTALLED = ("", ".py", ".pyi", ".so")


def stubs_of(path: str, files: WorktreeFiles) -> tuple[Stub, ...]:
    places = _ModulePlaces(path, files)
    wanted = find_wanted(files.text(path), lambda module: places.find_file(module) is not None)
    stubs = {
        s.path: s for at, names in by_file(wanted, places.file).items() for s in _stubs(at, names, files)
    }
    packages = (Stub(at, "", "", new=True) for stub in stubs.values() for at in places.packages(stub.path))
    return (*dict.fromkeys(packages), *stubs.values())


def _stubs(at: str, wanted: Sequence[Wanted], files: WorktreeFiles) -> Iterator[Stub]:
    before = files.text(at)
    declared = read_declarations(before)
    if declared is None:
        return
    inside = posixpath.dirname(at) if at.endswith("/__init__.py") else None
    texts = [
        python_stub(one, raises=files.is_behaviour_red)
        for one in wanted
        if one.name and one.name not in declared and not _is_inner(inside, one.name, files)
    ]
    new = at not in files.paths
    grown = add_members(before, [one for one in wanted if one.name in declared])
    if texts or new or grown.added:
        text = "\n\n".join([*grown.added, *texts])
        yield Stub(at, text, extend_module(grown.text, texts) if texts else grown.text, new=new)


def _is_inner(package: str | None, name: str, files: WorktreeFiles) -> bool:
    """Whether a name is a module of the package, so that the package need not bind it."""
    ends = tuple(f"{name}{end}" for end in ENDS)
    return package is not None and any(f"{package}/{end}" in files.paths for end in ends)


_PATH_FILE = "# Lets plain `pytest` find the modules in this folder.\n"
_SAID = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest may be told which folders it looks in."""


def path_files(test: str, stubs: Sequence[Stub], files: WorktreeFiles) -> tuple[Stub, ...]:
    """A `conftest.py` beside the first modules of a project, by which pytest finds them from any folder.

    Our own runs look in the stack's folder, as `python -m pytest` does; plain `pytest` would not.
    """
    stack = files.stack_of(test)
    home = "" if stack.root in {"", "."} else stack.root.rstrip("/")
    at = posixpath.join(home, "conftest.py")
    is_on_path = (
        stack.runner != "pytest" or bool(files.source) or at in files.paths or _top(test, files) == home
    )
    if is_on_path or all(stub.path.startswith(posixpath.join(home, "src/")) for stub in stubs):
        return ()
    if any("pythonpath" in files.text(posixpath.join(home, name)) for name in _SAID):
        return ()
    return (Stub(at, _PATH_FILE, _PATH_FILE, new=True),)


def _top(test: str, files: WorktreeFiles) -> str:
    """The folder that pytest looks in because of a test file: the one around its outermost package."""
    folder = posixpath.dirname(test)
    while folder and posixpath.join(folder, "__init__.py") in files.paths:
        folder = posixpath.dirname(folder)
    return folder


class _ModulePlaces:
    """Finds the files of modules, also of those that do not exist yet."""

    def __init__(self, test: str, files: WorktreeFiles) -> None:
        self._files = files
        stack = files.stack_of(test)
        self._stack = stack
        self._home = "" if stack.root in {"", "."} else stack.root.rstrip("/")
        self._src = posixpath.join(self._home, "src")
        self._roots = tuple(dict.fromkeys((self._home, *import_roots(files.source))))
        self._beside = posixpath.dirname(test)

    def find_file(self, module: str) -> str | None:
        """The file of an existing module, of any path class; None if there is none."""
        name = module.replace(".", "/")
        ends = tuple(f"{name}{end}" for end in ENDS)
        places = (posixpath.join(root, end) for root in (*self._roots, self._beside) for end in ends)
        return next((place for place in places if place in self._files.paths), None)

    def file(self, module: str) -> str | None:
        """The source file of a module, which need not exist; None if the module is not this project's."""
        existing = self.find_file(module)
        if existing is not None:
            return existing if self._files.is_source(existing) else None
        top, *rest = module.split(".")
        if not self._is_own(top) and (top in sys.stdlib_module_names or self._is_installed(top)):
            return None
        if rest and (package := self._package(module)):
            return package
        name = module.replace(".", "/")
        others = (self._home, *self._roots)
        # An empty `src` shows no source yet, but may be the only place where source may stand.
        bases = (self._src, *others) if self._has_folder(self._src) else (*others, self._src)
        places = (posixpath.join(base, f"{name}.py") for base in bases)
        return next((place for place in places if self._files.is_source(place)), None)

    def _is_own(self, top: str) -> bool:
        """Whether the project has a folder of this package. It may be installed as well, e.g. as editable."""
        return any(self._has_folder(self._path_of_module(root, top)) for root in self._roots)

    def _package(self, module: str) -> str | None:
        """The path of a new module inside the nearest existing package around it; None if there is none."""
        outer, _, inner = module.rpartition(".")
        while outer:
            existing = self.find_file(outer)
            if existing is not None and existing.endswith("/__init__.py"):
                return posixpath.join(posixpath.dirname(existing), f"{inner.replace('.', '/')}.py")
            folder = next(
                (f for root in self._roots if self._has_folder(f := self._path_of_module(root, outer))), None
            )
            if folder is not None:
                return posixpath.join(folder, f"{inner.replace('.', '/')}.py")
            outer, _, last = outer.rpartition(".")
            inner = f"{last}.{inner}"
        return None

    def _path_of_module(self, root: str, module: str) -> str:
        return posixpath.join(root, module.replace(".", "/"))

    def _has_folder(self, folder: str) -> bool:
        return any(path.startswith(f"{folder}/") for path in self._files.source)

    def packages(self, path: str) -> Iterator[str]:
        """The `__init__.py` files that a new module needs in folders that do not exist yet."""
        folder = posixpath.dirname(path)
        while folder not in {"", self._src} and not any(
            path.startswith(f"{folder}/") for path in self._files.paths
        ):
            at = f"{folder}/__init__.py"
            if at != path and self._files.is_source(at):
                yield at
            folder = posixpath.dirname(folder)

    def _is_installed(self, top: str) -> bool:
        return any((folder / f"{top}{end}").exists() for folder in self._packages for end in _INSTALLED)

    @cached_property
    def _packages(self) -> Sequence[Path]:
        return self._files.packages(self._stack)
