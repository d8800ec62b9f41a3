"""The tools that the kernel needs: git, and in each stack what runs its tests."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, run
from verdigris.languages.node.versions import version
from verdigris.runners.commands import IN_PYTHON
from verdigris.sandbox.query import apart, environment_of
from verdigris.setup.doctor.finding import Finding, failed
from verdigris.storage.git import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.settings import Stack

OLDEST_GIT = (2, 34)
OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = (7,)
SECONDS = 30.0
_ASK = """
import json, sys
try:
    import pytest
    found = getattr(pytest, "__version__", "?")
except ImportError:
    found = None
print(json.dumps([list(sys.version_info[:3]), found]))
"""


def check_git(here: Path) -> Finding:
    try:
        done = run(Command((program(os.environ), "--version"), here, dict(os.environ)), timeout=SECONDS)
    except VerdigrisError as error:
        return failed("git", error.message, "install git 2.34 or newer, and have it on PATH")
    text = done.output.decode("utf-8", "replace").strip()
    if done.exit_code != 0 or version(text) < OLDEST_GIT:
        return failed("git", f"needs 2.34 or newer, found: {text}", "install a newer git")
    return Finding("git", "ok", text)


def check_stack(root: Path, stack: Stack, cache: Path | None) -> Iterator[Finding]:
    if stack.runner not in IN_PYTHON:
        from verdigris.setup.doctor.testtools import check_tool

        yield from check_tool(root, stack)
        return
    name = "interpreter" if stack.root in {".", ""} else f"interpreter of {stack.root}"
    home = root / stack.root
    try:
        found = find_interpreter(home, root, stack.python, os.environ, cache)
        with apart(root, reads=environment_of(found.path)) as confine:
            asked = Command((str(found.path), "-c", _ASK), home, dict(os.environ), confine=confine)
            done = run(asked, timeout=SECONDS)
    except VerdigrisError as error:
        yield failed(name, error.message, error.hint)
        return
    answer = _answer(done.output)
    if answer is None:
        yield failed(
            name, f"{found.path} does not run", "name one that does: `python:` of the stack in tdd.yaml"
        )
        return
    python, pytest = answer
    shown = f"{found.path} ({found.how}), Python {'.'.join(map(str, python))}"
    if python < OLDEST_PYTHON:
        yield failed(name, f"{shown}: too old", "use Python 3.8 or newer: `python:` of the stack in tdd.yaml")
    else:
        yield Finding(name, "ok", shown)
    if stack.runner == "pytest":
        yield _pytest(name.replace("interpreter", "pytest"), str(found.path), pytest)


def _answer(output: bytes) -> tuple[tuple[int, ...], str | None] | None:
    """The last line: start-up files may print before it."""
    try:
        python, pytest = json.loads(output.strip().splitlines()[-1])
        return tuple(map(int, python)), pytest
    except (ValueError, IndexError, TypeError):
        return None


def _pytest(name: str, python: str, found: str | None) -> Finding:
    if found is None:
        return failed(name, f"{python} cannot import pytest", f"`{python} -m pip install pytest`")
    if version(found) < OLDEST_PYTEST:
        return failed(name, f"{found} is too old", f"`{python} -m pip install 'pytest>=7'`")
    return Finding(name, "ok", found)
