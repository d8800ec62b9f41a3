"""The checks of `tdd doctor`: git, each stack's test tool, and the suite in the room."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from verdigris.core.confinement.needs import needs, write_keys
from verdigris.core.errors import VerdigrisError
from verdigris.core.report import (
    RoomDifference,
    RunEnd,
    TestReport,
    differences,
    merge_reports,
    only,
    suite_of,
)
from verdigris.core.settings import Stack
from verdigris.core.value import replace, value
from verdigris.core.verdict import first_line
from verdigris.execution.process import Command, run
from verdigris.execution.test_run import execute, run_request
from verdigris.execution.tools.python import installed_plugins
from verdigris.execution.tools.registry import SECONDS, tool_of, version
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.runners.registry import need_finders
from verdigris.storage.git import program
from verdigris.storage.project import Project

Level = Literal["ok", "warn", "fail"]


@value
class DoctorFinding:
    name: str
    level: Level
    what: str
    fix: str = ""
    """The way out; empty where nothing is wrong."""
    details: tuple[str, ...] = ()


def failure(name: str, what: str, fix: str | None) -> DoctorFinding:
    return DoctorFinding(name, "fail", what, fix or "see `tdd doctor --json`")


MOST = 20
"""Tests that are listed."""
_LOOK = "`room: {env: […]}` gives variables, `room: {network: host}` servers that no test starts itself"


def check_room(project: Project, progress: Progress | None = None) -> DoctorFinding:
    """The run outside is not confined and has the caller's whole environment: a person's to ask for."""
    if project.actor.role != "person":
        return failure("room", "only a person may ask for a run outside the room", "tell a person")
    try:
        with project.exclusive():
            outside = _suite(project, progress, bare=True)
            inside = _run_unstable_again(project, outside, _suite(project, progress, bare=False))
    except VerdigrisError as error:
        return failure("room", f"the suite cannot be run: {error.message}", error.hint)
    return _judge_difference(project, outside, inside)


def _suite(project: Project, progress: Progress | None, *, bare: bool) -> TestReport:
    stacks = ((stack, suite_of(stack)) for stack in project.settings.stacks)
    return merge_reports(
        run_request(project, stack, TestRequest(suite.names, extra=suite.marks), progress=progress, bare=bare)
        for stack, suite in stacks
    )


def _run_unstable_again(project: Project, outside: TestReport, inside: TestReport) -> TestReport:
    """A test that ends differently is run once more: an unstable one is no fault of the room."""
    doubted = {difference.test_id for difference in differences(outside, inside)}
    names = tuple(result.native_id for result in inside.results if result.id in doubted)
    if not 0 < len(names) <= MOST:
        return inside
    again = {result.native_id: result for result in execute(project, TestRequest(names)).results}
    return replace(inside, results=tuple(again.get(result.native_id, result) for result in inside.results))


def _judge_difference(project: Project, outside: TestReport, inside: TestReport) -> DoctorFinding:
    if outside.ended is not RunEnd.FINISHED:
        what = f"the suite does not finish outside the room ({outside.ended})"
        return DoctorFinding("room", "warn", what, f"`{outside.command}` shows why", _last_lines(outside))
    differing = differences(outside, inside)
    if not differing and inside.ended is RunEnd.FINISHED:
        count = len(outside.results)
        same = "1 test ends" if count == 1 else f"{count} tests end"
        return DoctorFinding("room", "ok", f"in the room as outside it: {same} the same")
    settings = project.settings
    lacking = needs(
        only(inside, differing),
        os.environ,
        settings,
        installed=installed_plugins(project),
        finders=need_finders(settings.stacks),
    )
    keys = ", ".join(f"`{setting}`" for setting in write_keys(lacking))
    fix = (
        f"in tdd.yaml: {keys}" if keys else f"give the run what it lacks: {_LOOK} (`tdd help configuration`)"
    )
    if inside.ended is not RunEnd.FINISHED:
        what = f"the suite finishes outside the room, and not in it ({inside.ended})"
        return DoctorFinding("room", "warn", what, fix, _last_lines(inside))
    what = f"tests that end differently in the room: {len(differing)} of {len(outside.results)}"
    return DoctorFinding("room", "warn", what, fix, _list_differences(differing))


def _list_differences(differing: tuple[RoomDifference, ...]) -> tuple[str, ...]:
    lines = [
        f"{one.test_id}: {one.outside or 'not run'} outside, {one.inside or 'not run'} in the room"
        + (f" ({first_line(one.why)})" if one.why else "")
        for one in differing[:MOST]
    ]
    left = len(differing) - len(lines)
    return (*lines, *([f"… and {left} more"] if left else []))


def _last_lines(report: TestReport) -> tuple[str, ...]:
    return tuple(report.tail.strip().splitlines()[-MOST:])


OLDEST_GIT = (2, 34)


def check_git(here: Path) -> DoctorFinding:
    try:
        done = run(Command((program(os.environ), "--version"), here, dict(os.environ)), timeout=SECONDS)
    except VerdigrisError as error:
        return failure("git", error.message, "install git 2.34 or newer, and have it on PATH")
    text = done.output.decode("utf-8", "replace").strip()
    if done.exit_code != 0 or version(text) < OLDEST_GIT:
        return failure("git", f"needs 2.34 or newer, found: {text}", "install a newer git")
    return DoctorFinding("git", "ok", text)


def check_stack(root: Path, stack: Stack) -> Iterator[DoctorFinding]:
    """What the stack's test tool says of itself."""
    for check in tool_of(stack.runner).check(stack, root):
        yield DoctorFinding(check.name, "fail" if check.fix else "ok", check.what, check.fix)
