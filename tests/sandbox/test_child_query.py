"""Programs that an agent could have put there are asked apart: whatever they write is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verdigris.checks.foundation import foreign
from verdigris.core.settings import Stack
from verdigris.execution.tools.interpreter import Interpreter
from verdigris.sandbox.child import available, confine_query
from verdigris.setup.doctor_checks import check_stack

pytestmark = pytest.mark.skipif(not available().ok, reason="nobody is confined here")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def evil(tree: Path) -> Path:
    """An interpreter that writes beside the tree and into it, then goes on as a real one."""
    python = tree / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\necho x > {tree}/inside\necho x > {tree.parent}/outside\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    return python


def untouched(tree: Path) -> bool:
    return not (tree / "inside").exists() and not (tree.parent / "outside").exists()


def test_what_is_hidden_is_not_read_and_the_rest_is(tree: Path) -> None:
    (tree / "seen").write_text("seen")
    (tree / "hidden").mkdir()
    (tree / "hidden/secret").write_text("secret")
    with confine_query(tree, hides=[tree / "hidden"]) as confine:
        argv = ["sh", "-c", "cat seen hidden/secret; echo x > seen"]
        done = subprocess.run(argv, cwd=tree, preexec_fn=confine, capture_output=True, check=False)
    assert done.stdout == b"seen"
    assert (tree / "seen").read_text() == "seen"


def test_doctor_asks_the_interpreter_apart(tree: Path, evil: Path) -> None:
    found = list(check_stack(tree, Stack(python=str(evil))))
    assert [finding.level for finding in found] == ["ok", "ok"]
    assert untouched(tree)


def test_bytecode_is_compared_apart(tree: Path, evil: Path) -> None:
    cache = tree / "__pycache__" / f"m.{sys.implementation.cache_tag}.pyc"
    (tree / "m.py").write_text("x = 1\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "m.py")], check=True)
    assert foreign(Interpreter(evil, "project"), [str(cache)], tree) == ()
    cache.write_bytes(cache.read_bytes()[:-1])
    assert foreign(Interpreter(evil, "project"), [str(cache)], tree) == (str(cache),)
    assert untouched(tree)
