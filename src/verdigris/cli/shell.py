"""`tdd shell -- COMMAND…`: runs a command as an agent's shell would, for clients without a shell prefix."""

from __future__ import annotations

import os
import shlex

import click

from verdigris.cli.context import here


@click.command("shell", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...", required=True)
def command(words: tuple[str, ...]) -> int:
    """Run a command where the paths that the phase protects are read-only.

    One word is a line for the shell; several are a program and its arguments. Exit code: the command's own.
    """
    from verdigris.gates.agent_shell.launcher import arguments
    from verdigris.storage.repository import find_repository

    line = words[0] if len(words) == 1 else shlex.join(words)
    argv = [*arguments(find_repository(here())), line]
    os.execv(argv[0], argv)  # noqa: S606 - it takes our place
    return 0
