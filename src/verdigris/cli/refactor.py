"""`tdd refactor begin | end | abort`."""

from __future__ import annotations

import click

from verdigris.cli.opening import PERSON, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.cli.progress import live
from verdigris.cli.settle import exit_code
from verdigris.core.actions import Deny


@click.group("refactor")
def command() -> None:
    """Change the shape and keep the behaviour, proven by the same tests."""


@command.command("begin")
@click.option("--uncovered", is_flag=True, help="Lines that no test runs may be added (a person's word).")
@json_option
def begin(*, uncovered: bool, as_json: bool) -> int:
    """Run the suite and open the refactor phase on what it shows."""
    from verdigris.cli import refactoring as view
    from verdigris.turns.refactor import begin

    with live() as progress:
        answer = begin(project(), uncovered=uncovered, progress=progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.begun_document(answer))
    else:
        show(view.begun_lines(answer))
    return 0


@command.command("end")
@json_option
def end(*, as_json: bool) -> int:
    """Judge the refactor: same tests, same results, every assertion kept.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.cli import settled as view
    from verdigris.turns.refactor import end

    opened = project()
    with live() as progress:
        answer = end(opened, progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.refactor_document(answer))
    else:
        show(view.refactor_lines(answer, for_model=opened.actor != PERSON))
    return exit_code(answer.verdict)


@command.command("abort")
@json_option
def abort(*, as_json: bool) -> int:
    """Set everything aside that the refactor changed."""
    from verdigris.cli import refactoring as view
    from verdigris.turns.refactor import abort

    answer = abort(project())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.aborted_document(answer))
    else:
        show(view.aborted_lines(answer))
    return 0
