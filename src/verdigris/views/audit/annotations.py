"""The audit as commands that make GitHub annotate the files of a change.

GitHub takes ten annotations of a kind from a step and drops the rest without a word. So the gravest come
first, and the tenth says how many more there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.views.audit.findings import findings, name_unit

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport
    from verdigris.views.audit.findings import Finding

MOST = 10
"""Of a kind, of one step."""
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render_annotations(report: AuditReport) -> str:
    found = findings(report)
    lines = []
    for level, command in _COMMANDS.items():
        of_level = [one for one in found if one.kind.level == level]
        shown = of_level if len(of_level) <= MOST else of_level[: MOST - 1]
        lines += [_annotate(command, one) for one in shown]
        if rest := len(of_level) - len(shown):
            lines.append(_tell_rest(command, rest, of_level[len(shown) :]))
    return "".join(f"{line}\n" for line in lines)


def _annotate(command: str, one: Finding) -> str:
    properties = {
        "file": one.path,
        "line": str(one.line) if one.path and one.line else "",
        "endLine": str(one.last_line) if one.path and one.last_line > one.line else "",
        "title": f"tdd audit: {one.rule}",
    }
    advice = f"\nnext: {one.kind.next}" if one.kind.next else ""
    return _write(command, properties, f"{one.text}\nin {name_unit(one.unit)}{advice}")


def _tell_rest(command: str, rest: int, left_out: list[Finding]) -> str:
    rules = ", ".join(dict.fromkeys(one.rule for one in left_out))
    text = f"{rest} more of this kind ({rules}) are not shown here: see the summary of this step"
    return _write(command, {"title": f"tdd audit: {rest} more"}, text)


def _write(command: str, properties: dict[str, str], text: str) -> str:
    given = ",".join(f"{name}={_escape_property(one)}" for name, one in properties.items() if one)
    return f"::{command} {given}::{_escape(text)}"


def _escape(text: str) -> str:
    """As GitHub reads it; bytes that are no text are written out."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
