"""Prints results to stdout and messages to stderr, as text or as one JSON document."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from verdigris.views.lines import Line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.core.actions import Deny


SCHEMA = 1
DENIED = 3

F = TypeVar("F", bound="Callable[..., Any]")
_COLOURS = {"red": 31, "green": 32, "yellow": 33}


def json_option(command: F) -> F:
    import click

    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def show(lines: Iterable[Line], *, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    plain = not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("CI")
    for line in lines:
        dot = "" if line.dot is None else "● " if plain else f"\x1b[{_COLOURS[line.dot]}m●\x1b[0m "
        stream.write(f"{dot}{visible(line.text)}\n")
    stream.flush()


def say(message: str) -> None:
    sys.stderr.write(f"{visible(message)}\n")
    sys.stderr.flush()


def show_json(document: Mapping[str, Any]) -> None:
    import json

    sys.stdout.write(json.dumps({"schema": SCHEMA, **document}) + "\n")
    sys.stdout.flush()


def deny(denial: Deny, *, as_json: bool = False) -> int:

    if as_json:
        show_json(denial_document(denial))
    else:
        show(denial_lines(denial), err=True)
    return DENIED


def denial_lines(denial: Deny) -> list[Line]:
    return [Line(part) for text in denial.lines() for part in text.split("\n")]


def denial_document(denial: Deny) -> dict[str, Any]:
    return {"denied": {"rule": denial.rule, "reason": denial.reason, "next": denial.next}}
