"""`tdd status`: how the worktree stands, and the next move."""

from __future__ import annotations

import click

from verdigris.cli.opening import project
from verdigris.cli.output import json_option, show, show_json


@click.command("status")
@json_option
def command(*, as_json: bool) -> int:
    """Show the phase, a line per open red and claim, what waits, and the next move."""
    from verdigris.kernel.survey import survey
    from verdigris.views import status as view

    surveyed = survey(project())
    if as_json:
        show_json(view.document(surveyed))
    else:
        show(view.lines(surveyed))
    return 0
