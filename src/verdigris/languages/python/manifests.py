"""Reads what the files of a Python project say: pytest's keys, needed packages, the settings of Django."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value
from verdigris.languages.conventions import at
from verdigris.languages.folders import text_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def _parse(name: str, text: str) -> dict[str, Any]:
    """The tables of a file, by their names; raises ValueError or `configparser.Error`."""
    if name == "Pipfile" or name.endswith(".toml"):
        return tomllib.loads(text)
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


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
            section = _table(name, (home / name).read_text(encoding="utf-8"), sections)
            if section is not None:
                keys, table = section
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
    document = _parse(name, text)
    tables = ((keys, at(document, *keys)) for keys in sections)
    return next(((keys, table) for keys, table in tables if isinstance(table, dict)), None)


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


_LISTS = (
    *("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"),
    *("requirements/base.txt", "requirements/dev.txt", "requirements/test.txt", "requirements/tests.txt"),
)
_DISTRIBUTIONS = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "pil": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Modules with the distribution that brings them, where its name is another."""
_IN_SETUP = re.compile(r"(?:install|tests|extras)_requires?\s*=\s*[\[{](.*?)[\]}]", re.DOTALL)


def is_declared(home: Path, module: str) -> bool:
    """Whether the project says that it needs the distribution of a module."""
    wanted = _normal(_DISTRIBUTIONS.get(module.lower(), module))
    names = (re.match(r"\s*([A-Za-z0-9][\w.-]*)", requirement) for requirement in _requirements(home))
    return any(wanted == _normal(name[1]) for name in names if name)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(home: Path) -> Iterator[str]:
    yield from text_in(home, *_LISTS).splitlines()
    for name in ("pyproject.toml", "Pipfile"):
        yield from _in_toml(_document(home, name))
    for name in ("setup.cfg", "tox.ini"):
        for section, keys in _document(home, name).items():
            for key, words in keys.items():
                if section.endswith("extras_require") or key in {"install_requires", "tests_require", "deps"}:
                    yield from (words or "").splitlines()
    for listed in _IN_SETUP.findall(text_in(home, "setup.py")):
        yield from re.findall(r"[\"']([^\"']+)[\"']", listed)


def _document(home: Path, name: str) -> dict[str, Any]:
    """The tables of a file; none if it is missing or broken."""
    try:
        return _parse(name, text_in(home, name))
    except (ValueError, configparser.Error):
        return {}


def _in_toml(document: dict[str, Any]) -> Iterator[str]:
    groups = [
        at(document, "project", "dependencies"),
        *_values(at(document, "project", "optional-dependencies")),
        *_values(at(document, "dependency-groups")),
        at(document, "tool", "uv", "dev-dependencies"),
        at(document, "tool", "poetry", "dependencies"),
        *(at(group, "dependencies") for group in _values(at(document, "tool", "poetry", "group"))),
        at(document, "packages"),
        at(document, "dev-packages"),
    ]
    for group in groups:
        if isinstance(group, list | dict):
            yield from (name for name in group if isinstance(name, str))


def _values(table: Any) -> list[Any]:
    return list(table.values()) if isinstance(table, dict) else []


_SETTINGS = re.compile(r"""DJANGO_SETTINGS_MODULE["']\s*[,\]]\s*=?\s*["']([\w.]+)["']""")


def settings_of(home: Path) -> str:
    """The settings module that `manage.py` names; empty if the folder is no Django project."""
    try:
        match = _SETTINGS.search((home / "manage.py").read_text("utf-8", "replace"))
    except OSError:
        return ""
    return match[1] if match else ""
