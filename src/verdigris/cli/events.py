"""The log, event by event: one line each for a person, every field as data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from verdigris.core.record import flatten
from verdigris.views.lines import Dot, Line, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.record import Record
    from verdigris.storage.log.finding import Verification
    from verdigris.storage.log.repair import Repaired

_TELLING = (
    "test_id",
    "status",
    "red",
    "edit_target",
    "verdict",
    "rule",
    "aside",
    "bug",
    "places",
    "path",
    "why",
    "argv",
)
"""The fields that tell most, in the order in which a line shows them."""
_DOTS: dict[str, Dot] = {"accepted": "green", "denied": "red", "violation": "red", "repair": "red"}


def lines(records: Iterable[Record]) -> list[Line]:
    """One line an event, in columns as wide as the widest of what is shown."""
    found = list(records)
    texts = [(f"{r.seq}", _when(r), r.worktree, r.actor.get("role", ""), r.type) for r in found]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [_line(record, text, widths) for record, text in zip(found, texts, strict=True)]


def _line(record: Record, text: tuple[str, ...], widths: Sequence[int]) -> Line:
    seq, *rest = text
    facts = [fact for name in _TELLING if (fact := _fact(record.data.get(name)))]
    columns = (cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True))
    # A dot takes two columns of its own.
    indent = "" if record.type in _DOTS else "  "
    text_of_line = "  ".join((f"{indent}{seq.rjust(widths[0])}", *columns, *facts))
    return Line(text_of_line.rstrip(), _DOTS.get(record.type))


def _when(record: Record) -> str:
    return datetime.fromtimestamp(record.ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _fact(value: Any) -> str:
    """Words; a number, such as that of the red which a claim cites, means nothing without its name."""
    match value:
        case str():
            return value
        case list() | tuple():
            return " ".join(map(str, value))
        case _:
            return ""


def data(record: Record) -> dict[str, Any]:
    return flatten(record)


def verification_lines(found: Verification) -> list[Line]:
    findings = [Line(f"event {f.seq}: {f.kind}: {f.message}", "red") for f in found.findings]
    if found.whole:
        return [*findings, Line(f"log intact: {counted(found.events, 'event')}", "green")]
    return [
        *findings,
        Line(f"damaged: {counted(len(findings), 'finding')} in {counted(found.events, 'event')}"),
    ]


def verification_document(found: Verification) -> dict[str, Any]:
    findings = [{"seq": f.seq, "kind": f.kind, "message": f.message} for f in found.findings]
    return {"whole": found.whole, "events": found.events, "findings": findings}


def repair_lines(repaired: Repaired) -> list[Line]:
    if repaired.damaged is None and not repaired.lost:
        return [Line(f"nothing to repair: the log is intact, {repaired.kept} events")]
    kept = f"; the damaged log is kept beside it as {repaired.damaged}" if repaired.damaged else ""
    return [Line(f"repaired: {repaired.kept} events kept, {repaired.lost} lost{kept}")]
