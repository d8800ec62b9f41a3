"""Runs tests in the user's interpreter: one call per stack, streamed, slugs applied."""

from __future__ import annotations

import os
import secrets
import tempfile
from typing import TYPE_CHECKING, Protocol

from verdigris.core.report import Ended, Status, TestReport
from verdigris.core.testids import apply, refuse_duplicates, split_id
from verdigris.kernel.interpreter import find_interpreter
from verdigris.kernel.process import Command, run
from verdigris.kernel.selection import by_stack, text_of
from verdigris.runners.pytest import invocation
from verdigris.runners.pytest_report import parse, read_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project


class Progress(Protocol):
    """Who watches a run."""

    def collected(self, total: int) -> None: ...

    def finished(self, test_id: str, status: Status) -> None: ...


def execute(
    project: Project, natives: Sequence[str], *, trace: Sequence[str] = (), progress: Progress | None = None
) -> TestReport:
    """These ids and paths; whole stacks where none is named."""
    chosen = _chosen(project, natives)
    reports = (_run(project, s, names, trace=trace, progress=progress) for s, names in chosen.items())
    return _named(project, merged(reports))


def execute_suite(
    project: Project,
    claimed: Sequence[str] = (),
    *,
    trace: Sequence[str] = (),
    progress: Progress | None = None,
) -> TestReport:
    """What the configuration calls the suite, and the claimed tests: one call per stack where that can be."""
    by = by_stack(project.settings.stacks, claimed)
    reports: list[TestReport] = []
    for stack in project.settings.stacks:
        mine = by.get(stack, ())
        marks = [word for entry in stack.suite if entry.startswith("-m") for word in _mark(entry)]
        paths = [_below(stack, entry) for entry in stack.suite if not entry.startswith("-m")]
        if marks and mine:
            reports.append(_run(project, stack, mine, trace=trace, progress=progress))
            mine = ()
        names = (*paths, *mine) if stack.suite else ()
        reports.append(_run(project, stack, names, extra=marks, trace=trace, progress=progress))
    return _named(project, merged(reports))


def collect(project: Project, natives: Sequence[str] = ()) -> frozenset[str]:
    """The ids that exist, without running any."""
    chosen = _chosen(project, natives)
    reports = (_run(project, stack, names, collect_only=True) for stack, names in chosen.items())
    return frozenset(merged(reports).collected)


def _chosen(project: Project, natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    stacks = project.settings.stacks
    return by_stack(stacks, natives) if natives else dict.fromkeys(stacks, ())


def _mark(entry: str) -> tuple[str, str]:
    return ("-m", entry.removeprefix("-m").strip())


def _below(stack: Stack, entry: str) -> str:
    return entry if stack.root in {".", ""} else f"{stack.root.rstrip('/')}/{entry}"


def _run(
    project: Project,
    stack: Stack,
    names: Sequence[str],
    *,
    extra: Sequence[str] = (),
    trace: Sequence[str] = (),
    collect_only: bool = False,
    progress: Progress | None = None,
) -> TestReport:
    env = dict(os.environ)
    known = project.repo.private / "interpreters.json"
    interpreter = find_interpreter(project.root / stack.root, project.root, stack.python, env, known)
    with tempfile.TemporaryDirectory(prefix="cache.", dir=project.repo.private) as cache:
        call = invocation(
            str(interpreter.path),
            names,
            worktree=str(project.root),
            stack_root=stack.root,
            nonce=secrets.token_hex(16),
            extra=(*stack.test_command, *extra),
            trace=trace,
            collect_only=collect_only,
            cache_dir=cache,
        )
        lines: list[bytes] = []
        command = Command(
            call.argv, project.root / stack.root, {**env, **call.env}, call.channel_env, call.hello
        )
        finished = run(
            command, timeout=project.settings.timeout, on_line=_watched(lines, call.nonce, progress)
        )
    return parse(
        lines,
        nonce=call.nonce,
        command=call.command,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
    )


def _watched(lines: list[bytes], nonce: str, progress: Progress | None) -> Callable[[bytes], None]:
    if progress is None:
        return lines.append

    def on_line(line: bytes) -> None:
        lines.append(line)
        match read_line(line, nonce):
            case {"kind": "collected", "ids": ids}:
                progress.collected(len(ids))
            case {"kind": "test", "id": str(test_id), "phase": "teardown" | "setup", "outcome": "failed"}:
                progress.finished(test_id, Status.ERROR)
            case {"kind": "test", "id": str(test_id), "phase": "call", "outcome": outcome}:
                progress.finished(test_id, Status.PASS if outcome == "passed" else Status.FAIL)

    return on_line


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
