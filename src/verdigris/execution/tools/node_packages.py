"""Packages in `node_modules`: where they are, how they are installed, and which of their files count."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from verdigris.core.errors import ToolMissing
from verdigris.core.paths import Entry, PathClass
from verdigris.execution.tools.registry import Lent
from verdigris.languages.folders import walk_tree
from verdigris.languages.registry import language_for, language_named
from verdigris.storage.project import Project

MODULES = "node_modules"
_CODE = (".js", ".cjs", ".mjs", ".json", ".node", ".wasm")
_KEPT = (".pnpm", ".bin")
"""Hidden folders in `node_modules` that contain code."""
_INSTALL = {
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --immutable",
    "bun.lock": "bun install",
    "bun.lockb": "bun install",
    "package-lock.json": "npm ci",
}
"""The command that installs the packages of each lock file."""


def package_file(package: str, script: str, home: Path, root: Path, lent: Lent = ()) -> Path:
    """A file of an installed package. The package lies in the stack or, if it is hoisted, in a folder above.

    `lent`: folders that a run sees at paths below the root, instead of what lies there.
    """
    for folder in folders_above(home, root):
        found = folder / script
        if real_place(found, root, lent).is_file():
            return found
    raise _missing_package(package, home, root)


def real_place(path: Path, root: Path, lent: Lent) -> Path:
    """Where the file lies that a run sees at the path."""
    for folder, place in lent:
        if path.is_relative_to(root / place):
            return Path(folder) / path.relative_to(root / place)
    return path


def _missing_package(package: str, home: Path, root: Path) -> ToolMissing:
    for folder in folders_above(home, root):
        if (folder / ".pnp.cjs").is_file() or (folder / ".pnp.js").is_file():
            return ToolMissing(
                f"{package} is not in node_modules: Yarn keeps packages in archives here (Plug'n'Play)",
                hint="`yarn config set nodeLinker node-modules && yarn install`",
            )
    where = "" if home == root else f" of {home.relative_to(root)}"
    if any((folder / "node_modules").is_dir() for folder in folders_above(home, root)):
        return ToolMissing(
            f"{package} is not installed in node_modules{where}", hint=_add_command(package, home, root)
        )
    return ToolMissing(
        f"{package} cannot be run: the packages{where} are not installed",
        hint=f"`{install_command(home, root)}`",
    )


def install_command(home: Path, root: Path) -> str:
    """The command that installs the packages, by the lock file that exists; it is given in the root."""
    folder, command = _installation(home, root)
    return command if folder == root else f"cd {shlex.quote(str(folder.relative_to(root)))} && {command}"


def _installation(home: Path, root: Path) -> tuple[Path, str]:
    locks = ((folder, lock) for folder in folders_above(home, root) for lock in _INSTALL)
    found = next(((folder, lock) for folder, lock in locks if (folder / lock).is_file()), None)
    return (home, "npm install") if found is None else (found[0], _INSTALL[found[1]])


def _add_command(package: str, home: Path, root: Path) -> str:
    tool = _installation(home, root)[1].split()[0]
    verb = "install" if tool == "npm" else "add"
    command = install_command(home, root)
    return f"`{command}`; where it is no dependency yet, `{tool} {verb} -D {package}`"


def folders_above(home: Path, root: Path) -> Iterator[Path]:
    """The folders from the stack's up to the worktree's root."""
    yield home
    for folder in home.parents:
        if not folder.is_relative_to(root):
            return
        yield folder


def files_below(script: Path, root: Path) -> Iterator[str]:
    """The code of the runner's package and of all its dependencies, where node finds each."""
    waiting = [os.path.realpath(package_of(script))]
    seen: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        yield from package_code(package)
        waiting += filter(None, (find_package(name, package, str(root)) for name in _dependencies(package)))


def package_of(script: Path) -> Path:
    """The folder of the package that contains a script."""
    return next(folder for folder in script.parents if folder.parent.name == MODULES)


