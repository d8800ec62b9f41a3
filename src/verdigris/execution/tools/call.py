"""Calls one test tool for a stack, by its own command or a configured one."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from verdigris.core.errors import HarnessError
from verdigris.core.languages import RUST, suffixes_of
from verdigris.core.needs import fetching
from verdigris.core.paths import PathClass
from verdigris.core.report import Ended, merged
from verdigris.core.settings import JUnit
from verdigris.core.value import value
from verdigris.execution.room.opening import Equipment, possible, terms_of
from verdigris.execution.tools.build import Prepared, Toolset
from verdigris.execution.tools.runs import Place, hidden, ran, taken
from verdigris.execution.tools.warm_vitest import ran_warm
from verdigris.runners.commands import Words, filled, fitting, parted, reports
from verdigris.runners.protocol import Answered, Called, Progress, Request
from verdigris.sandbox.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.execution.room.layers import Layer
    from verdigris.execution.tools.runs import Ran
    from verdigris.storage.project import Project


def toolset(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    """What is missing is a ToolMissing with the next move. Only what the stack needs is loaded."""
    home = root / stack.root
    match stack.runner:
        case "vitest" | "jest" | "node-test":
            from verdigris.execution.tools.node import node

            return node(stack.runner, Path(os.path.normpath(home)), root, environ)
        case "cargo":
            from verdigris.execution.tools.cargo import cargo

            return cargo(environ)
        case "go":
            from verdigris.execution.tools.go import go

            return go(environ)
        case "junit":
            from verdigris.execution.tools.junit import junit

            return junit(stack, home, environ)
    raise HarnessError(f"no tool is known for `runner: {stack.runner}`")


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


_LEAST = 0.1


@value
class Asked:
    """One call: of a stack's tests, in a room, on the tree of `layer` where one is given."""

    project: Project
    stack: Stack
    names: tuple[str, ...]
    timeout: float
    layer: Layer | None = None
    collect_only: bool = False
    progress: Progress | None = None
    bare: bool = False
    command: Words = ()
    """What is run instead of the tool; see `Stack.test_command_for`."""
    feedback: bool = False
    """A tool that is loaded already may run it: this is no verdict."""
    withheld: tuple[str, ...] = ()
    """See `Request.withheld`."""


def call_tool(asked: Asked) -> TestReport:
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


def _tools(asked: Asked) -> Toolset:
    if not asked.command or not reports(asked.command):
        return toolset(asked.stack, asked.project.root, os.environ)
    from verdigris.execution.tools.junit import junit_tool
    from verdigris.runners.junit import JUnitRunner

    said = replace(asked.stack.junit or JUnit(), command=asked.command, everything=())
    return Toolset(JUnitRunner(junit_tool(said)), ())


def _run(asked: Asked, tools: Toolset, folders: Folders) -> TestReport:
    """The folders are this call's: where the tool reports to, and where Go looks for its cache.

    Tests of node:test exist no sooner than they run: to collect them, they are run.
    """
    stack, project = asked.stack, asked.project
    request = Request(
        names=asked.names,
        worktree=str(project.root),
        stack_root="" if stack.root == "." else stack.root,
        report_folder=folders.cache,
        extra=stack.test_command,
        collect_only=asked.collect_only and asked.stack.runner != "node-test",
        withheld=asked.withheld,
    )
    calls = tools.runner.called(request)
    if asked.command and not reports(asked.command):
        calls = tuple(_commanded(called, asked.command, tools.lead) for called in calls)
    ready = _prepared(asked, tools, request, folders)
    if ready.failed is not None:
        rans, answers = [ready.failed], [_answer(calls[0], ready.failed, folders)]
    else:
        warm = asked.feedback and asked.stack.runner == "vitest" and not asked.command
        rans, answers = _carried_out(calls, ready.place, asked.timeout, folders, warm=warm)
    report = tools.runner.parsed(request, tuple(answers))
    advice = fetching(report.tail) if report.ended is Ended.NO_START else None
    return replace(
        report,
        tail=f"{report.tail.rstrip()}\n{advice}" if advice else report.tail,
        sandbox="overlay" if all(one.sandbox == "overlay" for one in rans) else "none",
        wrote=tuple(sorted({path for one in rans for path in one.wrote})),
        notes=tuple(dict.fromkeys(note for one in rans for note in one.notes)),
        opened=tuple(dict.fromkeys([*ready.opened, *(path for one in rans for path in one.opened)])),
    )


def _prepared(asked: Asked, tools: Toolset, request: Request, folders: Folders) -> Prepared:
    project = asked.project
    equipment = Equipment(
        env=tools.env,
        needed=tuple(map(os.path.dirname, tools.programs)),
        writable=(folders.own,),
        shadowed=tuple((folder, folder) for folder in tools.reads),
    )
    layer = asked.layer and replace(asked.layer, hidden=hidden(asked.stack, project.root))
    place = Place(project, layer, equipment, asked.bare)
    if tools.compiler is None or asked.bare or not possible(project).ok:
        return Prepared(place)
    return tools.compiler.prepared(place, asked.stack, request, folders.home)


def _carried_out(
    calls: tuple[Called, ...], place: Place, timeout: float, folders: Folders, *, warm: bool
) -> tuple[list[Ran], list[Answered]]:
    """Each in a room of its own, all of them in the time of one."""
    ends = time.monotonic() + timeout
    rans: list[Ran] = []
    answers: list[Answered] = []
    for called in calls:
        left = max(ends - time.monotonic(), _LEAST)
        rans.append((ran_warm(called, place, left) if warm else None) or ran(called, place, left))
        answers.append(_answer(called, rans[-1], folders))
    return rans, answers


def _answer(called: Called, done: Ran, folders: Folders) -> Answered:
    finished = done.finished
    return Answered(
        called=called,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
        reports=taken(folders.cache),
    )


def _commanded(called: Called, words: Words, lead: int) -> Called:
    """The configured command instead of the tool's name; for a person, too."""
    typed = shlex.split(called.command)[1:]
    return replace(called, argv=filled(words, called.argv[lead:]), command=shlex.join(filled(words, typed)))
