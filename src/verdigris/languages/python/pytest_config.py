"""Reads pytest's configuration where pytest would, and says which line of it would help."""

from __future__ import annotations

import configparser
import json
import shlex
import tomllib
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@value
class PytestConfig:
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ()


def read_pytest_config(home: Path) -> PytestConfig:
    """Reads the first file that pytest would use; a broken one counts as empty (the runner reports it)."""
    table = _pytest_table(home).keys
    return PytestConfig(_words(table.get("testpaths")), _words(table.get("python_files")))


@value
class _PytestTable:
    """The part of a file from which pytest reads its keys, or would."""

    file: str
    header: str
    keys: dict[str, Any]


def _pytest_table(home: Path) -> _PytestTable:
    new = ("pyproject.toml", _HEADER) if (home / "pyproject.toml").exists() else ("pytest.ini", "[pytest]")
    for name, sections in CONFIG_FILES:
        try:
            found = _table(name, (home / name).read_text(encoding="utf-8"), sections)
            if found is not None:
                keys, table = found
                return _PytestTable(name, f"[{'.'.join(keys or sections[0])}]", table)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, configparser.Error):
            break
    return _PytestTable(*new, {})


_HEADER = "[tool.pytest.ini_options]"


def pytest_setting(home: Path, key: str, words: Sequence[str]) -> str:
    """Says which line makes pytest know the words, besides those that the key has already, and where."""
    table = _pytest_table(home)
    have = _words(table.keys.get(key))
    every = (*have, *(word for word in words if word not in have))
    is_list = table.file.endswith(".toml") and key == "pythonpath"
    quoted = [json.dumps(word) for word in every] if table.file.endswith(".toml") else list(every)
    written = f"[{', '.join(quoted)}]" if is_list else " ".join(quoted)
    return f"`{key} = {written}` below `{table.header}` in {table.file}"


CONFIG_FILES: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("pytest.toml", (("pytest",), ())),
    (".pytest.toml", (("pytest",), ())),
    ("pytest.ini", (("pytest",), ())),
    (".pytest.ini", (("pytest",), ())),
    ("pyproject.toml", (("tool", "pytest", "ini_options"), ("tool", "pytest"))),
    ("tox.ini", (("pytest",),)),
    ("setup.cfg", (("tool:pytest",),)),
)
"""Files and sections in pytest's order. An empty section at the end means that the file alone is enough."""


def _table(
    name: str, text: str, sections: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    document: Any = tomllib.loads(text) if name.endswith(".toml") else _ini(text)
    for keys in sections:
        table = document
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict):
            return keys, table
    return None


def _ini(text: str) -> dict[str, Any]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _words(value: Any) -> tuple[str, ...]:
    match value:
        case str():
            try:
                return tuple(shlex.split(value))
            except ValueError:
                return ()
        case list():
            return tuple(str(word) for word in value)
        case _:
            return ()
