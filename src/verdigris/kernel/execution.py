"""Which calls a run of tests is made of: one per stack, merged into one report, slugs applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.report import Ended, TestReport
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


def execute(
    project: Project,
    natives: Sequence[str],
    *,
    progress: Progress | None = None,
    timeout: float | None = None,
) -> TestReport:
    """These ids and paths; whole stacks where none is named."""
    chosen = _chosen(project, natives)
    reports = (call(project, s, names, progress=progress, timeout=timeout) for s, names in chosen.items())
    return _named(project, merged(reports))


def execute_suite(
    project: Project,
    claimed: Sequence[str] = (),
    *,
    trace: Sequence[str] = (),
    progress: Progress | None = None,
    timeout: float | None = None,
) -> TestReport:
    """What the configuration calls the suite, and the claimed tests: one call per stack where that can be."""
    by = by_stack(project.settings.stacks, claimed)
    reports: list[TestReport] = []
    for stack in project.settings.stacks:
        mine = by.get(stack, ())
        marks = [word for entry in stack.suite if entry.startswith("-m") for word in _mark(entry)]
        paths = [_below(stack, entry) for entry in stack.suite if not entry.startswith("-m")]
        if marks and mine:
            reports.append(call(project, stack, mine, trace=trace, progress=progress, timeout=timeout))
            mine = ()
        names = (*paths, *mine) if stack.suite else ()
        reports.append(
            call(project, stack, names, extra=marks, trace=trace, progress=progress, timeout=timeout)
        )
    return _named(project, merged(reports))


def time_limit(project: Project, state: WorktreeState) -> float:
    """For a verdict's runs: by what the suite took before, where that is known."""
    configured = project.settings.timeout
    return float(configured) if state.baseline is None else state.baseline.limit(configured)


def collect(project: Project, natives: Sequence[str] = ()) -> frozenset[str]:
    """The ids that exist, without running any."""
    chosen = _chosen(project, natives)
    reports = (call(project, stack, names, collect_only=True) for stack, names in chosen.items())
    return frozenset(merged(reports).collected)


def _chosen(project: Project, natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    stacks = project.settings.stacks
    return by_stack(stacks, natives) if natives else dict.fromkeys(stacks, ())


def _mark(entry: str) -> tuple[str, str]:
    return ("-m", entry.removeprefix("-m").strip())


def _below(stack: Stack, entry: str) -> str:
    return entry if stack.root in {".", ""} else f"{stack.root.rstrip('/')}/{entry}"


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
