"""Which files of another tool than pytest run below every test: its programs, its packages, its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.languages import NODE
from verdigris.execution.tools.toolset import toolset
from verdigris.languages.foldertree import walk
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.gotest import GoRunner
from verdigris.runners.jest import Jest
from verdigris.runners.vitest import Vitest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.settings import Stack
    from verdigris.storage.project import Project

_CODE = (".js", ".cjs", ".mjs", ".json", ".node", ".wasm")
_MODULES = "node_modules"
_KEPT = (".pnpm", ".bin")
_COMPILERS = ("cargo", "rustc", "rustdoc")


def tool_files(stack: Stack, root: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """None where the tool is missing; dependencies of the project itself are not among them."""
    try:
        tools = toolset(stack, root, environ)
    except (ConfigError, ToolMissing):
        return frozenset()
    programs = {path for path in tools.programs[:1] if os.access(path, os.X_OK)}
    match tools.runner:
        case Vitest(script=script) | Jest(script=script):
            return frozenset(programs.union(_packages(Path(script), root)))
        case CargoRunner():
            return frozenset(programs.union(_rust(tools.env)))
        case GoRunner(go=go):
            return frozenset(programs.union(_go(Path(go).resolve().parents[1])))
    return frozenset(programs)


def _packages(script: Path, root: Path) -> Iterator[str]:
    """The runner's package and all that it depends on, each where node would find it."""
    waiting = [_package_of(script)]
    seen: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        yield from package_code(package)
        waiting += filter(None, (found_package(name, package, str(root)) for name in _dependencies(package)))


def _package_of(script: Path) -> str:
    return os.path.realpath(next(folder for folder in script.parents if folder.parent.name == _MODULES))


def _dependencies(package: str) -> Iterable[str]:
    try:
        described = json.loads(Path(package, "package.json").read_bytes())
        return [*described.get("dependencies", {}), *described.get("optionalDependencies", {})]
    except (OSError, ValueError, AttributeError, TypeError):
        return ()


def found_package(name: str, package: str, root: str) -> str | None:
    """In its own folder, or in one above it, up to the worktree's root."""
    folder = package
    while True:
        beside = folder if folder.endswith(f"/{_MODULES}") else f"{folder}/{_MODULES}"
        if os.path.isdir(f"{beside}/{name}"):  # noqa: PTH112 - thousands of them
            return os.path.realpath(f"{beside}/{name}")
        if folder in {root, "/"}:
            return None
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above


def package_code(top: str) -> Iterator[str]:
    for folder, folders, files in walk(top):
        folders[:] = [name for name in folders if name != _MODULES]
        for path in (f"{folder}/{name}" for name in files):
            if path.endswith(_CODE) or ("." not in path.rpartition("/")[2] and os.access(path, os.X_OK)):
                yield path


def arrivals(project: Project, since: int) -> frozenset[str]:
    """Code in a Node stack's packages that came or changed since: whatever source imports, it finds there."""
    homes = {project.root / stack.root for stack in project.settings.stacks if stack.language == NODE}
    folders = {f"{home}/{_MODULES}" for folder in homes for home in (folder, project.root)}
    return frozenset(path for folder in folders for path in _newer_code(folder, since))


def _newer_code(top: str, since: int) -> Iterator[str]:
    """Not in folders of tools' caches, which a verdict does not see."""
    for folder, folders, files in walk(top):
        folders[:] = [name for name in folders if not name.startswith(".") or name in _KEPT]
        for path in (f"{folder}/{name}" for name in files if name.endswith(_CODE)):
            if os.lstat(path).st_ctime_ns > since:
                yield path


def _rust(env: Mapping[str, str]) -> Iterator[str]:
    """Of every toolchain: which one runs is decided by folders and variables."""
    if home := env.get("CARGO_HOME"):
        yield from (f"{home}/{name}" for name in ("config", "config.toml"))
    if rustup := env.get("RUSTUP_HOME"):
        yield f"{rustup}/settings.toml"
        for toolchain in sorted(Path(rustup, "toolchains").glob("*")):
            yield from (f"{toolchain}/bin/{name}" for name in _COMPILERS)


def _go(installed: Path) -> Iterator[str]:
    yield f"{installed}/VERSION"
    yield from map(str, installed.glob("pkg/tool/*/*"))
    yield from map(str, installed.glob("src/testing/**/*.go"))
