"""What `tdd doctor` found, each with its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.lines import Dot, Line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.setup.doctor.finding import Finding, Level

_DOTS: dict[Level, Dot] = {"ok": "green", "warn": "yellow", "fail": "red"}


def lines(findings: Sequence[Finding]) -> list[Line]:
    found: list[Line] = []
    for finding in findings:
        found.append(Line(f"{finding.level:<4} {finding.name}: {finding.what}", _DOTS[finding.level]))
        found += [Line(f"         {visible(detail)}") for detail in finding.details]
        if finding.fix:
            found.append(Line(f"         fix: {finding.fix}"))
    return found


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "ok": all(f.level != "fail" for f in findings),
        "findings": [_as_data(finding) for finding in findings],
    }


def _as_data(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "level": finding.level,
        "what": finding.what,
        "fix": finding.fix,
        "details": list(finding.details),
    }