def _dependencies(package: str) -> Iterable[str]:
    try:
        described = json.loads(Path(package, "package.json").read_bytes())
        return [*described.get("dependencies", {}), *described.get("optionalDependencies", {})]
    except (OSError, ValueError, AttributeError, TypeError):
        return ()


def find_package(name: str, package: str, root: str) -> str | None:
    """Finds a package as node does: in this folder, then in those above, up to the worktree's root."""
    folder = package
    while True:
        beside = folder if folder.endswith(f"/{MODULES}") else f"{folder}/{MODULES}"
        if os.path.isdir(f"{beside}/{name}"):
            return os.path.realpath(f"{beside}/{name}")
        if folder in {root, "/"}:
            return None
        folder = os.path.dirname(folder)


def package_code(top: str) -> Iterator[str]:
    for folder, folders, files in walk_tree(top):
        folders[:] = [name for name in folders if name != MODULES]
        for path in (f"{folder}/{name}" for name in files):
            if path.endswith(_CODE) or ("." not in path.rpartition("/")[2] and os.access(path, os.X_OK)):
                yield path


def _newer_code(top: str, since: int) -> Iterator[str]:
    """The code that changed since then, without the caches of tools, which a verdict does not see."""
    for folder, folders, files in walk_tree(top):
        folders[:] = [name for name in folders if not name.startswith(".") or name in _KEPT]
        for path in (f"{folder}/{name}" for name in files if name.endswith(_CODE)):
            if os.lstat(path).st_ctime_ns > since:
                yield path


def new_package_code(project: Project, since: int) -> frozenset[str]:
    """Code in the packages of Node stacks that is new or changed since then: source can import any of it."""
    homes = {
        project.root / stack.root
        for stack in project.settings.stacks
        if language_named(stack.language).project.packages_folder
    }
    folders = {f"{home}/{MODULES}" for folder in homes for home in (folder, project.root)}
    return frozenset(path for folder in folders for path in _newer_code(folder, since))


_IMPORTED = re.compile(rb"""\b(?:from|import|require)\s*\(?\s*["']((?:@[\w.-]+/)?[a-z\d][\w.-]*)["'/]""")
_MANIFEST = "package.json"


def asserted_packages(project: Project, known: dict[str, Any]) -> frozenset[str]:
    """The files of packages that tests import, without those that source depends on.

    `known`: the packages by the blob of a test file; new ones are added.
    """
    if not any(language_named(stack.language).project.packages_folder for stack in project.settings.stacks):
        return frozenset()
    tree = project.workspace.snapshot()
    entries = project.workspace.files(tree)
    tests = [entry for entry in entries if _is_test(project, entry)]
    unread = {entry.path: entry.blob for entry in tests if entry.blob not in known}
    for path, data in project.workspace.read_many(tree, unread).items():
        known[unread[path]] = sorted({name.decode() for name in _IMPORTED.findall(data or b"")})
    for blob in known.keys() - {entry.blob for entry in tests}:
        del known[blob]
    manifests = [entry.path for entry in entries if f"/{entry.path}".endswith(f"/{_MANIFEST}")]
    needed = frozenset(
        name
        for data in project.workspace.read_many(tree, manifests).values()
        for name in _dependency_names(data)
    )
    asked = {(entry.path.rpartition("/")[0], name) for entry in tests for name in known[entry.blob]}
    root = str(project.root)
    folders = {
        find_package(name, f"{root}/{folder}".rstrip("/"), root)
        for folder, name in asked
        if name not in needed
    }
    return frozenset(path for folder in folders - {None} if folder for path in package_code(folder))


def _is_test(project: Project, entry: Entry) -> bool:
    language = language_for(entry.path)
    if language is None or not language.project.packages_folder:
        return False
    return project.classify(entry.path) is PathClass.TEST


def _dependency_names(data: bytes | None) -> Iterator[str]:
    """The `dependencies` of a package.json: source imports these packages, and may change them in a turn."""
    try:
        document = json.loads(data or b"{}")
        yield from document.get("dependencies", {})
    except (ValueError, AttributeError, TypeError):
        return
