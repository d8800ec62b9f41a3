"""Whether the tool that runs a stack's tests is there, answers, and is new enough."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.execution.process import Command, run
from verdigris.execution.tools.lookup import installing
from verdigris.execution.tools.toolset import toolset
from verdigris.languages.node.versions import fits, version
from verdigris.runners.jest import Jest
from verdigris.runners.vitest import Vitest
from verdigris.sandbox.query import apart
from verdigris.setup.doctor.finding import Finding, failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.compiled import Toolset

SECONDS = 30.0
OLDEST = {"node": (18,), "cargo": (1, 70), "go": (1, 21), "vitest": (2,), "jest": (29,)}
_ASKED = {"go": "version"}
"""How a program is asked for its version, where it is not `--version`."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def check_tool(root: Path, stack: Stack) -> Iterator[Finding]:
    """One finding for the program, and one for the package that it runs."""
    where = "" if stack.root in {".", ""} else f" of {stack.root}"
    try:
        tools = toolset(stack, root, os.environ)
        name = Path(tools.programs[0]).name
        answer = _answer(root, stack, tools)
    except VerdigrisError as error:
        yield failed(f"{stack.runner}{where}", error.message, error.hint)
        return
    yield _judged(f"{name}{where}", name, tools.programs[0], answer)
    match tools.runner:
        case Vitest(script=script) | Jest(script=script):
            yield _package(
                f"{stack.runner}{where}", stack.runner, Path(script), answer, root / stack.root, root
            )


def _answer(root: Path, stack: Stack, tools: Toolset) -> str:
    """The first line that says a number; empty where the program does not run."""
    program = tools.programs[0]
    argv = (program, _ASKED.get(Path(program).name, "--version"))
    with apart(root, reads=[Path(one).parent for one in tools.programs]) as confine:
        asked = Command(argv, root / stack.root, {**os.environ, **tools.env}, confine=confine)
        done = run(asked, timeout=SECONDS)
    lines = _STYLE.sub("", done.output.decode("utf-8", "replace")).splitlines()
    if done.exit_code != 0:
        errors = [line for line in lines if line.startswith("error")] or lines[-1:] or ["it said nothing"]
        raise VerdigrisError(
            f"{program} does not run: {errors[0]}", hint="install it again, or another version"
        )
    return next((line.strip() for line in lines if version(line)), "")


def _judged(name: str, tool: str, path: str, answer: str) -> Finding:
    oldest = OLDEST.get(tool, ())
    if version(answer) < oldest:
        wanted = ".".join(map(str, oldest))
        return failed(name, f"{path}: {answer} is too old", f"install {tool} {wanted} or newer")
    return Finding(name, "ok", f"{path}, {answer}" if answer else path)


def _package(name: str, runner: str, script: Path, node: str, home: Path, root: Path) -> Finding:
    described = next(p for p in script.parents if p.parent.name == "node_modules") / "package.json"
    try:
        said = json.loads(described.read_bytes())
        found, wanted = str(said["version"]), str(said.get("engines", {}).get("node", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return failed(name, f"{described} cannot be read", f"`{installing(home, root)}`")
    if version(found) < OLDEST[runner]:
        newest = ".".join(map(str, OLDEST[runner]))
        return failed(name, f"{found} is too old", f"install {runner} {newest} or newer")
    if not fits(version(node), wanted):
        return failed(name, f"{found} needs node {wanted}, and {node} is there", "install a newer Node.js")
    return Finding(name, "ok", found)
