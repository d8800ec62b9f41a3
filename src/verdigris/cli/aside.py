"""`tdd aside`: source edits made before any red step aside."""

from __future__ import annotations

import click

from verdigris.cli.opening import project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("aside")
@json_option
def command(*, as_json: bool) -> int:
    """Lay source edits aside that were made before a red; the next claim lays them on again."""
    from verdigris.kernel.aside import lay_unclaimed_aside
    from verdigris.views import laid as view

    answer = lay_unclaimed_aside(project())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.aside_document(answer))
    else:
        show(view.aside_lines(answer))
    return 0
