"""`tdd doctor`: is everything there that the kernel needs?"""

from __future__ import annotations

from contextlib import nullcontext

import click

from verdigris.cli.opening import actor, start
from verdigris.cli.output import json_option, show, show_json
from verdigris.cli.progress import live


@click.command("doctor")
@click.option("--room", is_flag=True, help="Also run the suite, unconfined and in the room, and compare.")
@json_option
def command(*, room: bool, as_json: bool) -> int:
    """Check git, interpreters, sandbox, log, configuration, gates and models, with a fix for each finding.

    Exit code: 0 nothing fails (warnings allowed), 1 something does.
    """
    from verdigris.cli import findings as view
    from verdigris.drivers.machine.checkup import check_players
    from verdigris.gates.clients.claude.checkup import check
    from verdigris.setup.doctor import examine

    with live() if room else nullcontext() as progress:
        found = examine(start(), actor(), room=room, progress=progress)
    found += tuple(finding for finding in [check(start())] if finding is not None)
    found += check_players(start())
    if as_json:
        show_json(view.document(found))
    else:
        show(view.lines(found))
    return 1 if any(finding.level == "fail" for finding in found) else 0
