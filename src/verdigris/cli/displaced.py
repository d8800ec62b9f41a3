"""`tdd displaced`: lists overwritten files, and prints or restores them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import here, project
from verdigris.cli.output import json_option, show, show_json
from verdigris.core.errors import UserError
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.turns.aside import Kept


@click.command("displaced")
@click.argument("path", required=False)
@json_option
def command(path: str | None, *, as_json: bool) -> int:
    """List files that Verdigris overwrote or removed, newest first; with PATH, print its newest bytes."""
    from verdigris.storage.paths import canonical
    from verdigris.turns.aside import list_displaced_files

    opened = project()
    name = None if path is None else canonical(opened.root, path, cwd=here()).path or path
    if as_json:
        show_json(displaced_document(tuple(list_displaced_files(opened, name))))
    elif name is None:
        show(displaced_lines(tuple(list_displaced_files(opened))))
    else:
        newest = next(list_displaced_files(opened, name), None)
        data = None if newest is None else opened.workspace.blob_bytes(newest.blob)
        if data is None:
            raise UserError(f"nothing is kept of {name}.", hint="`tdd displaced` lists what is")
        click.echo(data, nl=False)
    return 0


def displaced_lines(found: Sequence[Kept]) -> list[Line]:
    if not found:
        return [Line("Verdigris has overwritten nothing")]
    return [Line(f"{_when(each)}  {each.blob[:12]}  {each.path}") for each in found]


def _when(each: Kept) -> str:
    return datetime.fromtimestamp(each.ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def displaced_document(found: Sequence[Kept]) -> dict[str, Any]:
    return {"displaced": [{"path": k.path, "blob": k.blob, "event": k.seq, "ts": k.ts} for k in found]}
