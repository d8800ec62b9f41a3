"""Calls a test tool that prints or writes its report: found by its runner's name, built, run and read."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

from verdigris.core.confinement.needs import fetching
from verdigris.core.errors import HarnessError
from verdigris.core.report import RunEnd
from verdigris.core.settings import JUnit
from verdigris.core.value import replace
from verdigris.execution.rooms import RoomEquipment, possible, terms_of
from verdigris.execution.test_selection import answer_of
from verdigris.execution.tools.lookup import watch
from verdigris.execution.tools.runs import (
    Prepared,
    RunPlace,
    node_caches,
    output_folders,
    run_in_room,
    take_reports,
)
from verdigris.runners.protocol import RunnerAnswer, RunnerCall, Toolset
from verdigris.runners.registry import Words, fill_command, kind_of, reports
from verdigris.sandbox.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.execution.test_selection import TestCall
    from verdigris.execution.tools.runs import Compiler, Ran
    from verdigris.runners.protocol import Runner, TestRequest


if TYPE_CHECKING:
    Environ = Mapping[str, str]
    Lent = tuple[tuple[str, str], ...]
    WarmRun = Callable[[RunnerCall, RunPlace, float, float | None], Ran | None]


def find_tool(stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
    """What is missing is a ToolMissing with the next move. Only what the stack needs is loaded.

    `lent`: packages that a run finds below the root, though they lie elsewhere.
    """
    if stack.runner in _PACKAGED:
        return _PACKAGED[stack.runner](stack, root, environ, lent)
    find = _FINDERS.get(stack.runner) or kind_of(stack.runner).find
    if find is None:
        raise HarnessError(f"no tool is known for `runner: {stack.runner}`")
    return find(stack, root, environ)


def compiler_of(name: str, runner: Runner) -> Compiler | None:
    """What compiles the tests apart from their run; None where the tool does not, or does both at once."""
    make = _COMPILERS.get(name)
    return None if make is None else make(runner)


def warm_run_of(name: str) -> WarmRun | None:
    """What runs a call in a tool that is loaded already."""
    load = _WARM.get(name)
    return None if load is None else load()


def hidden_paths(stack: Stack, root: Path) -> tuple[str, ...]:
    """What the tool keeps of earlier runs, from the root; a run on another tree is not to find it."""
    list_paths = _KEPT.get(stack.runner)
    return () if list_paths is None else tuple(list_paths(stack, root))


def _vitest(stack: Stack, root: Path, environ: Environ, lent: Lent) -> Toolset:
    from verdigris.execution.tools.lookup import find_vitest

    return find_vitest(stack, root, environ, lent)


def _jest(stack: Stack, root: Path, environ: Environ, lent: Lent) -> Toolset:
    from verdigris.execution.tools.lookup import find_jest

    return find_jest(stack, root, environ, lent)


def _node_test(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.lookup import find_node_test

    return find_node_test(environ)


def _cargo(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.compilers import find_cargo

    return find_cargo(environ)


def _go(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.compilers import find_go

    return find_go(environ)


def _junit(stack: Stack, root: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.lookup import find_junit

    return find_junit(stack, root / stack.root, environ)


def _cargo_target(runner: Runner) -> Compiler | None:
    from verdigris.execution.tools.compilers import CargoTarget
    from verdigris.runners.cargo import CargoRunner

    return CargoTarget(runner) if isinstance(runner, CargoRunner) else None


def _go_cache(runner: Runner) -> Compiler | None:
    from verdigris.execution.tools.compilers import GoCache
    from verdigris.runners.gotest import GoRunner

    return GoCache(runner) if isinstance(runner, GoRunner) else None


def _warm_vitest() -> WarmRun:
    from verdigris.execution.tools.warm_vitest import ran_warm

    return ran_warm


_PACKAGED = {"vitest": _vitest, "jest": _jest}
_FINDERS = {
    "node-test": _node_test,
    "cargo": _cargo,
    "go": _go,
    "junit": _junit,
}
_COMPILERS = {"cargo": _cargo_target, "go": _go_cache}
_WARM = {"vitest": _warm_vitest}
_KEPT = {
    "vitest": node_caches,
    "jest": node_caches,
    "node-test": node_caches,
    "junit": output_folders,
}


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
        view = asked.project.view
        return find_tool(asked.stack, asked.project.root, os.environ, () if view is None else view.lent)
    from verdigris.execution.tools.lookup import junit_tool
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
        rans, answers = _carry_out(calls, ready.place, times, folders, warm=warm)
    report = tools.runner.report(request, tuple(answers))
    advice = fetching(report.tail) if report.ended is RunEnd.NO_START else None
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


def _carry_out(
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
