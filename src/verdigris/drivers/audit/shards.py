"""Joins the reports of a range's parts, in the order of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.drivers.audit.report import AuditReport


def join_shards(reports: Sequence[AuditReport]) -> AuditReport:
    """A part that is there twice counts once: each gives the same answers."""
    first = reports[0]
    parts: dict[int, AuditReport] = {}
    total = _shard(first)[1]
    for report in reports:
        part, parts_of_it = _shard(report)
        if (report.base, report.head, report.squash, parts_of_it) != (
            first.base,
            first.head,
            first.squash,
            total,
        ):
            raise UserError(
                f"these are parts of different audits: {first.range} ({total} parts) and {report.range}"
                f" ({parts_of_it}).",
                hint="give the reports of one range, made with one `--shard I/N`",
            )
        parts.setdefault(part, report)
    missing = [f"{part}/{total}" for part in range(1, total + 1) if part not in parts]
    if missing:
        raise UserError(
            f"the parts {', '.join(missing)} of {first.range} are missing.",
            hint=f"make them: `tdd audit {first.range} --shard {missing[0]} --json`",
        )
    longest = max(len(report.units) for report in parts.values())
    units = tuple(
        parts[part].units[at]
        for at in range(longest)
        for part in range(1, total + 1)
        if at < len(parts[part].units)
    )
    settings = {name: text for name, text in first.settings.items() if name != "shard"}
    return replace(first, units=units, settings=settings)


def _shard(report: AuditReport) -> tuple[int, int]:
    part, _, total = report.settings.get("shard", "1/1").partition("/")
    return int(part), int(total)
