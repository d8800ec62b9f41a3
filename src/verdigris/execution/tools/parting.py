"""The calls that one stack's tests make where some of them have a command of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from verdigris.core.languages import RUST, suffixes_of
from verdigris.core.merging import merged
from verdigris.core.pathclass import PathClass
from verdigris.runners.commands import Words, fitting, parted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.storage.project import Project


class Call(Protocol):
    def __call__(self, stack: Stack, names: Words, *, command: Words) -> TestReport: ...


def by_command(project: Project, stack: Stack, names: Sequence[str], call: Call) -> TestReport:
    """One call for each command, and one of the runner's own for the rest."""
    plain = replace(stack, test_command_for=())
    parts = parted(stack, names, _files(project, stack))
    return merged(
        _others(stack, call(plain, asked, command=())) if words is None else call(plain, asked, command=words)
        for words, asked in parts.items()
    )


def _others(stack: Stack, report: TestReport) -> TestReport:
    """What the runner itself finds of tests that have a command does not count."""
    return replace(
        report,
        results=tuple(r for r in report.results if fitting(stack, r.native_id) is None),
        collected=tuple(i for i in report.collected if fitting(stack, i) is None),
        errors=tuple(e for e in report.errors if not e.path or fitting(stack, e.path) is None),
    )


def _files(project: Project, stack: Stack) -> tuple[str, ...]:
    """Test files of the stack's language; in Rust every file may hold tests."""
    ends = suffixes_of(stack.language)
    entries = project.workspace.files(project.workspace.snapshot())
    paths = (entry.path for entry in entries if entry.path.endswith(ends))
    return tuple(p for p in paths if stack.language == RUST or project.classify(p) is PathClass.TEST)
