"""`tdd aside`: source edits that were made before any red are set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import LaidAside


@click.command("aside")
@json_option
def command(*, as_json: bool) -> int:
    """Set aside source edits that were made before a red; the next claim brings them back."""
    from verdigris.turns.aside import lay_unclaimed_aside
    from verdigris.turns.claim_check import following

    opened = project()
    answer = lay_unclaimed_aside(opened)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(aside_document(answer, following(opened, opened.state())))
    else:
        show(aside_lines(answer, following(opened, opened.state())))
    return 0


def aside_lines(laid: LaidAside | None, following: str) -> list[Line]:
    if laid is None:
        return [Line("nothing to set aside: no source was edited before a red"), Line(f"next: {following}")]
    return [
        Line(f"set aside as {laid.id}, comes back with the next claim: {', '.join(laid.paths)}"),
        Line(f"next: {following}"),
    ]


def aside_document(laid: LaidAside | None, following: str) -> dict[str, Any]:
    if laid is None:
        return {"aside": None, "paths": [], "next": following}
    return {"aside": laid.id, "paths": list(laid.paths), "next": following}


def restored_lines(aside: str, paths: Sequence[str]) -> list[Line]:
    return [Line(f"your edits {aside} are back: {', '.join(paths)}")]


def restored_document(aside: str, paths: Sequence[str]) -> dict[str, Any]:
    return {"restored": aside, "paths": list(paths)}
