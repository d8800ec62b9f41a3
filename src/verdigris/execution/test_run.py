"""Runs tests: one call for each stack, merged into one report. Also runs the commands that `tdd.yaml` names.

A configured command, the user's interpreter or another test tool runs the tests of a stack.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.events import Proved, Proving
from verdigris.core.languages import has_tests_in_source, suffixes_of
from verdigris.core.paths import PathClass, above
from verdigris.core.report import TestReport, merge_reports, suite_of
from verdigris.core.test_ids import MARK, split_id
from verdigris.core.value import replace
from verdigris.core.verdict import Tool
from verdigris.execution.process import Command, Finished, run
from verdigris.execution.room import Layer, Room
from verdigris.execution.rooms import forget, hide_held_out, on_view, possible, room
from verdigris.execution.test_selection import TestCall, by_stack, stack_of
from verdigris.languages.registry import is_mixed
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.runners.registry import fitting_command, is_in_interpreter, reports, split_by_command
from verdigris.sandbox.child import refusal
from verdigris.storage import stat_cache
from verdigris.storage.calls.open_calls import alive, shared_inodes
from verdigris.storage.intents import finishes
from verdigris.storage.project import Project, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.storage.snapshots.restoration import Displaced


def run_request(
    project: Project,
    stack: Stack,
    request: TestRequest,
    *,
    layer: Layer | None = None,
    progress: Progress | None = None,
    bare: bool = False,
) -> TestReport:
    """Runs tests in a room, on the tree of `layer` if there is one.

    `bare`: without a room, as the user would.
    """
    layer = layer if bare else hide_held_out(project, on_view(project, layer))
    return _run_call(TestCall(project, stack, request, layer, progress, bare))


def _run_call(call: TestCall) -> TestReport:
    if call.stack.test_command_for:
        return _run_by_command(call)
    command = call.request.command
    if is_in_interpreter(call.stack.runner) and not (command and reports(command)):
        from verdigris.execution.tools.python_call import call_interpreter

        return call_interpreter(call)
    from verdigris.execution.tools.call import call_tool

    return call_tool(call)


def _run_by_command(call: TestCall) -> TestReport:
    """Makes one call for each configured command, and one by the runner's own for the other tests."""
    plain = replace(call, stack=replace(call.stack, test_command_for=()))
    parts = split_by_command(call.stack, call.request.names, _test_files(call.project, call.stack))
    found = []
    for words, names in parts.items():
        report = _run_call(replace(plain, request=replace(call.request, names=names, command=words or ())))
        found.append(_without_commands(call.stack, report) if words is None else report)
    return merge_reports(found)


def _without_commands(stack: Stack, report: TestReport) -> TestReport:
    """The runner's report without the tests that have a command of their own."""
    return replace(
        report,
        results=tuple(r for r in report.results if fitting_command(stack, r.native_id) is None),
        collected=tuple(i for i in report.collected if fitting_command(stack, i) is None),
        errors=tuple(e for e in report.errors if not e.path or fitting_command(stack, e.path) is None),
    )


def _test_files(project: Project, stack: Stack) -> tuple[str, ...]:
    """The test files of the stack's language; in Rust every file may contain tests."""
    ends = suffixes_of(stack.language)
    entries = project.workspace.files(project.workspace.snapshot())
    paths = (entry.path for entry in entries if entry.path.endswith(ends))
    return tuple(p for p in paths if has_tests_in_source(p) or project.classify(p) is PathClass.TEST)


_WHOLE = TestRequest()


def execute(
    project: Project,
    request: TestRequest,
    *,
    layer: Layer | None = None,
    progress: Progress | None = None,
    within_suite: bool = False,
) -> TestReport:
    """Runs the ids and paths that the request names; whole stacks if it names none.

    `within_suite`: of a file that is named, only the tests that the marks of the configured suite choose.
    """

    def run_part(stack: Stack, names: tuple[str, ...]) -> TestReport:
        extra = suite_of(stack).marks if within_suite else request.extra
        asked = replace(request, names=names, extra=extra)
        return _run_stack(project, stack, asked, layer=layer, progress=progress)

    found = (run_part(stack, names) for stack, names in _choose_stacks(project, request.names).items())
    return _rename_by_slugs(project, merge_reports(found))


