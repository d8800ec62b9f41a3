"""`tdd aside`: source edits that were made before any red are set aside."""

from __future__ import annotations

import click

from verdigris.cli.opening import project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("aside")
@json_option
def command(*, as_json: bool) -> int:
    """Set source edits aside that were made before a red; the next claim brings them back."""
    from verdigris.cli import laid as view
    from verdigris.turns.aside import lay_unclaimed_aside
    from verdigris.turns.claim import following

    opened = project()
    answer = lay_unclaimed_aside(opened)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.aside_document(answer, following(opened, opened.state())))
    else:
        show(view.aside_lines(answer, following(opened, opened.state())))
    return 0
