"""`tdd restore`: edits that were set aside come back."""

from __future__ import annotations

import click

from verdigris.cli.context import edits_set_aside, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("restore")
@click.argument("aside", metavar="ID", shell_complete=edits_set_aside)
@click.option("--show", "only_show", is_flag=True, help="Only print the edits, as a diff.")
@json_option
def command(aside: str, *, only_show: bool, as_json: bool) -> int:
    """Bring back the edits that were set aside as ID (`tdd status` lists them)."""
    from verdigris.cli import aside as view
    from verdigris.turns.aside import restore
    from verdigris.turns.aside import show as diff_of

    if only_show:
        click.echo(diff_of(project(), aside), nl=False)
        return 0
    answer = restore(project(), aside)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.restored_document(aside, answer))
    else:
        show(view.restored_lines(aside, answer))
    return 0
