"""Calls a test tool that prints or writes its report: finds it, builds and runs tests, reads the report."""

from __future__ import annotations

import os
import shlex
import time

from verdigris.core.report import RunEnd, TestReport
from verdigris.core.value import replace
from verdigris.execution.rooms import RoomEquipment, possible, terms_of
from verdigris.execution.test_selection import TestCall, answer_of
from verdigris.execution.tools.registry import BuildRequest, TestTool, find_tool, tool_of
from verdigris.execution.tools.runs import Prepared, Ran, RunPlace, run_in_room, take_reports
from verdigris.runners.protocol import RunnerAnswer, RunnerCall, TestRequest, Toolset
from verdigris.runners.registry import Words, download_advice, fill_command, kind_of, reports
from verdigris.sandbox.folders import Folders

_LEAST = 0.1


def call_tool(asked: TestCall) -> TestReport:
    """Runs tests by a tool. It can neither trace lines nor run sets of variants: the report has none."""
    tools = _tools(asked)
    terms = terms_of(asked.project)
    folders = (terms.unconfined_terms() if asked.bare else terms).folders()
    try:
        found = _run(asked, tools, folders)
    finally:
        folders.discard()
    if asked.progress is not None:
        asked.progress.collected(len(found.collected))
        for result in found.results:
            asked.progress.finished(result.native_id, result.status)
    return found


def _tools(asked: TestCall) -> Toolset:
    command = asked.request.command
    if not command or not reports(command):
        view = asked.project.view
        return find_tool(asked.stack, asked.project.root, os.environ, () if view is None else view.lent)
    from verdigris.execution.tools.junit import tools_of_command

    return tools_of_command(asked.stack, command)


def _run(asked: TestCall, tools: Toolset, folders: Folders) -> TestReport:
    """Runs the call. `folders`: of this call, for the reports and for Go's cache."""
    kind, command = kind_of(asked.stack.runner), asked.request.command
    request = replace(
        asked.place_request(folders.cache),
        # Marks go only to tools that know them, and never to a command of the user.
        extra=asked.stack.test_command,
        # Some tools cannot list tests without running them: then collecting runs the tests.
        collect_only=asked.request.collect_only and kind.can_collect,
        limit=asked.project.settings.test_timeout,
    )
    calls = tools.runner.commands(request)
    if command and not reports(command):
        calls = tuple(_use_command(call, command, tools.lead) for call in calls)
    ready = _prepare_build(asked, tools, request, folders)
    if ready.failed is not None:
        rans, answers = [ready.failed], [_answer(calls[0], ready.failed, folders)]
    else:
        times = (asked.timeout, None if request.collect_only else request.limit)
        warm = asked.feedback and not command
        rans, answers = _carry_out(tool_of(kind.name), calls, ready.place, times, folders, warm=warm)
    report = tools.runner.report(request, tuple(answers))
    advice = download_advice(report.tail) if report.ended is RunEnd.NO_START else None
    traces = [one.traces for one in rans]
    opened = (*ready.opened, *(path for one in traces for path in one.opened))
    return replace(
        report,
        tail=f"{report.tail.rstrip()}\n{advice}" if advice else report.tail,
        sandbox="overlay" if all(one.sandbox == "overlay" for one in traces) else "none",
        wrote=tuple(sorted({path for one in traces for path in one.wrote})),
        notes=tuple(dict.fromkeys(note for one in traces for note in one.notes)),
        opened=tuple(dict.fromkeys(opened)),
    )


def _prepare_build(asked: TestCall, tools: Toolset, request: TestRequest, folders: Folders) -> Prepared:
    project = asked.project
    equipment = RoomEquipment(
        env=tools.env,
        needed=tuple(map(os.path.dirname, tools.programs)),
        writable=((folders.kept, folders.own),),
        shadowed=tuple((folder, folder) for folder in tools.reads),
    )
    tool = tool_of(asked.stack.runner)
    hidden = tuple(tool.kept_paths(asked.stack, project.root)) if asked.layer else ()
    layer = asked.layer and replace(asked.layer, hidden=hidden)
    place = RunPlace(project, layer, equipment, asked.bare)
    if asked.bare or not possible(project).ok:
        return Prepared(place)
    return tool.prepare(tools, BuildRequest(place, asked.stack, request, folders.home))


def _carry_out(
    tool: TestTool,
    calls: tuple[RunnerCall, ...],
    place: RunPlace,
    times: tuple[float, float | None],
    folders: Folders,
    *,
    warm: bool,
) -> tuple[list[Ran], list[RunnerAnswer]]:
    """Runs each call in a room of its own.

    `times`: the limit for all calls together, and that of one test.
    """
    timeout, limit = times
    ends = time.monotonic() + timeout
    rans: list[Ran] = []
    answers: list[RunnerAnswer] = []
    for call in calls:
        left = max(ends - time.monotonic(), _LEAST)
        warmly = tool.run_warm(call, place, left, limit) if warm else None
        rans.append(warmly or run_in_room(tool.limited(call, limit), place, left))
        answers.append(_answer(call, rans[-1], folders))
    return rans, answers


def _answer(call: RunnerCall, done: Ran, folders: Folders) -> RunnerAnswer:
    return replace(answer_of(call, done.finished), reports=take_reports(folders.reports))


def _use_command(call: RunnerCall, words: Words, lead: int) -> RunnerCall:
    """Replaces the tool's program by the configured command, also in the text for a person."""
    typed = shlex.split(call.command)[1:]
    return replace(
        call, argv=fill_command(words, call.argv[lead:]), command=shlex.join(fill_command(words, typed))
    )
