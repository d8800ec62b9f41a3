"""The audit as JUnit XML: a case for each unit, failed where it blames, skipped where nobody can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from verdigris.drivers.audit.report import BLAMELESS
from verdigris.views.audit.findings import blames, name_unit, unit_findings
from verdigris.views.audit.outcomes import KINDS
from verdigris.views.lines import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.audit.report import AuditReport, UnitReport

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
    suite = ET.SubElement(root, "testsuite", {"name": visible(f"{_NAME} {report.range}"), **counts})
    for unit in report.units:
        _add_case(suite, unit)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_case(suite: ET.Element, unit: UnitReport) -> None:
    time = f"{unit.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", classname="audit", name=visible(name_unit(unit)), time=time)
    if blames(unit):
        failure = ET.SubElement(case, "failure", type=unit.outcome, message=visible(unit.why))
        failure.text = _text(unit)
    elif unit.outcome in BLAMELESS:
        ET.SubElement(case, "skipped", message=visible(f"{unit.outcome}: {unit.why}"))
    out = ET.SubElement(case, "system-out")
    out.text = "\n".join(map(visible, _output(unit)))


def _text(unit: UnitReport) -> str:
    lines = [f"{one.rule}: {one.place}: {one.text}" for one in unit_findings(unit)]
    return "\n".join(map(visible, [*lines, f"next: {KINDS[unit.outcome].next}"]))


def _output(unit: UnitReport) -> Iterator[str]:
    yield f"{unit.outcome}: {unit.why}"
    yield f"commit: {unit.commit.id}"
    for test in unit.reds:
        counts = "" if test.valid else " (does not count)"
        yield f"red before{counts}: {test.id}: {test.why}: {test.message}".rstrip(": ")
    yield from (f"note: {note}" for note in unit.notes)
