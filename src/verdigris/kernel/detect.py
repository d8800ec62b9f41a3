"""What a project is, found by looking: its stacks, and where each keeps source and tests."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdigris.core.classify import Detected, classify, compile_classes
from verdigris.core.errors import ConfigError
from verdigris.core.globs import compile_glob
from verdigris.core.pathclass import PathClass
from verdigris.core.settings import Settings, Stack
from verdigris.kernel.pytestconfig import read_pytest_config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PYTHON_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile")
_OTHER_LANGUAGES = {
    "package.json": "JavaScript",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java",
    "build.gradle": "Java",
    "build.gradle.kts": "Kotlin",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "mix.exs": "Elixir",
    "Package.swift": "Swift",
}
_COLLECTED = ("test_*.py", "*_test.py", "conftest.py")
_DEPTH = 3
_FLAT = compile_classes(Settings(), {".": Detected(flat=True)})


def detect(root: Path) -> tuple[Stack, ...]:
    """The stacks of a project that has no `tdd.yaml` yet; none when no supported language is seen."""
    if any((root / mark).is_file() for mark in _PYTHON_MARKS):
        return (Stack(),)
    marked = sorted(at for at, _, files in _walk(root, _DEPTH) if {"pyproject.toml", "setup.py"} & set(files))
    outermost: list[str] = []
    for folder in marked:
        if not any(folder.startswith(outer + "/") for outer in outermost):
            outermost.append(folder)
    if outermost:
        return tuple(Stack(root=folder) for folder in outermost)
    return (Stack(),) if _has_modules(root) else ()


def unrecognised(root: Path) -> tuple[str, ...]:
    """Marks of languages that this version does not support, as `file (language)`."""
    return tuple(f"{name} ({lang})" for name, lang in _OTHER_LANGUAGES.items() if (root / name).is_file())


def layouts(root: Path, settings: Settings) -> dict[str, Detected]:
    return {stack.root: layout(root, stack) for stack in settings.stacks}


def layout(root: Path, stack: Stack) -> Detected:
    """Where a stack keeps its source and its tests, as far as names alone do not tell."""
    home = root / stack.root
    has_src = (home / "src").is_dir()
    python_in_src = has_src and any(_has_python(files) for _, _, files in _walk(home / "src"))
    packages = [
        name for name in _folders(home) if (home / name / "__init__.py").is_file() and _may_be_source(name)
    ]
    flat = not has_src or (not python_in_src and bool(packages))
    return Detected(
        flat=flat,
        source=tuple(map(_literal, ["src", *([] if flat else packages)])) if has_src else (),
        tests=(*_configured_tests(home), *map(_literal, _nested_test_folders(home))),
        environments=tuple(
            _literal(name) for name in _folders(home) if (home / name / "pyvenv.cfg").is_file()
        ),
    )


def _has_modules(root: Path) -> bool:
    paths = (f"{at}/{name}".removeprefix("./") for at, _, files in _walk(root, 2) for name in files)
    return any(classify(p, _FLAT) in {PathClass.SOURCE, PathClass.TEST} for p in paths if p.endswith(".py"))


def _may_be_source(name: str) -> bool:
    return classify(f"{name}/x.py", _FLAT) is PathClass.SOURCE


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
        for folder, _, files in _walk(home)
        if folder.endswith("/test") and any(fnmatchcase(name, glob) for name in files for glob in _COLLECTED)
    )


def _walk(root: Path, depth: int | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        level = 0 if here == "." else here.count("/") + 1
        hidden = {
            name
            for name in folders
            if name.startswith(".") or name in {"node_modules", "__pycache__", "venv"}
        }
        environments = {name for name in folders if os.path.exists(f"{folder}/{name}/pyvenv.cfg")}  # noqa: PTH110 - one join less per folder
        folders[:] = (
            [] if depth is not None and level >= depth else sorted(set(folders) - hidden - environments)
        )
        yield here, folders, files


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
