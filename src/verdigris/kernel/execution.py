"""Which calls a run of tests is made of: one per stack, merged into one report, slugs applied."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.report import Ended, TestReport
from verdigris.core.suite import suite_of
from verdigris.core.testids import apply, refuse_duplicates, split_id
from verdigris.kernel.calling import call
from verdigris.kernel.selection import by_stack
from verdigris.kernel.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.kernel.calling import Progress
    from verdigris.kernel.project import Project
    from verdigris.kernel.room.layers import Layer


def execute(
    project: Project,
    natives: Sequence[str],
    *,
    progress: Progress | None = None,
    layer: Layer | None = None,
    timeout: float | None = None,
    sources: Sequence[str] | None = None,
) -> TestReport:
    """These ids and paths; whole stacks where none is named."""
    chosen = _chosen(project, natives)
    reports = (
        call(project, stack, names, progress=progress, layer=layer, timeout=timeout, sources=sources)
        for stack, names in chosen.items()
    )
    return _named(project, merged(reports))


def execute_suite(
    project: Project,
    claimed: Sequence[str] = (),
    *,
    trace: Sequence[str] = (),
    progress: Progress | None = None,
    layer: Layer | None = None,
    timeout: float | None = None,
    sources: Sequence[str] | None = None,
) -> TestReport:
    """What the configuration calls the suite, and the claimed tests: one call per stack where that can be."""
    by = by_stack(project.settings.stacks, claimed)
    reports: list[TestReport] = []
    for stack in project.settings.stacks:
        mine = by.get(stack, ())
        suite = suite_of(stack)
        asked = partial(
            call,
            project,
            stack,
            trace=trace,
            progress=progress,
            layer=layer,
            timeout=timeout,
            sources=sources,
        )
        if suite.marks and mine:
            reports.append(asked(mine))
            mine = ()
        names = (*suite.names, *mine) if stack.suite else ()
        reports.append(asked(names, extra=suite.marks))
    return _named(project, merged(reports))


def time_limit(project: Project, state: WorktreeState) -> float:
    """For a verdict's runs: by what the suite took before, where that is known."""
    configured = project.settings.timeout
    return float(configured) if state.baseline is None else state.baseline.limit(configured)


def collect(project: Project, *, layer: Layer | None = None) -> frozenset[str]:
    """The ids that exist, without running any."""
    stacks = project.settings.stacks
    reports = (call(project, stack, (), collect_only=True, layer=layer) for stack in stacks)
    return frozenset(merged(reports).collected)


def _chosen(project: Project, natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    stacks = project.settings.stacks
    return by_stack(stacks, natives) if natives else dict.fromkeys(stacks, ())


_WORST = (Ended.TIMEOUT, Ended.DIED, Ended.EARLY_EXIT, Ended.NO_START, Ended.FINISHED)


def merged(reports: Iterable[TestReport]) -> TestReport:
    """Several stacks, one report; it ended as badly as the worst of them."""
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
            sandbox=first.sandbox,
            wrote=tuple(sorted({*first.wrote, *other.wrote})),
            notes=tuple(dict.fromkeys((*first.notes, *other.notes))),
        )
    return first


def _named(project: Project, report: TestReport) -> TestReport:
    """Under the slugs that annotations give."""
    paths = {split_id(result.native_id).path for result in report.results}
    texts = {path: text_of(project, path) for path in paths}
    marked = {path: text for path, text in texts.items() if text is not None and "@tdd-id" in text}
    if not marked:
        return report
    refuse_duplicates(marked)
    return apply(report, marked)
