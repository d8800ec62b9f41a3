"""The commands that a configuration names (format, check, verify): judged by exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.errors import ToolMissing
from verdigris.core.verdict import Tool
from verdigris.kernel.process import Command, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project


def run_tool(project: Project, stack: Stack, name: str, command: str, arguments: Sequence[str] = ()) -> Tool:
    argv = ("/bin/sh", "-c", f'{command} "$@"' if arguments else command, name, *arguments)
    root = project.root / stack.root
    try:
        finished = run(Command(argv, root, dict(os.environ)), timeout=project.settings.timeout)
    except ToolMissing as missing:
        return Tool(name, command, ok=False, output=missing.message)
    output = finished.output.decode("utf-8", "replace")
    return Tool(name, command, ok=finished.exit_code == 0 and not finished.timed_out, output=output)
