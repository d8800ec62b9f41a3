"""Where a Python stack keeps its source and its tests."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdigris.core.paths import Detected, PathClass, classify
from verdigris.languages.folders import is_environment, is_usable_glob, literal_glob, walk
from verdigris.languages.python.detection import FLAT, read_pytest_config

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_COLLECTED = ("test_*.py", "*_test.py", "conftest.py")


def layout(home: Path) -> Detected:
    has_src = (home / "src").is_dir()
    in_src = [files for _, _, files in walk(home / "src") if files] if has_src else []
    python_in_src = any(map(_has_python, in_src))
    packages = [
        name for name in _folders(home) if (home / name / "__init__.py").is_file() and _may_be_source(name)
    ]
    flat = not has_src or (not python_in_src and bool(packages or in_src))
    return Detected(
        flat=flat,
        source=tuple(map(literal_glob, ["src", *([] if flat else packages)])) if has_src else (),
        tests=(*_configured_tests(home), *map(literal_glob, _nested_test_folders(home))),
        environments=tuple(literal_glob(name) for name in _folders(home) if is_environment(f"{home}/{name}")),
    )


def _may_be_source(name: str) -> bool:
    return classify(f"{name}/x.py", FLAT) is PathClass.SOURCE


def _configured_tests(home: Path) -> tuple[str, ...]:
    config = read_pytest_config(home)
    files = [f"**/{glob}" for glob in config.python_files if glob.removesuffix(".py").strip("*")]
    return tuple(
        glob
        for glob in (*(p for p in config.testpaths if _holds_tests(home, p)), *files)
        if is_usable_glob(glob)
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


def _folders(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []


def _has_python(files: Iterable[str]) -> bool:
    return any(name.endswith((".py", ".pyx")) for name in files)
