"""Checks the sandbox, and whether the suite ends in the room as outside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris import sandbox
from verdigris.core.errors import VerdigrisError
from verdigris.core.needs import needs, write_keys
from verdigris.core.report import Ended, differences, merge_reports, only, suite_of
from verdigris.core.value import replace
from verdigris.core.verdict import first_line
from verdigris.execution.test_run import execute, run_request
from verdigris.runners.protocol import TestRequest
from verdigris.setup.doctor.findings import Finding, failure, installed_plugins

if TYPE_CHECKING:
    from verdigris.core.report import RoomDifference, TestReport
    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project


MOST = 20
"""Tests that are listed."""
_LOOK = "`room: {env: […]}` gives variables, `room: {network: host}` servers that no test starts itself"


def check_room(project: Project, progress: Progress | None = None) -> Finding:
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


def _judge_difference(project: Project, outside: TestReport, inside: TestReport) -> Finding:
    if outside.ended is not Ended.FINISHED:
        what = f"the suite does not finish outside the room ({outside.ended})"
        return Finding("room", "warn", what, f"`{outside.command}` shows why", _last(outside))
    differing = differences(outside, inside)
    if not differing and inside.ended is Ended.FINISHED:
        return Finding("room", "ok", f"in the room as outside it: {_ending(len(outside.results))} the same")
    lacking = needs(
        only(inside, differing), os.environ, project.settings, installed=installed_plugins(project)
    )
    keys = ", ".join(f"`{setting}`" for setting in write_keys(lacking))
    fix = (
        f"in tdd.yaml: {keys}" if keys else f"give the run what it lacks: {_LOOK} (`tdd help configuration`)"
    )
    if inside.ended is not Ended.FINISHED:
        what = f"the suite finishes outside the room, and not in it ({inside.ended})"
        return Finding("room", "warn", what, fix, _last(inside))
    what = f"tests that end differently in the room: {len(differing)} of {len(outside.results)}"
    return Finding("room", "warn", what, fix, _list_differences(differing))


def _list_differences(differing: tuple[RoomDifference, ...]) -> tuple[str, ...]:
    lines = [
        f"{one.test_id}: {one.outside or 'not run'} outside, {one.inside or 'not run'} in the room"
        + (f" ({first_line(one.why)})" if one.why else "")
        for one in differing[:MOST]
    ]
    left = len(differing) - len(lines)
    return (*lines, *([f"… and {left} more"] if left else []))


def _last(report: TestReport) -> tuple[str, ...]:
    return tuple(report.tail.strip().splitlines()[-MOST:])


def _ending(number: int) -> str:
    return "1 test ends" if number == 1 else f"{number} tests end"


_ALLOW = "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it"


def check_sandbox() -> Finding:
    found = sandbox.available()
    if not found.ok:
        return Finding(
            "sandbox",
            "warn",
            f"no process can be confined here ({found.why}): tests run with your rights, and what they or an"
            " agent's commands write to protected paths is found and put back afterwards instead of being"
            " stopped; held-out tests can be read, `room.network` has no effect, and settlements cannot try"
            " whether assertions are live",
            _ALLOW,
        )
    if not found.network:
        return Finding(
            "sandbox",
            "warn",
            f"a confined process has no network of its own here ({found.why}): runs reach the machine's",
            f"{_ALLOW}; `room: {{network: host}}` says that it is meant",
        )
    if found.way == "plain":
        return Finding(
            "sandbox",
            "warn",
            "a process can be confined, but without a user namespace: as root it may look into other"
            " processes of root by ptrace and /proc",
            f"work as a plain user; {_ALLOW}",
        )
    return Finding(
        "sandbox", "ok", "what a run writes has no effect outside; mounts, ids and network of its own"
    )
