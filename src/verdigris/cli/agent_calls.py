"""`tdd hook` and `tdd shell`: answer a hook call of a coding agent, run a command as its shell would."""

from __future__ import annotations

import os
import shlex
import sys

import click

from verdigris.cli.context import here


@click.command("hook")
@click.argument("agent")
@click.argument("event", required=False)
def hook_command(agent: str, event: str | None) -> int:  # noqa: ARG001 - the call itself names its event
    """Answer one hook call of a coding agent. Exit code: 0, or 2 to refuse."""
    from verdigris.gates.clients.registry import find
    from verdigris.gates.gate import answer

    given = answer(find(agent), sys.stdin.buffer.read())
    sys.stdout.write(given.stdout)
    sys.stderr.write(given.stderr)
    return given.exit_code


@click.command("shell", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...", required=True)
def shell_command(words: tuple[str, ...]) -> int:
    """Run a command where the paths that the phase protects are read-only.

    One word is a line for the shell; several are a program and its arguments. Exit code: the command's own.
    """
    from verdigris.gates.agent_shell.launcher import arguments
    from verdigris.storage.repository import find_repository

    line = words[0] if len(words) == 1 else shlex.join(words)
    argv = [*arguments(find_repository(here())), line]
    os.execv(argv[0], argv)  # noqa: S606 - it takes our place
    return 0
