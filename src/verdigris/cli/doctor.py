"""`tdd doctor`: checks that everything is there that Verdigris needs."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import actor, live, start
from verdigris.cli.output import json_option, show, show_json
from verdigris.views.lines import Dot, Line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.setup.doctor_checks import Finding, Level


@click.command("doctor")
@click.option("--room", is_flag=True, help="Also run the suite, unconfined and in the room, and compare.")
@json_option
def command(*, room: bool, as_json: bool) -> int:
    """Check git, interpreters, sandbox, log, configuration, gates and models, with a fix for each finding.

    Exit code: 0 nothing fails (warnings allowed), 1 something does.
    """
    from verdigris.drivers.machine.opening import check_players
    from verdigris.gates.clients.registry import clients
    from verdigris.setup.doctor import examine

    with live() if room else nullcontext() as progress:
        found = examine(start(), actor(), room=room, progress=progress)
    found += tuple(finding for client in clients() if (finding := client.check(start())) is not None)
    found += check_players(start())
    if as_json:
        show_json(finding_document(found))
    else:
        show(finding_lines(found))
    return 1 if any(finding.level == "fail" for finding in found) else 0


_DOTS: dict[Level, Dot] = {"ok": "green", "warn": "yellow", "fail": "red"}


def finding_lines(findings: Sequence[Finding]) -> list[Line]:
    found: list[Line] = []
    for finding in findings:
        found.append(Line(f"{finding.level:<4} {finding.name}: {finding.what}", _DOTS[finding.level]))
        found += [Line(f"         {visible(detail)}") for detail in finding.details]
        if finding.fix:
            found.append(Line(f"         fix: {finding.fix}"))
    return found


def finding_document(findings: Sequence[Finding]) -> dict[str, Any]:
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
