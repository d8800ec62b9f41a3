"""Detects Python stacks, and reads pytest's own configuration."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from itertools import islice
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import Detected, PathClass, classify
from verdigris.core.settings import Settings, Stack
from verdigris.core.value import value
from verdigris.languages.classes import compile_classes
from verdigris.languages.folders import FoundStacks, holding, holds_suffix, outermost, text_in, walk
from verdigris.languages.python.conventions import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


_MARKS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"})
_PROJECTS = frozenset({"pyproject.toml", "setup.py"})
_NAMES_PYTEST = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Pipfile", "Makefile"),
    *("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements/dev.txt"),
    *("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"),
)
_PYTEST = re.compile(r"\bpytest\b")
_UNITTEST = re.compile(r"\bunittest\b")
_TEST = re.compile(r"(?:test_.*|.*_test|tests?)\.py")
_DISCOVERED = re.compile(r"test.*\.py")
"""Names that unittest's own discovery takes."""
_MANY = 200
FLAT = compile_classes(Settings(), {(".", "python"): Detected(flat=True)}, lambda _: PLACES)


def find_stacks(root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:
    """`alone`: no other language is there, so a mark without any code, or code without a mark, counts."""
    places = ["."] if _MARKS & known[0].files else outermost(holding(known, _PROJECTS))
    if not alone:
        places = [place for place in places if holds_suffix(known, place, (".py", ".pyx"))]
    if not places and alone and _has_modules(root):
        places = ["."]
    return FoundStacks(tuple(Stack(root=place, runner=_runner(root / place)) for place in places))


def _has_modules(root: Path) -> bool:
    paths = (f"{at}/{name}".removeprefix("./") for at, _, files in walk(root, 2) for name in files)
    return any(classify(p, FLAT) in {PathClass.SOURCE, PathClass.TEST} for p in paths if p.endswith(".py"))


def _runner(home: Path) -> str:
    """Pytest runs unittest's cases too: it takes a project that nowhere speaks of it to do without."""
    if _PYTEST.search(text_in(home, *_NAMES_PYTEST)) or any(home.glob(".venv/lib/*/site-packages/pytest")):
        return "pytest"
    files = list(_test_files(home))
    if not all(_DISCOVERED.fullmatch(path.rpartition("/")[2]) for path in files):
        return "pytest"
    texts = [text_in(home, path) for path in files]
    only = bool(texts) and all(_UNITTEST.search(text) and not _PYTEST.search(text) for text in texts)
    return "unittest" if only else "pytest"


def _test_files(home: Path) -> Iterator[str]:
    found = (f"{at}/{name}" for at, _, files in walk(home) for name in sorted(files) if _TEST.fullmatch(name))
    return islice(found, _MANY)


@value
class PytestConfig:
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ()


def read_pytest_config(home: Path) -> PytestConfig:
    """The first file that pytest would take; a broken one names nothing (the runner will say so)."""
    for name, sections in _FILES:
        try:
            text = (home / name).read_text(encoding="utf-8")
            table = _table(name, text, sections)
            if table is not None:
                return PytestConfig(_words(table.get("testpaths")), _words(table.get("python_files")))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, configparser.Error):
            return PytestConfig()
    return PytestConfig()


_FILES: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("pytest.toml", (("pytest",), ())),
    (".pytest.toml", (("pytest",), ())),
    ("pytest.ini", (("pytest",), ())),
    (".pytest.ini", (("pytest",), ())),
    ("pyproject.toml", (("tool", "pytest", "ini_options"), ("tool", "pytest"))),
    ("tox.ini", (("pytest",),)),
    ("setup.cfg", (("tool:pytest",),)),
)
"""In pytest's order; the empty section at the end of the first ones says that the file alone is enough."""


def _table(name: str, text: str, sections: tuple[tuple[str, ...], ...]) -> dict[str, Any] | None:
    document: Any = tomllib.loads(text) if name.endswith(".toml") else _ini(text)
    for keys in sections:
        table = document
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict):
            return table
    return None


def _ini(text: str) -> dict[str, Any]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _words(value: Any) -> tuple[str, ...]:
    match value:
        case str():
            return tuple(shlex.split(value))
        case list():
            return tuple(str(word) for word in value)
        case _:
            return ()
