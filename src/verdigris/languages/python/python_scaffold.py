"""The scaffold of a Python project: a package in `src`, pytest, and ruff where it can be had."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.languages import PYTHON
from verdigris.core.settings import Stack
from verdigris.languages.form import Equipment, Form
from verdigris.languages.katas import module_name

if TYPE_CHECKING:
    from verdigris.languages.form import FindPython, FoundPython

_TOOLS = {"pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "ruff"}
TAKEN = frozenset(sys.stdlib_module_names) | _TOOLS | {"test", "tests", "src", "conftest"}
"""A package in `src` comes before the installed ones: none may take the place of what pytest needs."""

_PYPROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.9"

[dependency-groups]
dev = ["pytest>=7", "ruff"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E4", "E7", "E9", "F", "B", "UP"]
"""
_SMOKE = '''\
"""Shows that the tools work and find the package; the kata's own tests stand beside it."""

import {module}


def test_the_package_can_be_imported():
    assert {module}.__name__ == "{module}"
'''
_INSTALL = "python3 -m venv .venv && .venv/bin/python -m pip install pytest ruff"


def form(name: str, _title: str) -> Form:
    module = module_name(name)
    return Form(
        "pyproject.toml",
        {
            "pyproject.toml": _PYPROJECT.format(name=name),
            f"src/{module}/__init__.py": "",
            "tests/test_smoke.py": _SMOKE.format(module=module),
        },
        (".venv", "__pycache__/", "*.egg-info/", ".pytest_cache/", ".ruff_cache/"),
    )


def equipment(root: Path, find_python: FindPython) -> Equipment:
    found = find_python()
    if found is None:
        return Equipment(Stack(language=PYTHON), (_INSTALL,))
    before = () if _has_pytest(found) else (_INSTALL,)
    ruff = _ruff(root, found)
    if ruff is None:
        return Equipment(Stack(language=PYTHON), before)
    return Equipment(Stack(language=PYTHON, check=f"{ruff} check .", format=f"{ruff} format"), before)


def _has_pytest(found: FoundPython) -> bool:
    """One that does not say where its packages are may have it: `tdd test` will tell."""
    return found.packages is None or any(Path(folder, "pytest").is_dir() for folder in found.packages)


def _ruff(root: Path, found: FoundPython) -> str | None:
    """As a command can name it on every machine: from PATH, or in the project's environment."""
    if found.how == "project":
        beside = found.path.with_name("ruff")
        return os.path.relpath(beside, root) if os.access(beside, os.X_OK) else None
    return "ruff" if shutil.which("ruff") else None
