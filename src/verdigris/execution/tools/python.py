"""pytest and unittest on this machine: finds the interpreter that runs them, and checks versions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import VerdigrisError
from verdigris.execution.process import Command, run
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.execution.tools.registry import (
    SECONDS,
    TestTool,
    ToolCheck,
    failed_check,
    name_in,
    version,
    write_version,
)
from verdigris.runners.protocol import Toolset
from verdigris.runners.python import PYTHON_TOOLS, PythonRunner
from verdigris.runners.registry import kind_of
from verdigris.sandbox.child import confine_query, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.interpreter import Interpreter
    from verdigris.execution.tools.registry import Environ, Lent
    from verdigris.runners.protocol import RunnerKind
    from verdigris.storage.project import Project

_PLUGINS = """
import json
from importlib.metadata import distributions
found = {e.name for d in distributions() for e in d.entry_points if e.group == "pytest11"}
print(json.dumps(sorted(found)))
"""
_VERSIONS = """
import json, sys
try:
    import pytest
    found = getattr(pytest, "__version__", "?")
except ImportError:
    found = None
print(json.dumps([list(sys.version_info[:3]), found]))
"""


class PythonTestTool(TestTool):
    """A tool that the user's interpreter runs; `python_call` calls it."""

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:  # noqa: ARG002 - of packages elsewhere
        found = _interpreter(stack, root, environ)
        return Toolset(PythonRunner(PYTHON_TOOLS[stack.runner], str(found.path)), (str(found.path),))

    def check(self, stack: Stack, root: Path) -> Iterator[ToolCheck]:
        """One check of the interpreter, and one of the package that it runs."""
        kind, name = kind_of(stack.runner), name_in(stack, "interpreter")
        try:
            found = _interpreter(stack, root, os.environ)
            answer = _ask(found.path, _VERSIONS, stack, root)
        except VerdigrisError as error:
            yield failed_check(name, error)
            return
        match answer:
            case [list(python), package]:
                shown = f"{found.path} ({found.how}), Python {write_version(tuple(python))}"
            case _:
                fix = "name one that does: `python:` of the stack in tdd.yaml"
                yield ToolCheck(name, f"{found.path} does not run", fix)
                return
        if tuple(python) < kind.oldest_program:
            oldest = write_version(kind.oldest_program)
            fix = f"use Python {oldest} or newer: `python:` of the stack in tdd.yaml"
            yield ToolCheck(name, f"{shown}: too old", fix)
        else:
            yield ToolCheck(name, shown)
        if kind.package:
            yield _check_package(kind, name_in(stack, kind.package), str(found.path), package)


def installed_plugins(project: Project) -> frozenset[str] | None:
    """The plugins that are installed; None if all of them are loaded anyway, or if nobody can say."""
    if project.settings.room_plugins is None:
        return None
    stacks = (stack for stack in project.settings.stacks if kind_of(stack.runner).in_interpreter)
    try:
        found = [
            _ask(_interpreter(stack, project.root, os.environ).path, _PLUGINS, stack, project.root)
            for stack in stacks
        ]
    except VerdigrisError:
        return None
    return None if None in found else frozenset(name for names in found for name in names)


def _interpreter(stack: Stack, root: Path, environ: Environ) -> Interpreter:
    return find_interpreter(root / stack.root, root, stack.python, environ)


def _ask(python: Path, question: str, stack: Stack, root: Path) -> Any:
    """Asks an interpreter; reads JSON from the last line, since start-up files may print before it.

    None if it has none.
    """
    with confine_query(root, reads=environment_of(python)) as confine:
        command = Command((str(python), "-c", question), root / stack.root, dict(os.environ), confine=confine)
        done = run(command, timeout=SECONDS)
    try:
        return json.loads(done.output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None


def _check_package(kind: RunnerKind, name: str, python: str, found: str | None) -> ToolCheck:
    install = f"{python} -m pip install"
    if found is None:
        return ToolCheck(name, f"{python} cannot import {kind.package}", f"`{install} {kind.package}`")
    if version(found) < kind.oldest:
        fix = f"`{install} '{kind.package}>={write_version(kind.oldest)}'`"
        return ToolCheck(name, f"{found} is too old", fix)
    return ToolCheck(name, found)


TOOLS = dict.fromkeys(PYTHON_TOOLS, PythonTestTool())
