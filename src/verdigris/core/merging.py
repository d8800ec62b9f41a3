"""Several reports of one run, such as of several stacks, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.report import Ended, TestReport, VariantOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORST = (Ended.TIMEOUT, Ended.DIED, Ended.EARLY_EXIT, Ended.NO_START, Ended.FINISHED)


def merged(reports: Iterable[TestReport]) -> TestReport:
    """It ended as badly as the worst of them, and is confined where all of them were."""
    first, *rest = reports
    for other in rest:
        worst = min(first, other, key=lambda report: _WORST.index(report.ended))
        first = TestReport(
            command=f"{first.command} && {other.command}",
            ended=worst.ended,
            exit_code=worst.exit_code or first.exit_code or other.exit_code,
            duration_ms=first.duration_ms + other.duration_ms,
            results=first.results + other.results,
            collected=first.collected + other.collected,
            others=first.others + other.others,
            errors=first.errors + other.errors,
            tail=worst.tail,
            lines={**first.lines, **other.lines},
            strays=first.strays + other.strays,
            loaded=tuple(dict.fromkeys((*first.loaded, *other.loaded))),
            outside=tuple(dict.fromkeys((*first.outside, *other.outside))),
            files=tuple(dict.fromkeys((*first.files, *other.files))),
            opened=tuple(dict.fromkeys((*first.opened, *other.opened))),
            below=tuple(dict.fromkeys((*first.below, *other.below))),
            variants=_variants(first.variants, other.variants),
            installed=tuple(dict.fromkeys((*first.installed, *other.installed))),
            sandbox="overlay" if first.sandbox == other.sandbox == "overlay" else "none",
            wrote=tuple(sorted({*first.wrote, *other.wrote})),
            notes=tuple(dict.fromkeys((*first.notes, *other.notes))),
        )
    return first


def _variants(one: Iterable[VariantOutcome], two: Iterable[VariantOutcome]) -> tuple[VariantOutcome, ...]:
    """What was selected may be parted between commands: each has made all runs of the set."""
    found = {outcome.index: outcome for outcome in one}
    for outcome in two:
        known = found.get(outcome.index, VariantOutcome(outcome.index))
        found[outcome.index] = VariantOutcome(
            outcome.index,
            {**known.outcomes, **outcome.outcomes},
            {**known.places, **outcome.places},
            known.why or outcome.why,
        )
    return tuple(found.values())
