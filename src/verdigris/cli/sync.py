"""`tdd sync -- GIT…`: git's moves, outside any turn."""

from __future__ import annotations

import click

from verdigris.cli.opening import project
from verdigris.cli.output import deny, say, show
from verdigris.core.actions import Deny


@click.command("sync", context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- GIT...", required=True)
def command(argv: tuple[str, ...]) -> int:
    """Run switch, pull, merge, rebase, stash or revert with no turn open; what it brings is new ground.

    Exit code: 0 git did it, 1 git did not, 3 denied.
    """
    from verdigris.cli import moved as view
    from verdigris.gates.agent_shell import agent_git
    from verdigris.turns.sync import sync

    answer = sync(project(), argv, agents_git=agent_git)
    if isinstance(answer, Deny):
        return deny(answer)
    show(view.lines(answer))
    if answer.exit_code != 0:
        say(f"tdd: git ended with exit code {answer.exit_code}")
    return 0 if answer.exit_code == 0 else 1
