"""The play in Python, with pytest: a name that is missing is a right red, so no stub is needed."""

from __future__ import annotations

import importlib.util
import json
import sys

from verdigris.core.errors import ToolMissing
from verdigris.drivers.demo.script import Script

_CALC = "def add(a, b):\n    return a + b\n"
_SUB = "\n\ndef sub(a, b):\n    return a - b\n"
_TESTS = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
_REAL = _TESTS + "\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"


def script() -> Script:
    return Script(
        files={"calc.py": _CALC, "tests/test_calc.py": _TESTS, "conftest.py": "", "tdd.yaml": _config()},
        source="calc.py",
        tests="tests/test_calc.py",
        nothing_new="tests/test_calc.py::test_add_zero",
        asked="tests/test_calc.py::test_sub",
        eager=_CALC + _SUB,
        easy=_TESTS + "\n\ndef test_add_zero():\n    assert calc.add(2, 0) == 2\n",
        real=_REAL,
        stub=None,
        weaker=_REAL.replace("== 2", "is not None"),
        careless=_CALC.replace("a + b", "a - b") + _SUB,
        good=_CALC + _SUB,
    )


def _config() -> str:
    """The demo's folder has no interpreter of its own: ours runs it."""
    if importlib.util.find_spec("pytest") is None:
        raise ToolMissing(
            "the demo needs pytest beside Verdigris.", hint=f"{sys.executable} -m pip install pytest"
        )
    stack = "stacks:\n  - root: .\n    language: python\n    runner: pytest\n"
    return f"{stack}    python: {json.dumps(sys.executable)}\n"
