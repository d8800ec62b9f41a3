"""Which tests pytest's own configuration names, read from the file that pytest would choose."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value

if TYPE_CHECKING:
    from pathlib import Path


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
