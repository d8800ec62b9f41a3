"""Runs what is asked for: by a configured command, by the user's interpreter, or by another test tool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.languages import has_tests_in_source, suffixes_of
from verdigris.core.paths import PathClass
from verdigris.core.report import merge_reports
from verdigris.execution.test_call import TestCall
from verdigris.runners.registry import is_in_interpreter

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.execution.room.layers import Layer
    from verdigris.runners.protocol import Progress, TestRequest
    from verdigris.storage.project import Project


def run_request(
    project: Project,
    stack: Stack,
    request: TestRequest,
    *,
    layer: Layer | None = None,
    progress: Progress | None = None,
    bare: bool = False,
) -> TestReport:
    """In a room, on the tree of `layer` where one is given; `bare`: as the user would run it, to compare."""
    return _run(TestCall(project, stack, request, layer, progress, bare))


def _run(call: TestCall) -> TestReport:
    if call.stack.test_command_for:
        return _run_by_command(call)
    command = call.request.command
    if is_in_interpreter(call.stack.runner) and not (command and _reports_by_itself(command)):
        from verdigris.execution.python_call import call_interpreter

        return call_interpreter(call)
    from verdigris.execution.tools.call import call_tool

    return call_tool(call)


def _reports_by_itself(command: tuple[str, ...]) -> bool:
    from verdigris.runners.commands import reports

    return reports(command)


def _run_by_command(call: TestCall) -> TestReport:
    """One call for each command, and one of the runner's own for the rest."""
    from verdigris.runners.commands import split_by_command

    plain = replace(call, stack=replace(call.stack, test_command_for=()))
    parts = split_by_command(call.stack, call.request.names, _test_files(call.project, call.stack))
    found = []
    for words, names in parts.items():
        report = _run(replace(plain, request=replace(call.request, names=names, command=words or ())))
        found.append(_without_commands(call.stack, report) if words is None else report)
    return merge_reports(found)


def _without_commands(stack: Stack, report: TestReport) -> TestReport:
    """What the runner itself finds of tests that have a command does not count."""
    from verdigris.runners.commands import fitting_command

    return replace(
        report,
        results=tuple(r for r in report.results if fitting_command(stack, r.native_id) is None),
        collected=tuple(i for i in report.collected if fitting_command(stack, i) is None),
        errors=tuple(e for e in report.errors if not e.path or fitting_command(stack, e.path) is None),
    )


def _test_files(project: Project, stack: Stack) -> tuple[str, ...]:
    """Test files of the stack's language; in Rust every file may hold tests."""
    ends = suffixes_of(stack.language)
    entries = project.workspace.files(project.workspace.snapshot())
    paths = (entry.path for entry in entries if entry.path.endswith(ends))
    return tuple(p for p in paths if has_tests_in_source(p) or project.classify(p) is PathClass.TEST)
