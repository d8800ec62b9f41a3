"""`tdd sync -- GIT…`: moves the tree with git, outside any turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import project
from verdigris.cli.output import deny, say, show
from verdigris.core.actions import Deny
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.turns.sync import Moved


@click.command("sync", context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- GIT...", required=True)
def command(argv: tuple[str, ...]) -> int:
    """Run switch, pull, merge, rebase, stash or revert with no turn open; what it brings joins the baseline.

    Exit code: 0 git did it, 1 git did not, 3 denied.
    """
    from verdigris.gates.agent_shell import agent_git
    from verdigris.turns.sync import sync

    answer = sync(project(), argv, agents_git=agent_git)
    if isinstance(answer, Deny):
        return deny(answer)
    show(moved_lines(answer))
    if answer.exit_code != 0:
        say(f"tdd: git ended with exit code {answer.exit_code}")
    return 0 if answer.exit_code == 0 else 1


MOST = 10


def moved_lines(moved: Moved) -> list[Line]:
    more = f" and {len(moved.brought) - MOST} more" if len(moved.brought) > MOST else ""
    brought = f"accepted as the new baseline: {', '.join(moved.brought[:MOST])}{more}"
    found = [Line(brought)] if moved.brought else []
    if moved.in_progress is None:
        return found
    how = f"`tdd sync -- {moved.in_progress} --continue` or `--abort`"
    return [*found, Line(f"a {moved.in_progress} is in progress; next: {how}")]
