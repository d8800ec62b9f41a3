"""How results and messages leave the program: results to stdout, messages to stderr, JSON as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.views.line import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.actions import Deny
    from verdigris.views.line import Line

SCHEMA = 1
DENIED = 3

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def show(lines: Iterable[Line], *, err: bool = False) -> None:
    for line in lines:
        dot = "" if line.dot is None else click.style("●", fg=line.dot) + " "
        click.echo(dot + visible(line.text), err=err)


def say(message: str) -> None:
    click.echo(visible(message), err=True)


def show_json(document: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps({"schema": SCHEMA, **document}))


def deny(denial: Deny, *, as_json: bool = False) -> int:
    from verdigris.views import denial as view

    if as_json:
        show_json(view.document(denial))
    else:
        show(view.lines(denial), err=True)
    return DENIED
