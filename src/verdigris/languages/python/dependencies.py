"""Reads which packages a Python project declares that it needs."""

from __future__ import annotations

import configparser
import re
import tomllib
from typing import TYPE_CHECKING, Any

from verdigris.languages.conventions import at
from verdigris.languages.folders import text_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    wanted = _DISTRIBUTIONS.get(module.lower(), module)
    return _normal(wanted) in {_normal(name) for name in _declared_names(home)}


def _declared_names(home: Path) -> Iterator[str]:
    for requirement in _requirements(home):
        if found := re.match(r"\s*([A-Za-z0-9][\w.-]*)", requirement):
            yield found[1]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(home: Path) -> Iterator[str]:
    yield from text_in(home, *_LISTS).splitlines()
    for name in ("pyproject.toml", "Pipfile"):
        try:
            document = tomllib.loads(text_in(home, name))
        except tomllib.TOMLDecodeError:
            continue
        yield from _in_toml(document)
    for name in ("setup.cfg", "tox.ini"):
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(text_in(home, name))
        except configparser.Error:
            continue
        for section in parser.sections():
            keys = parser.items(section)
            asked = section.endswith("extras_require")
            yield from (
                line
                for key, value in keys
                if asked or key in {"install_requires", "tests_require", "deps"}
                for line in (value or "").splitlines()
            )
    for listed in _IN_SETUP.findall(text_in(home, "setup.py")):
        yield from re.findall(r"[\"']([^\"']+)[\"']", listed)


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
