"""What `tdd doctor` found, each with its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.views.line import Dot, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.kernel.doctor.finding import Finding, Level

_DOTS: dict[Level, Dot] = {"ok": "green", "warn": "yellow", "fail": "red"}


def lines(findings: Sequence[Finding]) -> list[Line]:
    found: list[Line] = []
    for finding in findings:
        found.append(Line(f"{finding.level:<4} {finding.name}: {finding.what}", _DOTS[finding.level]))
        if finding.fix:
            found.append(Line(f"         fix: {finding.fix}"))
    return found


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "ok": all(f.level != "fail" for f in findings),
        "findings": [{"name": f.name, "level": f.level, "what": f.what, "fix": f.fix} for f in findings],
    }
