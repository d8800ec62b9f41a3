"""Finds a test tool: a program on PATH, or a package in `node_modules`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ToolMissing
from verdigris.runners import reporter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPORTER = str(reporter.__file__)
"""Beside it lies what the tools are made to load."""
OURS = (sys.executable, f"{sys.prefix}/.", f"{sys.base_prefix}/.", REPORTER)
"""Our own interpreter, and what it runs around each test binary."""
_INSTALL = {
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --immutable",
    "bun.lock": "bun install",
    "bun.lockb": "bun install",
    "package-lock.json": "npm ci",
}
"""By lock file: how the packages come that it names."""


def program(name: str, environ: Mapping[str, str], hint: str, *, beside: Path | None = None) -> str:
    """On PATH; a name with a `/` in it is looked for in the folder `beside`."""
    if "/" in name:
        found = (beside or Path()) / name
        if os.access(found, os.X_OK) and found.is_file():
            return str(found)
    elif there := shutil.which(name, path=environ.get("PATH", os.defpath)):
        return str(Path(there).absolute())
    raise ToolMissing(f"{name} cannot be found", hint=hint)


def package_file(package: str, script: str, home: Path, root: Path) -> Path:
    """A file of an installed package, by its path from the stack: hoisted ones lie in a folder above."""
    for folder in _upwards(home, root):
        found = folder / script
        if found.is_file():
            return found
    raise _missing(package, home, root)


def _missing(package: str, home: Path, root: Path) -> ToolMissing:
    for folder in _upwards(home, root):
        if (folder / ".pnp.cjs").is_file() or (folder / ".pnp.js").is_file():
            return ToolMissing(
                f"{package} is not in node_modules: Yarn keeps packages in archives here (Plug'n'Play)",
                hint="`yarn config set nodeLinker node-modules && yarn install`",
            )
    where = "" if home == root else f" of {home.relative_to(root)}"
    if any((folder / "node_modules").is_dir() for folder in _upwards(home, root)):
        return ToolMissing(
            f"{package} is not installed in node_modules{where}", hint=_adding(package, home, root)
        )
    return ToolMissing(
        f"{package} cannot be run: the packages{where} are not installed", hint=f"`{installing(home, root)}`"
    )


def installing(home: Path, root: Path) -> str:
    """What brings the packages, by the lock file that is there."""
    for folder in _upwards(home, root):
        for lock, command in _INSTALL.items():
            if (folder / lock).is_file():
                return command
    return "npm install"


def _adding(package: str, home: Path, root: Path) -> str:
    command = installing(home, root)
    tool = command.split()[0]
    verb = "install" if tool == "npm" else "add"
    return f"`{command}`; where it is no dependency yet, `{tool} {verb} -D {package}`"


def _upwards(home: Path, root: Path) -> Iterator[Path]:
    """From the stack's folder to the worktree's root."""
    yield home
    for folder in home.parents:
        if not folder.is_relative_to(root):
            return
        yield folder
