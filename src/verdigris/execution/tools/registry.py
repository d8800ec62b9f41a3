"""Finds the `TestTool` of a runner: ours by the module that has it, a third party's by its entry point."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.execution.tools.protocol import FoundTool, TestTool
from verdigris.runners.registry import BUILT_IN, kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.protocol import Environ, Lent
    from verdigris.runners.protocol import Toolset


def tool_of(runner: str) -> TestTool:
    """A runner and its tool stand under one name: `runners/NAME/` and `execution/tools/NAME.py`."""
    if runner in BUILT_IN:
        tools: dict[str, TestTool] = import_module(f"verdigris.execution.tools.{BUILT_IN[runner]}").TOOLS
        return tools[runner]
    kind = kind_of(runner)
    if isinstance(kind.tool, TestTool):
        return kind.tool
    return TestTool() if kind.find is None else FoundTool(kind.find)


def find_tool(stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
    """What is missing is a ToolMissing with the next move. Only what the stack needs is loaded."""
    return tool_of(stack.runner).find(stack, root, environ, lent)


def tool_files(stack: Stack, root: Path, environ: Environ) -> frozenset[str]:
    """The files of the tool that decide how tests end; none if the tool is missing."""
    import os

    tool = tool_of(stack.runner)
    try:
        tools = tool.find(stack, root, environ)
    except (ConfigError, ToolMissing):
        return frozenset()
    programs = (path for path in tools.programs[:1] if os.access(path, os.X_OK))
    return frozenset((*programs, *tool.foundation_files(tools, root)))
