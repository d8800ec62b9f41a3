"""`tdd test-bug`: reports that a test is wrong, and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.context import here, project, tests_and_paths
from verdigris.cli.output import deny, show
from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.turns.test_bug import Reported


@click.command("test-bug", options_metavar="")
@click.argument("words", nargs=-1, metavar="FILE:LINE... WHY | close ID", shell_complete=tests_and_paths)
def command(words: tuple[str, ...]) -> int:
    """Report a wrong test instead of editing it: back to red, with the source edits set aside.

    The next claim, whose red is proven without them, brings them back. The report excuses a revision
    of the one test at that line; it closes when that test is revised and red, or by `close ID`.
    """
    from verdigris.turns.test_bug import report_bug

    if words[:1] == ("close",):
        return _close(words[1:])
    *places, why = words or ("",)
    if not places:
        raise click.UsageError('it needs a place and a reason: tdd test-bug tests/test_x.py:12 "why"')
    opened = project()
    answer = report_bug(opened, places, why, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer)
    show(reported_lines(answer, opened.state()))
    return 0


def _close(bugs: tuple[str, ...]) -> int:
    from verdigris.turns.test_bug import close_bug
    from verdigris.views.lines import Line

    if len(bugs) != 1:
        raise click.UsageError("name one open test-bug: tdd test-bug close b1")
    places = close_bug(project(), bugs[0])
    show([Line(f"test-bug {bugs[0]} closed: the test at {', '.join(places)} stays as it is")])
    return 0


def reported_lines(reported: Reported, state: WorktreeState) -> list[Line]:
    found = [Line(f"test-bug {reported.bug} recorded at {', '.join(reported.places)}; phase {state.phase}")]
    if reported.aside and reported.paths:
        paths = ", ".join(reported.paths)
        found.append(Line(f"set aside as {reported.aside}, comes back with the next claim: {paths}"))
    return [*found, Line(f"next: {next_move(state)}")]
