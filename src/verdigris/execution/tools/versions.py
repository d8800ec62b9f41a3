"""Asks a program on this machine for its version, and judges whether it is new enough."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.core.value import value
from verdigris.execution.process import Command, run
from verdigris.runners.registry import kind_of
from verdigris.sandbox.child import confine_query

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import FindTool, RunnerKind, Toolset

    Version = tuple[int, ...]

SECONDS = 30.0
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@value
class ToolCheck:
    """What `tdd doctor` says of a program or package."""

    name: str
    what: str
    fix: str = ""
    """The next move; empty if nothing is wrong."""


def version(text: str) -> Version:
    """The first that stands in a text; empty if there is none."""
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def write_version(found: Version) -> str:
    return ".".join(map(str, found))


def name_in(stack: Stack, name: str) -> str:
    return name if stack.root in {".", ""} else f"{name} of {stack.root}"


def check_program(find: FindTool, stack: Stack, root: Path) -> tuple[ToolCheck, Toolset | None, str]:
    """The check, the tool that was found, and what its program said of its version."""
    kind = kind_of(stack.runner)
    try:
        tools = find(stack, root, os.environ)
        answer = _ask_version(kind, tools, stack, root)
    except VerdigrisError as error:
        return failed_check(name_in(stack, stack.runner), error), None, ""
    path = tools.programs[0]
    name = Path(path).name
    if version(answer) < kind.oldest_program:
        fix = f"install {name} {write_version(kind.oldest_program)} or newer"
        return ToolCheck(name_in(stack, name), f"{path}: {answer} is too old", fix), tools, answer
    return ToolCheck(name_in(stack, name), f"{path}, {answer}" if answer else path), tools, answer


def failed_check(name: str, error: VerdigrisError) -> ToolCheck:
    return ToolCheck(name, error.message, error.hint or "see `tdd doctor --json`")


def _ask_version(kind: RunnerKind, tools: Toolset, stack: Stack, root: Path) -> str:
    """The first line that says a number; empty if none does."""
    program = tools.programs[0]
    with confine_query(root, reads=[Path(one).parent for one in tools.programs]) as confine:
        argv, env = (program, kind.version_word), {**os.environ, **tools.env}
        done = run(Command(argv, root / stack.root, env, confine=confine), timeout=SECONDS)
    lines = _STYLE.sub("", done.output.decode("utf-8", "replace")).splitlines()
    if done.exit_code != 0:
        errors = [line for line in lines if line.startswith("error")] or lines[-1:] or ["it said nothing"]
        raise VerdigrisError(
            f"{program} does not run: {errors[0]}", hint="install it again, or another version"
        )
    return next((line.strip() for line in lines if version(line)), "")
