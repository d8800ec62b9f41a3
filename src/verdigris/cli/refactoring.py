"""The beginning and the giving up of a refactor; its end is a verdict, as a settlement's is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Line, counted

if TYPE_CHECKING:
    from verdigris.turns.refactor import Aborted, Begun

_NEXT = "restructure, then `tdd refactor end` (or `tdd refactor abort`)"


def begun_lines(begun: Begun) -> list[Line]:
    failed = f", {begun.failed} not" if begun.failed else ""
    free = "; lines that no test runs may be added" if begun.uncovered else ""
    return [
        Line(f"phase refactor: {counted(begun.passed, 'test')} passed{failed}{free}"),
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
