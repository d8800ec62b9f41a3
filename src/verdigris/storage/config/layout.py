"""Finds where a stack keeps its source and its tests."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, NotARepository
from verdigris.core.languages import suffixes_of
from verdigris.core.paths import Detected, PathClass, Where, classify, compile_glob, where
from verdigris.languages.folders import text_in, walk
from verdigris.languages.node.detection import manifest
from verdigris.languages.python.detection import FLAT, read_pytest_config
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.scan import is_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from verdigris.core.settings import Settings, Stack

_COLLECTED = ("test_*.py", "*_test.py", "conftest.py")
_SETUP = re.compile(
    r"""["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|snapshotSerializers|testEnvironment|runner)["']?\s*:\s*"""
    r"""(\[[^\]]*\]|["'`][^"'`\n]*["'`])"""
)
_QUOTED = re.compile(r"""["'`](?:<rootDir>/|\./)?([^"'`\n]+)["'`]""")
_NODE_CONFIG = frozenset(
    f"{name}.{end}"
    for name in ("vitest.config", "vite.config", "jest.config", "vitest.workspace")
    for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json")
) | {"package.json"}
_SPECIAL = frozenset("*?[!#\\ ")
_PACKAGES = 3
"""Folders deep: where the packages of a workspace lie."""


def layouts(root: Path, settings: Settings) -> dict[Where, Detected]:
    return {where(stack): layout(root, stack) for stack in settings.stacks}


def layout(root: Path, stack: Stack) -> Detected:
    """Where a stack keeps its source and its tests, as far as names alone do not tell."""
    found = _of_language(root / stack.root, stack)
    generated = _generated(root, stack)
    return replace(found, generated=generated) if generated else found


def _of_language(home: Path, stack: Stack) -> Detected:
    match stack.language:
        case "python":
            return _python(home)
        case "node":
            return Detected(flat=True, tests=_setup_files(home))
        case "rust":
            return Detected(flat=True, tests=_declared_tests(home))
        case _:
            return Detected(flat=True)


def _generated(root: Path, stack: Stack) -> tuple[str, ...]:
    """Files of the language that a `.gitignore` names, each by its whole name, and that git does not hold.

    Patterns are left out: `lib/` or `*.py` would open more than what a build writes. So is what a stack's
    `source` names.
    """
    home = root / stack.root
    lines = [line.strip() for line in text_in(home, ".gitignore").splitlines()]
    names = [
        line for line in lines if line.endswith(suffixes_of(stack.language)) and not set(line) & _SPECIAL
    ]
    globs = [name.lstrip("/") if "/" in name else f"**/{name}" for name in names if name not in stack.source]
    held = _held(root, stack.root) if globs else []
    return tuple(glob for glob in globs if not any(map(re.compile(compile_glob(glob)).fullmatch, held)))


def _held(root: Path, folder: str) -> list[str]:
    """What git holds of a folder, as seen from there."""
    try:
        listed = null_split(users_git(find_repository(root)).run("ls-files", "-z"))
    except NotARepository:
        return []
    prefix = "" if folder == "." else f"{folder}/"
    return [path.removeprefix(prefix) for path in listed if path.startswith(prefix)]


def _python(home: Path) -> Detected:
    has_src = (home / "src").is_dir()
    in_src = [files for _, _, files in walk(home / "src") if files] if has_src else []
    python_in_src = any(map(_has_python, in_src))
    packages = [
        name for name in _folders(home) if (home / name / "__init__.py").is_file() and _may_be_source(name)
    ]
    flat = not has_src or (not python_in_src and bool(packages or in_src))
    return Detected(
        flat=flat,
        source=tuple(map(_literal, ["src", *([] if flat else packages)])) if has_src else (),
        tests=(*_configured_tests(home), *map(_literal, _nested_test_folders(home))),
        environments=tuple(_literal(name) for name in _folders(home) if is_environment(f"{home}/{name}")),
    )


def _may_be_source(name: str) -> bool:
    return classify(f"{name}/x.py", FLAT) is PathClass.SOURCE


def _configured_tests(home: Path) -> tuple[str, ...]:
    config = read_pytest_config(home)
    files = [f"**/{glob}" for glob in config.python_files if glob.removesuffix(".py").strip("*")]
    return tuple(
        glob for glob in (*(p for p in config.testpaths if _holds_tests(home, p)), *files) if _usable(glob)
    )


def _holds_tests(home: Path, testpath: str) -> bool:
    """A testpath may also name a package or source root, whose files stay source."""
    name = testpath.rstrip("/").rpartition("/")[2]
    if "test" in name.lower():
        return True
    folder = home / testpath
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return False
    return folder != home and folder != home / "src" and any(p.suffix == ".py" for p in folder.iterdir())


def _nested_test_folders(home: Path) -> list[str]:
    """A folder `test` inside a package is source by its name (a test client, say), unless it holds tests."""
    return sorted(
        folder
        for folder, _, files in walk(home)
        if folder.endswith("/test") and any(fnmatchcase(name, glob) for name in files for glob in _COLLECTED)
    )


def _setup_files(home: Path) -> tuple[str, ...]:
    """Files that a runner's configuration, also a package's own, says it loads before or around the tests."""
    found: dict[str, None] = {}
    for at, _, files in walk(home, _PACKAGES):
        if configured := sorted(_NODE_CONFIG & frozenset(files)):
            named = (path for text in _texts(home / at, configured) for path in _named_files(text))
            found |= dict.fromkeys(f"{at}/{path}".removeprefix("./") for path in named)
    return tuple(_literal(path) for path in found if _is_ours(home, path))


def _texts(folder: Path, configured: list[str]) -> Iterator[str]:
    yield json.dumps(manifest(folder).get("jest"))
    yield text_in(folder, *(name for name in configured if name != "package.json"))


def _named_files(text: str) -> Iterator[str]:
    return (path for words in _SETUP.findall(text) for path in _QUOTED.findall(words))


def _is_ours(home: Path, path: str) -> bool:
    return (
        not path.startswith("/") and ".." not in path and (home / path).is_file() and _usable(_literal(path))
    )


def _declared_tests(home: Path) -> tuple[str, ...]:
    """Where `[[test]]` of a crate says that its tests are, if not in `tests/`."""
    crates = [at for at, _, files in walk(home, _PACKAGES) if "Cargo.toml" in files]
    paths = (f"{at}/{path}".removeprefix("./") for at in crates for path in _test_paths(home / at))
    return tuple(_literal(path) for path in paths if _usable(_literal(path)))


def _test_paths(crate: Path) -> Iterator[str]:
    try:
        tables = tomllib.loads(text_in(crate, "Cargo.toml")).get("test")
    except tomllib.TOMLDecodeError:
        return
    for table in tables if isinstance(tables, list) else ():
        path = table.get("path") if isinstance(table, dict) else None
        if isinstance(path, str) and not path.startswith(("/", "..", "src/")):
            yield path.rpartition("/")[0] or path


def _folders(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []


def _has_python(files: Iterable[str]) -> bool:
    return any(name.endswith((".py", ".pyx")) for name in files)


def _literal(name: str) -> str:
    """A glob that matches just this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _usable(glob: str) -> bool:
    try:
        compile_glob(glob)
    except ConfigError:
        return False
    return True
