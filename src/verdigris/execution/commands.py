"""The commands that a configuration names (format, check, verify): run in a room, judged by exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.verdict import Tool
from verdigris.execution.process import Command, run
from verdigris.execution.room.opening import forget, room
from verdigris.sandbox import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.settings import Stack
    from verdigris.execution.room.room import Room
    from verdigris.storage.project import Project


def run_tool(project: Project, stack: Stack, name: str, command: str) -> Tool:
    """What it writes is thrown away with the room."""
    with room(project) as made:
        return run_tool_in(made, project, stack, name, command)


def run_tool_in(
    made: Room, project: Project, stack: Stack, name: str, command: str, arguments: Sequence[str] = ()
) -> Tool:
    argv = ("/bin/sh", "-c", f'{command} "$@"' if arguments else command, name, *arguments)
    wanted = Command(argv, project.root / stack.root, made.env, confine=made.confine)
    try:
        finished = run(wanted, timeout=project.settings.timeout)
    except ToolMissing as missing:
        return Tool(name, command, ok=False, output=missing.message)
    if made.confine and (why := refusal(finished.exit_code, finished.output)) is not None:
        forget(project)
        raise HarnessError(
            f"{name} could not be confined, so it was not run: {why}",
            hint="run the command again; if it fails again, `tdd doctor`",
        )
    output = finished.output.decode("utf-8", "replace")
    return Tool(name, command, ok=finished.exit_code == 0 and not finished.timed_out, output=output)
