"""`tdd refactor begin | end | abort`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import PERSON, live, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.cli.settle import exit_code
from verdigris.core.actions import Deny
from verdigris.views.lines import Line, count_of

if TYPE_CHECKING:
    from verdigris.turns.refactor import Aborted, Begun


@click.group("refactor")
def command() -> None:
    """Change the structure and keep the behaviour, proven by the same tests."""


@command.command("begin")
@click.option("--uncovered", is_flag=True, help="Lines that no test runs may be added (a person's option).")
@json_option
def begin(*, uncovered: bool, as_json: bool) -> int:
    """Run the suite and open the refactor phase on what it shows."""
    from verdigris.turns.refactor import begin

    with live() as progress:
        answer = begin(project(), uncovered=uncovered, progress=progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(begun_document(answer))
    else:
        show(begun_lines(answer))
    return 0


@command.command("end")
@json_option
def end(*, as_json: bool) -> int:
    """Judge the refactor: same tests, same results, every assertion kept.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.cli import settle as view
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
    from verdigris.turns.refactor import abort

    answer = abort(project())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(aborted_document(answer))
    else:
        show(aborted_lines(answer))
    return 0


_NEXT = "restructure, then `tdd refactor end` (or `tdd refactor abort`)"


def begun_lines(begun: Begun) -> list[Line]:
    failed = f", {begun.failed} not" if begun.failed else ""
    free = "; lines that no test runs may be added" if begun.uncovered else ""
    return [
        Line(f"phase refactor: {count_of(begun.passed, 'test')} passed{failed}{free}"),
        Line(f"next: {_NEXT}"),
    ]


def begun_document(begun: Begun) -> dict[str, Any]:
    return {
        "phase": "refactor",
        "passed": begun.passed,
        "failed": begun.failed,
        "uncovered": begun.uncovered,
        "next": _NEXT,
    }


def aborted_document(aborted: Aborted) -> dict[str, Any]:
    return {"aside": aborted.aside, "paths": list(aborted.paths), "next": aborted.next}


def aborted_lines(aborted: Aborted) -> list[Line]:
    if aborted.aside is None:
        return [Line("refactor aborted; nothing had changed"), Line(f"next: {aborted.next}")]
    return [
        Line(f"refactor aborted; set aside as {aborted.aside}: {', '.join(aborted.paths)}"),
        Line(f"next: {aborted.next}"),
    ]
