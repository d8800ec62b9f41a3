"""`tdd claim`: cite a red, name the source that will advance it."""

from __future__ import annotations

import click

from verdigris.cli.completing import open_reds
from verdigris.cli.opening import here, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("claim")
@click.argument("test_id", shell_complete=open_reds)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@json_option
def command(test_id: str, paths: tuple[str, ...], *, as_json: bool) -> int:
    """Claim that editing PATH... advances the red test TEST_ID.

    PATH is a file, a folder or a glob, and may not exist yet. The first claim freezes the tests.
    """
    from verdigris.kernel.claiming import claim
    from verdigris.views import claimed as view

    opened = project()
    answer = claim(opened, test_id, paths, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    state = opened.state()
    if as_json:
        show_json(view.document(answer, state))
    else:
        show(view.lines(answer, state))
    return 0