def execute_suite(
    project: Project,
    request: TestRequest = _WHOLE,
    *,
    layer: Layer | None = None,
    progress: Progress | None = None,
) -> TestReport:
    """Runs the suite as configured, and the tests that the request names, which are the claimed ones.

    It makes one call for each stack if possible.
    """
    by = by_stack(project.settings.stacks, request.names)

    def run_part(stack: Stack, names: tuple[str, ...], marks: tuple[str, ...] = ()) -> TestReport:
        asked = replace(request, names=names, extra=marks)
        return _run_stack(project, stack, asked, layer=layer, progress=progress)

    found: list[TestReport] = []
    for stack in project.settings.stacks:
        mine = by.get(stack, ())
        suite = suite_of(stack)
        if suite.marks and mine:
            found.append(run_part(stack, mine))
            mine = ()
        names = (*suite.names, *mine) if stack.suite else ()
        found.append(run_part(stack, names, suite.marks))
    return _rename_by_slugs(project, merge_reports(found))


def time_limit(project: Project, state: WorktreeState) -> float:
    """The time limit of a verdict's runs, by the time that the suite took before, if that is known."""
    configured = project.settings.timeout
    return float(configured) if state.baseline is None else state.baseline.limit(configured)


def collect(project: Project, *, layer: Layer | None = None) -> frozenset[str]:
    """Lists the ids of the suite as configured, without running it."""
    found = []
    for stack in project.settings.stacks:
        suite = suite_of(stack)
        asked = TestRequest(suite.names, extra=suite.marks, collect_only=True)
        found.append(_run_stack(project, stack, asked, layer=layer))
    return frozenset(merge_reports(found).collected)


def _run_stack(
    project: Project,
    stack: Stack,
    request: TestRequest,
    *,
    layer: Layer | None = None,
    progress: Progress | None = None,
) -> TestReport:
    """Runs one stack.

    Leaves out tests of a stack inside it, which a runner that searches all folders finds too.
    """
    report = run_request(project, stack, request, layer=layer, progress=progress)
    stacks = project.settings.stacks
    if not any(s.language == stack.language and s != stack for s in stacks):
        return report

    @cache
    def is_own(path: str) -> bool:
        return not path or path.startswith("/") or stack_of(stacks, path) == stack

    return replace(
        report,
        results=tuple(r for r in report.results if is_own(split_id(r.native_id).path)),
        collected=tuple(i for i in report.collected if is_own(split_id(i).path)),
        others=tuple(i for i in report.others if is_own(split_id(i).path)),
        errors=tuple(e for e in report.errors if is_own(e.path)),
    )


