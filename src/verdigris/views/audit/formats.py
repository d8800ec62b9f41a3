"""Renders an audit's report in any format; those for other programs are here: annotations, JUnit, SARIF."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from verdigris.drivers.audit.report import BLAMELESS, AuditReport, UnitReport, render_report
from verdigris.views.audit.findings import (
    KINDS,
    SEVERITY,
    Finding,
    FindingKind,
    blames,
    findings,
    fingerprints,
    name_unit,
    unit_findings,
)
from verdigris.views.lines import make_visible

_RENDERERS = {
    "table": "text.render_table",
    "json": "formats.render_json",
    "markdown": "text.render_markdown",
    "junit": "formats.render_junit",
    "github": "formats.render_annotations",
    "sarif": "formats.render_sarif",
    "html": "page.render_page",
}
"""The function of each format, below this folder; its module is loaded when the format is asked for."""
FORMATS = tuple(_RENDERERS)


def render(report: AuditReport, format_: str, diffs: Mapping[str, str] | None = None) -> str:
    """`diffs`: see `render_page`."""
    module, name = _RENDERERS[format_].split(".")
    renderer = getattr(import_module(f"verdigris.views.audit.{module}"), name)
    return str(renderer(report, diffs) if format_ == "html" else renderer(report))


def render_json(report: AuditReport) -> str:
    return json.dumps(render_report(report), indent=1) + "\n"


MOST = 10
"""GitHub shows so many annotations of one level and step."""
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render_annotations(report: AuditReport) -> str:
    found = findings(report)
    lines = []
    for level, command in _COMMANDS.items():
        of_level = [one for one in found if one.kind.level == level]
        shown = of_level if len(of_level) <= MOST else of_level[: MOST - 1]
        lines += [_annotate(command, one) for one in shown]
        if rest := len(of_level) - len(shown):
            rules = ", ".join(dict.fromkeys(one.rule for one in of_level[len(shown) :]))
            text = f"{rest} more of this kind ({rules}) are not shown here: see the summary of this step"
            lines.append(_write(command, {"title": f"tdd audit: {rest} more"}, text))
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


def _write(command: str, properties: dict[str, str], text: str) -> str:
    escaped = {name: _escape(one).replace(":", "%3A").replace(",", "%2C") for name, one in properties.items()}
    given = ",".join(f"{name}={one}" for name, one in escaped.items() if one)
    return f"::{command} {given}::{_escape(text)}"


def _escape(text: str) -> str:
    """Escapes a text for GitHub's commands; bytes that are no text are written as escapes."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


_NAME = "tdd audit"


def render_junit(report: AuditReport) -> str:
    counts = {
        "tests": str(len(report.units)),
        "failures": str(sum(map(blames, report.units))),
        "errors": "0",
        "skipped": str(sum(unit.outcome in BLAMELESS for unit in report.units)),
        "time": f"{sum(unit.seconds for unit in report.units):.3f}",
    }
    root = ET.Element("testsuites", {"name": _NAME, **counts})
    suite = ET.SubElement(root, "testsuite", {"name": make_visible(f"{_NAME} {report.range}"), **counts})
    for unit in report.units:
        _add_case(suite, unit)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_case(suite: ET.Element, unit: UnitReport) -> None:
    time = f"{unit.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", classname="audit", name=make_visible(name_unit(unit)), time=time)
    if blames(unit):
        failure = ET.SubElement(case, "failure", type=unit.outcome, message=make_visible(unit.why))
        failure.text = _text(unit)
    elif unit.outcome in BLAMELESS:
        ET.SubElement(case, "skipped", message=make_visible(f"{unit.outcome}: {unit.why}"))
    out = ET.SubElement(case, "system-out")
    out.text = "\n".join(map(make_visible, _output(unit)))


def _text(unit: UnitReport) -> str:
    lines = [f"{one.rule}: {one.place}: {one.text}" for one in unit_findings(unit)]
    return "\n".join(map(make_visible, [*lines, f"next: {KINDS[unit.outcome].next}"]))


def _output(unit: UnitReport) -> Iterator[str]:
    yield f"{unit.outcome}: {unit.why}"
    yield f"commit: {unit.commit.id}"
    for test in unit.reds:
        counts = "" if test.valid else " (does not count)"
        yield f"red before{counts}: {test.id}: {test.why}: {test.message}".rstrip(": ")
    yield from (f"note: {note}" for note in unit.notes)


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5_000
"""GitHub accepts more and keeps this many."""
_MOST_TEXT = 1_000
_CATEGORY = "tdd-audit/"
RULES = tuple(kind for kind in KINDS.values() if kind.level != "note")


def render_sarif(report: AuditReport) -> str:
    return json.dumps(sarif_document(report), indent=1) + "\n"


def sarif_document(report: AuditReport) -> dict[str, Any]:
    found = findings(report)
    # GitHub refuses a whole file for one result without a place.
    placed = [one for one in found if one.path and one.rule not in BLAMELESS]
    marked = list(zip(placed, fingerprints(placed), strict=True))[:MOST_RESULTS]
    notes = [
        _notify(one.kind.level, f"{one.rule}: {name_unit(one.unit)}: {one.text}")
        for one in found
        if one.rule in BLAMELESS or not one.path
    ]
    if left_out := len(placed) - len(marked):
        text = f"{left_out} results of lesser gravity are left out: code scanning keeps {MOST_RESULTS}"
        notes.append(_notify("warning", text))
    driver = {"name": "tdd audit", "version": report.version or "0", "rules": [_rule(kind) for kind in RULES]}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": _CATEGORY},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": notes,
            }
        ],
        "results": [_result(one, fingerprint) for one, fingerprint in marked],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(kind: FindingKind) -> dict[str, Any]:
    means = f"{kind.means[0].upper()}{kind.means[1:]}."
    advice = f"{kind.next[0].upper()}{kind.next[1:]}."
    return {
        "id": kind.name,
        "name": kind.name.title(),
        "shortDescription": {"text": means},
        "fullDescription": {"text": means},
        "help": {"text": f"{means} {advice}", "markdown": f"{means}\n\n**Next**: {advice}"},
        "defaultConfiguration": {"level": kind.level},
        "properties": {"tags": ["tests"]},
    }


def _result(one: Finding, fingerprint: str) -> dict[str, Any]:
    # Relative to the repository; each byte that a URI cannot hold is written as `%XX`.
    uri = quote(one.path.encode("utf-8", "surrogateescape"), safe="/")
    location: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}
    if one.line > 0:
        location["region"] = {"startLine": one.line, "endLine": max(one.line, one.last_line)}
    return {
        "ruleId": one.rule,
        "ruleIndex": SEVERITY[one.rule],
        "level": one.kind.level,
        "message": {"text": _clip(f"{one.text} (in {name_unit(one.unit)})")},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        "properties": {"commit": one.unit.commit.id},
    }


def _notify(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _clip(text)}}


def _clip(text: str) -> str:
    shown = make_visible(text)
    return shown if len(shown) <= _MOST_TEXT else f"{shown[: _MOST_TEXT - 1]}…"
