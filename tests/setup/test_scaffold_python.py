from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from verdigris.core.settings import Stack
from verdigris.languages.python import starter
from verdigris.setup.scaffold import find_python

pytestmark = pytest.mark.quick


def test_ruff_on_the_path_is_wired(folder: Path) -> None:
    found = starter.equipment(folder, partial(find_python, folder))
    assert found.stack == Stack(check="ruff check .", format="ruff format")
    assert found.before == ()


def test_an_environment_without_pytest_and_ruff_is_told(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    found = starter.equipment(folder, partial(find_python, folder))
    assert found.stack == Stack()
    assert "pip install pytest" in found.before[0]
    ruff = folder / ".venv/bin/ruff"
    ruff.write_text("#!/bin/sh\n")
    ruff.chmod(0o755)
    assert starter.equipment(folder, partial(find_python, folder)).stack.check == ".venv/bin/ruff check ."


def test_no_python_at_all_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    found = starter.equipment(folder, partial(find_python, folder))
    assert (found.stack, len(found.before)) == (Stack(), 1)


@pytest.mark.parametrize("name", ["json", "test", "tests", "src"])
def test_names_that_python_keeps_are_taken(name: str) -> None:
    assert name in starter.TAKEN
