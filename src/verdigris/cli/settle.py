"""`tdd settle`: end the turn with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.opening import PERSON, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.cli.progress import live
from verdigris.core.actions import Deny
from verdigris.core.verdict import Kind

if TYPE_CHECKING:
    from verdigris.core.verdict import Verdict

TAMPERED = 4


@click.command("settle")
@json_option
def command(*, as_json: bool) -> int:
    """Judge the open claims: the claimed tests pass, nothing that passed fails.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.cli import settled as view
    from verdigris.turns.settle import settle

    opened = project()
    with live() as progress:
        answer = settle(opened, progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.document(answer))
    else:
        show(view.lines(answer, for_model=opened.actor != PERSON))
    return exit_code(answer.verdict)


def exit_code(verdict: Verdict) -> int:
    match verdict.kind:
        case Kind.ACCEPTED:
            return 0
        case Kind.TAMPERED:
            return TAMPERED
        case _:
            return 1