def _choose_stacks(project: Project, natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    stacks = project.settings.stacks
    return by_stack(stacks, natives) if natives else dict.fromkeys(stacks, ())


def _rename_by_slugs(project: Project, report: TestReport) -> TestReport:
    """Renames the tests to the slugs that annotations give."""
    paths = {split_id(result.native_id).path for result in report.results}
    texts = {path: text_of(project, path) for path in paths}
    marked = {path: text for path, text in texts.items() if text is not None and MARK in text}
    if not marked:
        return report
    from verdigris.languages.tests import apply, refuse_duplicates

    refuse_duplicates(marked)
    return apply(report, marked)


def run_tool(project: Project, stack: Stack, name: str, command: str) -> Tool:
    """Runs a command of `tdd.yaml` in a room. The room is thrown away, with all that the command wrote."""
    with room(project) as made:
        return run_tool_in(made, project, stack, name, command)


def run_tool_in(
    made: Room, project: Project, stack: Stack, name: str, command: str, arguments: Sequence[str] = ()
) -> Tool:
    words = (f'{command} "$@"' if arguments else command, name, *arguments)
    try:
        finished = run_shell_in(made, project, words, project.root / stack.root, project.settings.timeout)
    except ToolMissing as missing:
        return Tool(name, command, ok=False, output=missing.message)
    output = finished.output.decode("utf-8", "replace")
    return Tool(name, command, ok=finished.exit_code == 0 and not finished.timed_out, output=output)


def run_shell_in(made: Room, project: Project, words: Sequence[str], cwd: Path, timeout: float) -> Finished:
    """Runs a shell command in a room.

    `words`: the command, its name for the shell (`$0`), and its arguments.
    """
    finished = run(Command(("/bin/sh", "-c", *words), cwd, made.env, confine=made.confine), timeout=timeout)
    if made.confine and (why := refusal(finished.exit_code, finished.output)) is not None:
        forget(project)
        raise HarnessError(
            f"{words[1]} could not be confined, so it was not run: {why}",
            hint="run the command again; if it fails again, `tdd doctor`",
        )
    return finished


def stat_tree(project: Project, tree: str) -> list[stat_cache.Row]:
    """The stamps of all that a verdict depends on: source, tests, and folders that may contain tests."""
    if not alive(str(project.repo.private)):
        return []
    paths = [e.path for e in project.workspace.files(tree)]
    classes = {path: project.classify(path) for path in paths}
    judged = [path for path, cls in classes.items() if cls is not PathClass.OTHER or is_mixed(path, cls)]
    tests = (path for path in judged if classes[path] is PathClass.TEST)
    folders = {"", *(folder for path in tests for folder in above(path))}
    root = os.fsencode(project.root)
    return [stat_cache.stamp(root, os.fsencode(path)) for path in (*judged, *sorted(folders))]


def touched_paths(project: Project, before: list[stat_cache.Row]) -> tuple[str, ...]:
    """Paths that changed since `before`, or that a shared mapping could change without a trace."""
    if not before:
        return ()
    touched = dict.fromkeys(stat_cache.differs(os.fsencode(project.root), before))
    hidden = shared_inodes(str(project.repo.private))
    touched |= dict.fromkeys(path for path, _, inode, *_ in before if inode in hidden)
    return tuple(os.fsdecode(path) or "." for path in touched)


@contextmanager
def on_start_tree(
    project: Project, *, start: str, edited: str, paths: Sequence[str]
) -> Iterator[Layer | None]:
    """Gives a layer in which `paths` are as in the tree `start`.

    Without a sandbox it gives None, and changes the worktree meanwhile.
    """
    if not paths:
        yield None
    elif possible(project).ok:
        yield Layer(project.workspace.graft(edited, start, paths), edited)
    else:
        with _in_place(project, start, edited, paths):
            yield None


@contextmanager
def _in_place(project: Project, start: str, edited: str, paths: Sequence[str]) -> Iterator[None]:
    from verdigris.storage.snapshots.restoration import list_displaced

    project.record(Proving(paths=tuple(paths), edited=edited, start=start), sync=True)
    away: tuple[Displaced, ...] = ()
    try:
        away = project.workspace.lay(start, paths, expect=edited)
        yield
    finally:
        back = project.workspace.lay(edited, paths, expect=start)
        project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)


@finishes(Proving)
def finish_proving(project: Project, intent: Proving) -> str:
    from verdigris.storage.snapshots.restoration import list_displaced

    # Lay the start tree first, as the killed call did: it may have displaced bytes, and only the same call
    # recognises its half-written files.
    away = project.workspace.lay(intent.start, intent.paths, expect=intent.edited)
    back = project.workspace.lay(intent.edited, intent.paths, expect=intent.start)
    project.record(Proved(displaced=list_displaced((*away, *back))), sync=True)
    return "brought the turn's edits back"
