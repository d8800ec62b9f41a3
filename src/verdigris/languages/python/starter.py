"""The scaffold of a Python project, and the demo's repository."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.settings import Stack
from verdigris.languages.starter import (
    Cheat,
    PlainTool,
    Scaffolder,
    ScaffoldForm,
    Script,
    Starter,
    StarterTools,
    module_name,
)

if TYPE_CHECKING:
    from verdigris.languages.starter import FindPython, FoundPython


_TOOLS = {"pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "ruff"}
TAKEN = frozenset(sys.stdlib_module_names) | _TOOLS | {"test", "tests", "src", "conftest"}
"""Names that a package may not have: `src` comes before installed packages, and pytest needs these."""

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


def form(name: str, _title: str) -> ScaffoldForm:
    module = module_name(name)
    return ScaffoldForm(
        "pyproject.toml",
        {
            "pyproject.toml": _PYPROJECT.format(name=name),
            f"src/{module}/__init__.py": "",
            "tests/test_smoke.py": _SMOKE.format(module=module),
        },
        (".venv", "__pycache__/", "*.egg-info/", ".pytest_cache/", ".ruff_cache/"),
    )


def equipment(root: Path, find_python: FindPython) -> StarterTools:
    python = find_python()
    if python is None:
        return StarterTools(Stack(language="python"), (_INSTALL,))
    before = () if _has_pytest(python) else (_INSTALL,)
    ruff = _ruff(root, python)
    if ruff is None:
        return StarterTools(Stack(language="python"), before)
    return StarterTools(Stack(language="python", check=f"{ruff} check .", format=f"{ruff} format"), before)


def _has_pytest(python: FoundPython) -> bool:
    """Whether an interpreter has pytest; True if it does not report its packages: `tdd test` will show."""
    return python.packages is None or any(Path(folder, "pytest").is_dir() for folder in python.packages)


def _ruff(root: Path, python: FoundPython) -> str | None:
    """The command of ruff that works on every machine: on PATH, or in the project's environment."""
    if python.how == "project":
        beside = python.path.with_name("ruff")
        return os.path.relpath(beside, root) if os.access(beside, os.X_OK) else None
    return "ruff" if shutil.which("ruff") else None


_CALC = "def add(a, b):\n    return a + b\n"
_SUB = "\n\ndef sub(a, b):\n    return a - b\n"
_MUL = "\n\ndef mul(a, b):\n    return a * b\n"
_ANYTHING = """

class Anything(int):
    def __eq__(self, other):
        return True


def mul(a, b):
    return Anything()
"""
_TESTS = """\
import unittest

import calc


class CalcTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
"""
_EASY = "\n    def test_add_zero(self):\n        self.assertEqual(calc.add(2, 0), 2)\n"
_ASKED = "\n    def test_sub(self):\n        self.assertEqual(calc.sub(5, 3), 2)\n"
_PRODUCT = "\n    def test_mul(self):\n        self.assertEqual(calc.mul(3, 4), 12)\n"
_REAL = _TESTS + _ASKED
_CASE = "test_calc.py::CalcTest"


def script() -> Script:
    good = _CALC + _SUB
    return Script(
        files={"calc.py": _CALC, "test_calc.py": _TESTS, "tdd.yaml": _config()},
        source="calc.py",
        tests="test_calc.py",
        nothing_new=f"{_CASE}::test_add_zero",
        asked=f"{_CASE}::test_sub",
        eager=good,
        easy=_TESTS + _EASY,
        real=_REAL,
        stub=None,
        weaker=_REAL.replace("assertEqual(calc.sub(5, 3), 2)", "assertIsNotNone(calc.sub(5, 3))"),
        careless=_CALC.replace("a + b", "a - b") + _SUB,
        good=good,
        cheat=Cheat(
            tests=_REAL + _PRODUCT,
            asked=f"{_CASE}::test_mul",
            hollow=good + _ANYTHING,
            honest=good + _MUL,
            plain=PlainTool("unittest", "python -m unittest", (sys.executable, "-B", "-m", "unittest")),
        ),
    )


def _config() -> str:
    """The demo's `tdd.yaml`; it names our interpreter, since the demo's folder has none."""
    stack = "stacks:\n  - root: .\n    language: python\n    runner: unittest\n"
    return f"{stack}    python: {json.dumps(sys.executable)}\n"


STARTER = Starter(script, Scaffolder(TAKEN, form, equipment))
