"""The audit as SARIF 2.1.0, as GitHub's code scanning takes it.

A result keeps its identity when lines move: its fingerprint is made of the test or text that it is about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from verdigris.drivers.audit.report import BLAMELESS
from verdigris.views.audit.findings import findings, fingerprints, name_unit
from verdigris.views.audit.outcomes import KINDS, SEVERITY
from verdigris.views.lines import visible

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import AuditReport
    from verdigris.views.audit.findings import Finding
    from verdigris.views.audit.outcomes import FindingKind

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5_000
"""GitHub takes more and keeps as many."""
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
    notes = [one for one in found if one.rule in BLAMELESS or not one.path]
    driver = {"name": "tdd audit", "version": report.version or "0", "rules": [_rule(kind) for kind in RULES]}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": _CATEGORY},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    *map(_notification, notes),
                    *_tell_left_out(len(placed) - len(marked)),
                ],
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
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(one.path), "uriBaseId": "%SRCROOT%"}}
    if one.line > 0:
        location["region"] = {"startLine": one.line, "endLine": max(one.line, one.last_line)}
    return {
        "ruleId": one.rule,
        "ruleIndex": SEVERITY[one.rule],
        "level": one.kind.level,
        "message": {"text": _bounded(f"{one.text} (in {name_unit(one.unit)})")},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        "properties": {"commit": one.unit.commit.id},
    }


def _notification(one: Finding) -> dict[str, Any]:
    text = _bounded(f"{one.rule}: {name_unit(one.unit)}: {one.text}")
    return {"level": one.kind.level, "message": {"text": text}}


def _tell_left_out(number: int) -> list[dict[str, Any]]:
    if not number:
        return []
    text = f"{number} results of lesser gravity are left out: code scanning keeps {MOST_RESULTS}"
    return [{"level": "warning", "message": {"text": text}}]


def _uri(path: str) -> str:
    """Relative to the repository; each byte that a URI cannot hold is written as `%XX`."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/")


def _bounded(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _MOST_TEXT else f"{shown[: _MOST_TEXT - 1]}…"
