"""One call of a test tool that prints or writes its report: found, built, run in a room, and read."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

from verdigris.core.needs import fetching
from verdigris.core.report import Ended
from verdigris.core.settings import JUnit
from verdigris.core.value import replace
from verdigris.execution.room.rooms import RoomEquipment, possible, terms_of
from verdigris.execution.test_call import answer_of
from verdigris.execution.tools.build import Prepared
from verdigris.execution.tools.node import watch
from verdigris.execution.tools.registry import compiler_of, find_tool, hidden_paths, warm_run_of
from verdigris.execution.tools.runs import RunPlace, run_in_room, take_reports
from verdigris.runners.protocol import RunnerAnswer, RunnerCall, Toolset
from verdigris.runners.registry import Words, fill_command, kind_of, reports
from verdigris.sandbox.folders import Folders

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.execution.test_call import TestCall
    from verdigris.execution.tools.registry import WarmRun
    from verdigris.execution.tools.runs import Ran
    from verdigris.runners.protocol import TestRequest

_LEAST = 0.1


def call_tool(asked: TestCall) -> TestReport:
    """Lines are not traced, and nothing is tried in variants: the report has none."""
    tools = _tools(asked)
    folders = Folders(terms_of(asked.project).place)
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
        return find_tool(asked.stack, asked.project.root, os.environ)
    from verdigris.execution.tools.junit import junit_tool
    from verdigris.runners.junit import JUnitRunner

    said = replace(asked.stack.junit or JUnit(), command=command, everything=())
    return Toolset(JUnitRunner(junit_tool(said)), ())


def _run(asked: TestCall, tools: Toolset, folders: Folders) -> TestReport:
    """The folders are this call's: where the tool reports to, and where Go looks for its cache."""
    kind, command = kind_of(asked.stack.runner), asked.request.command
    request = replace(
        asked.place_request(folders.cache),
        # Marks are for tools that know them, and no command of the user's is given any.
        extra=asked.stack.test_command,
        # Some tests exist no sooner than they run: to collect them, they are run.
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
        warm = warm_run_of(kind.name) if asked.feedback and not command else None
        times = (asked.timeout, None if request.collect_only else request.limit)
        rans, answers = _carried_out(calls, ready.place, times, folders, warm=warm)
    report = tools.runner.report(request, tuple(answers))
    advice = fetching(report.tail) if report.ended is Ended.NO_START else None
    return replace(
        report,
        tail=f"{report.tail.rstrip()}\n{advice}" if advice else report.tail,
        sandbox="overlay" if all(one.sandbox == "overlay" for one in rans) else "none",
        wrote=tuple(sorted({path for one in rans for path in one.wrote})),
        notes=tuple(dict.fromkeys(note for one in rans for note in one.notes)),
        opened=tuple(dict.fromkeys([*ready.opened, *(path for one in rans for path in one.opened)])),
    )


def _prepare_build(asked: TestCall, tools: Toolset, request: TestRequest, folders: Folders) -> Prepared:
    project = asked.project
    equipment = RoomEquipment(
        env=tools.env,
        needed=tuple(map(os.path.dirname, tools.programs)),
        writable=(folders.own,),
        shadowed=tuple((folder, folder) for folder in tools.reads),
    )
    layer = asked.layer and replace(asked.layer, hidden=hidden_paths(asked.stack, project.root))
    place = RunPlace(project, layer, equipment, asked.bare)
    compiler = compiler_of(asked.stack.runner, tools.runner)
    if compiler is None or asked.bare or not possible(project).ok:
        return Prepared(place)
    return compiler.prepare(place, asked.stack, request, folders.home)


def _carried_out(
    calls: tuple[RunnerCall, ...],
    place: RunPlace,
    times: tuple[float, float | None],
    folders: Folders,
    *,
    warm: WarmRun | None,
) -> tuple[list[Ran], list[RunnerAnswer]]:
    """Each in a room of its own, all of them in the time of one; and the time of one test."""
    timeout, limit = times
    ends = time.monotonic() + timeout
    rans: list[Ran] = []
    answers: list[RunnerAnswer] = []
    for call in calls:
        left = max(ends - time.monotonic(), _LEAST)
        warmly = warm(call, place, left, limit) if warm else None
        rans.append(warmly or run_in_room(watch(call, limit), place, left))
        answers.append(_answer(call, rans[-1], folders))
    return rans, answers


def _answer(call: RunnerCall, done: Ran, folders: Folders) -> RunnerAnswer:
    return replace(answer_of(call, done.finished), reports=take_reports(folders.cache))


def _use_command(call: RunnerCall, words: Words, lead: int) -> RunnerCall:
    """The configured command instead of the tool's name; for a person, too."""
    typed = shlex.split(call.command)[1:]
    return replace(
        call, argv=fill_command(words, call.argv[lead:]), command=shlex.join(fill_command(words, typed))
    )
