"""`tdd displaced`: bytes that had to make way, to be had back."""

from __future__ import annotations

import click

from verdigris.cli.opening import here, project
from verdigris.cli.output import json_option, show, show_json
from verdigris.core.errors import UserError


@click.command("displaced")
@click.argument("path", required=False)
@json_option
def command(path: str | None, *, as_json: bool) -> int:
    """List what had to make way, newest first; with PATH, print the newest bytes that lay there."""
    from verdigris.cli import displacedx as view
    from verdigris.storage.paths import canonical
    from verdigris.turns.displaced import kept

    opened = project()
    name = None if path is None else canonical(opened.root, path, cwd=here()).path or path
    if as_json:
        show_json(view.document(tuple(kept(opened, name))))
    elif name is None:
        show(view.lines(tuple(kept(opened))))
    else:
        newest = next(kept(opened, name), None)
        data = None if newest is None else opened.workspace.blob_bytes(newest.blob)
        if data is None:
            raise UserError(f"nothing is kept of {name}.", hint="`tdd displaced` lists what is")
        click.echo(data, nl=False)
    return 0
