"""pytest and unittest on this machine: finds the interpreter that runs them, and checks versions."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verdigris.core.errors import VerdigrisError
from verdigris.core.settings import Stack
from verdigris.execution.process import Command, run
from verdigris.execution.tools.interpreter import Interpreter, find_interpreter
from verdigris.execution.tools.registry import (
    SECONDS,
    Environ,
    Lent,
    TestTool,
    ToolCheck,
    failed_check,
    home_of,
    name_in,
    path_in,
    version,
    write_version,
)
from verdigris.languages.folders import text_in
from verdigris.runners.protocol import Toolset
from verdigris.runners.python import PYTHON_TOOLS, PythonRunner
from verdigris.runners.registry import kind_of
from verdigris.sandbox.child import confine_query, environment_of
from verdigris.storage.project import Project
from verdigris.storage.repository import sandbox_note

_PLUGINS = """
import json
from importlib.metadata import distributions
found = {e.name for d in distributions() for e in d.entry_points if e.group == "pytest11"}
print(json.dumps(sorted(found)))
"""
_VERSIONS = """
import json, sys
try:
    package = __import__("{package}")
    found = getattr(package, "__version__", "?")
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
            answer = _ask(found.path, _VERSIONS.replace("{package}", kind.package or "sys"), stack, root)
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
            shown = f"{found.path} cannot import {kind.package}" if package is None else package
            name, fix = name_in(stack, kind.package), ""
            if package is None:
                fix = f"`{self.installation(stack, root, kind.package)}`"
            elif version(package) < kind.oldest:
                wanted = shlex.quote(f"{kind.package}>={write_version(kind.oldest)}")
                shown, fix = f"{package} is too old", f"`{self.installation(stack, root, wanted)}`"
            yield ToolCheck(name, shown, fix)

    def installation(self, stack: Stack, root: Path, package: str = "") -> str:
        """Into the environment of the project; if it has none, one is made."""
        try:
            found: Interpreter | None = _interpreter(stack, root, os.environ)
        except VerdigrisError:
            found = None
        return install_command(stack, root, found, package)


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
    return find_interpreter(root / stack.root, root, stack.python, environ, runner=stack.runner)


def _ask(python: Path, question: str, stack: Stack, root: Path) -> Any:
    """Asks an interpreter; reads JSON from the last line, since start-up files may print before it.

    None if it has none.
    """
    with confine_query(root, sandbox_note(root), reads=environment_of(python)) as confine:
        command = Command((str(python), "-c", question), root / stack.root, dict(os.environ), confine=confine)
        done = run(command, timeout=SECONDS)
    try:
        return json.loads(done.output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None


_LOCKS = {
    "uv.lock": ("uv sync", "uv add --dev"),
    "poetry.lock": ("poetry install", "poetry add --group dev"),
    "Pipfile.lock": ("pipenv install --dev", "pipenv install --dev"),
}
"""Lock files with the commands that install what they name, and that add a package."""


def install_command(stack: Stack, root: Path, found: Interpreter | None, package: str) -> str:
    """The command, given in the root, that installs the package, or else the project with what it needs."""
    home = home_of(stack, root)
    for lock, (everything, one) in _LOCKS.items():
        if (home / lock).is_file():
            go = "" if home == root else f"cd {shlex.quote(stack.root)} && "
            return go + (f"{one} {package}" if package else everything)
    words = _needed_words(stack, home)
    if found is not None and found.how != "PATH":
        python = os.path.relpath(found.path, root) if found.path.is_relative_to(root) else str(found.path)
        wanted = package or shlex.join(words)
        return f"{_pip_of(found, python)} {wanted}" if wanted else ""
    runner = package or kind_of(stack.runner).package
    if not words and not package:
        return ""
    environment = path_in(stack, ".venv")
    made = f"python3 -m venv {environment} && {environment}/bin/python -m pip install"
    return " ".join(filter(None, (made, shlex.join(words), runner)))


def _needed_words(stack: Stack, home: Path) -> list[str]:
    """What `pip install` is given for the project and its tests."""
    listed = next((name for name in _LISTS if (home / name).is_file()), None)
    words = ["-r", path_in(stack, listed)] if listed else []
    described = text_in(home, "pyproject.toml")
    if (home / "setup.py").is_file() or any(table in described for table in _INSTALLABLE):
        words += ["-e", stack.root if stack.root in {".", ""} else f"./{stack.root}"]
    return words


_LISTS = ("requirements-dev.txt", "dev-requirements.txt", "requirements.txt")
_INSTALLABLE = ("[project]", "[build-system]", "[tool.poetry]")


def _pip_of(found: Interpreter, python: str) -> str:
    """An environment that uv made has no pip."""
    packages = found.places.packages if found.places else ()
    if not packages or any((Path(folder) / "pip").is_dir() for folder in packages):
        return f"{python} -m pip install"
    if shutil.which("uv"):
        return f"uv pip install --python {python}"
    return f"{python} -m ensurepip && {python} -m pip install"


TOOLS = dict.fromkeys(PYTHON_TOOLS, PythonTestTool())
