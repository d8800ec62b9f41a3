"""Checks git and each stack's test tool."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, run
from verdigris.execution.tools.lookup import installing
from verdigris.execution.tools.registry import find_tool
from verdigris.languages.node.project import fits, version
from verdigris.runners.registry import is_in_interpreter, kind_of
from verdigris.sandbox.query import apart, environment_of
from verdigris.setup.doctor.findings import Finding, failure
from verdigris.storage.git import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Toolset


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
        return failure("git", error.message, "install git 2.34 or newer, and have it on PATH")
    text = done.output.decode("utf-8", "replace").strip()
    if done.exit_code != 0 or version(text) < OLDEST_GIT:
        return failure("git", f"needs 2.34 or newer, found: {text}", "install a newer git")
    return Finding("git", "ok", text)


def check_stack(root: Path, stack: Stack, cache: Path | None) -> Iterator[Finding]:
    if not is_in_interpreter(stack.runner):
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
        yield failure(name, error.message, error.hint)
        return
    answer = _answer(done.output)
    if answer is None:
        yield failure(
            name, f"{found.path} does not run", "name one that does: `python:` of the stack in tdd.yaml"
        )
        return
    python, pytest = answer
    shown = f"{found.path} ({found.how}), Python {'.'.join(map(str, python))}"
    if python < OLDEST_PYTHON:
        yield failure(
            name, f"{shown}: too old", "use Python 3.8 or newer: `python:` of the stack in tdd.yaml"
        )
    else:
        yield Finding(name, "ok", shown)
    if kind_of(stack.runner).is_package:
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
        return failure(name, f"{python} cannot import pytest", f"`{python} -m pip install pytest`")
    if version(found) < OLDEST_PYTEST:
        return failure(name, f"{found} is too old", f"`{python} -m pip install 'pytest>=7'`")
    return Finding(name, "ok", found)


TOOL_SECONDS = 30.0
OLDEST = {"node": (18,), "cargo": (1, 70), "go": (1, 21), "vitest": (2,), "jest": (29,)}
_ASKED = {"go": "version"}
"""How a program is asked for its version, where it is not `--version`."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def check_tool(root: Path, stack: Stack) -> Iterator[Finding]:
    """One finding for the program, and one for the package that it runs."""
    where = "" if stack.root in {".", ""} else f" of {stack.root}"
    try:
        tools = find_tool(stack, root, os.environ)
        name = Path(tools.programs[0]).name
        answer = _tool_answer(root, stack, tools)
    except VerdigrisError as error:
        yield failure(f"{stack.runner}{where}", error.message, error.hint)
        return
    yield _judge_tool(f"{name}{where}", name, tools.programs[0], answer)
    if tools.package:
        script = Path(tools.package)
        yield _package(f"{stack.runner}{where}", stack.runner, script, answer, root / stack.root, root)


def _tool_answer(root: Path, stack: Stack, tools: Toolset) -> str:
    """The first line that says a number; empty where the program does not run."""
    program = tools.programs[0]
    argv = (program, _ASKED.get(Path(program).name, "--version"))
    with apart(root, reads=[Path(one).parent for one in tools.programs]) as confine:
        asked = Command(argv, root / stack.root, {**os.environ, **tools.env}, confine=confine)
        done = run(asked, timeout=TOOL_SECONDS)
    lines = _STYLE.sub("", done.output.decode("utf-8", "replace")).splitlines()
    if done.exit_code != 0:
        errors = [line for line in lines if line.startswith("error")] or lines[-1:] or ["it said nothing"]
        raise VerdigrisError(
            f"{program} does not run: {errors[0]}", hint="install it again, or another version"
        )
    return next((line.strip() for line in lines if version(line)), "")


def _judge_tool(name: str, tool: str, path: str, answer: str) -> Finding:
    oldest = OLDEST.get(tool, ())
    if version(answer) < oldest:
        wanted = ".".join(map(str, oldest))
        return failure(name, f"{path}: {answer} is too old", f"install {tool} {wanted} or newer")
    return Finding(name, "ok", f"{path}, {answer}" if answer else path)


def _package(name: str, runner: str, script: Path, node: str, home: Path, root: Path) -> Finding:
    described = next(p for p in script.parents if p.parent.name == "node_modules") / "package.json"
    try:
        said = json.loads(described.read_bytes())
        found, wanted = str(said["version"]), str(said.get("engines", {}).get("node", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return failure(name, f"{described} cannot be read", f"`{installing(home, root)}`")
    if version(found) < OLDEST[runner]:
        newest = ".".join(map(str, OLDEST[runner]))
        return failure(name, f"{found} is too old", f"install {runner} {newest} or newer")
    if not fits(version(node), wanted):
        return failure(name, f"{found} needs node {wanted}, and {node} is there", "install a newer Node.js")
    return Finding(name, "ok", found)
