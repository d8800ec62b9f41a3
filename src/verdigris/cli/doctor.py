"""`tdd doctor`: is everything there that the kernel needs?"""

from __future__ import annotations

import click

from verdigris.cli.opening import PERSON, here
from verdigris.cli.output import json_option, show, show_json


@click.command("doctor")
@json_option
def command(*, as_json: bool) -> int:
    """Check git, interpreters, pytest, namespaces, log and configuration, with a fix for each finding.

    Exit code: 0 nothing fails (warnings allowed), 1 something does.
    """
    from verdigris.kernel.doctor import examine
    from verdigris.views import findings as view

    found = examine(here(), PERSON)
    if as_json:
        show_json(view.document(found))
    else:
        show(view.lines(found))
    return 1 if any(finding.level == "fail" for finding in found) else 0
