"""What every runner keeps, by what its tool once said: the contract of `runners/protocol.py`."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from support import made_up_runner, node_recording, recordings
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.verdict import Before, Kind, TrialFacts, judge
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.go import GoRunner
from verdigris.runners.junit import SUREFIRE, JUnitRunner
from verdigris.runners.node import Jest, NodeTest, Vitest
from verdigris.runners.protocol import ReportChannel, Runner, RunnerAnswer, RunnerCall, TestRequest
from verdigris.runners.python import DJANGO, PYTEST, UNITTEST, PythonRunner
from verdigris.runners.registry import BUILT_IN

Recording: TypeAlias = tuple[TestRequest, tuple[RunnerAnswer, ...]]

RUNNERS: dict[str, Runner] = {
    "pytest": PythonRunner(PYTEST, "/usr/bin/python3"),
    "unittest": PythonRunner(UNITTEST, "/usr/bin/python3"),
    "django": PythonRunner(DJANGO, "/usr/bin/python3"),
    "vitest": Vitest(),
    "jest": Jest(),
    "node-test": NodeTest(),
    "cargo": CargoRunner(),
    "go": GoRunner(),
    "junit": JUnitRunner(SUREFIRE),
    "lines": made_up_runner.LineRunner(),
}


def by_channel() -> Recording:
    """What our reporter writes of one test that passes and one that fails."""
    ids = ["t/test_a.py::test_x", "t/test_a.py::test_y"]
    messages: list[dict[str, object]] = [{"kind": "start", "tool": "8"}, {"kind": "collected", "ids": ids}]
    for one, outcome in zip(ids, ("passed", "failed"), strict=True):
        messages.append({"kind": "started", "id": one})
        for phase in ("setup", "call", "teardown"):
            told = outcome if phase == "call" else "passed"
            messages.append({"kind": "test", "id": one, "phase": phase, "outcome": told, "ms": 1.0})
    messages.append({"kind": "end", "exit": 1})
    lines = tuple(b"n " + json.dumps(message).encode() for message in messages)
    call = RunnerCall(("python",), "/w", "pytest", channel=ReportChannel("V", b"", "n"))
    return recordings.asked(), (RunnerAnswer(call, 1, False, 1, b"", lines=lines),)


def by_xml() -> Recording:
    document = (recordings.HERE / "junit" / "surefire.xml").read_bytes()
    call = RunnerCall(("mvn",), "/w", "mvn test")
    return recordings.asked(), (RunnerAnswer(call, 1, False, 1, b"", {"0.xml": document}),)


def by_lines() -> Recording:
    text = b"ok test/a_test.exs:1:adds: 3 instead of 3\nfailed test/a_test.exs:2:subs: ? instead of 1\ndone\n"
    return recordings.asked(), (RunnerAnswer(RunnerCall(("lines",), "/w", "lines"), 1, False, 1, text),)


RECORDED: dict[str, Callable[[], Recording]] = {
    "pytest": by_channel,
    "unittest": by_channel,
    "django": by_channel,
    "vitest": lambda: node_recording.replayed("vitest", "vitest-5"),
    "jest": lambda: node_recording.replayed("jest", "jest-30"),
    "node-test": lambda: node_recording.replayed("node", "node-22"),
    "cargo": lambda: (recordings.asked(), recordings.replayed("cargo", "all")),
    "go": lambda: (recordings.asked(), recordings.replayed("go", "all")),
    "junit": by_xml,
    "lines": by_lines,
}
every_runner = pytest.mark.parametrize("name", sorted(RUNNERS))


def read(name: str) -> TestReport:
    return RUNNERS[name].report(*RECORDED[name]())


def test_every_runner_that_the_configuration_may_name_is_tried_here() -> None:
    assert RUNNERS.keys() == RECORDED.keys() == {*BUILT_IN, "lines"}


@every_runner
def test_commands_start_in_the_stacks_folder_and_leave_the_tree_alone(name: str) -> None:
    request = TestRequest((), "/w", "p", "/reports", nonce="n", extra=("--own",))
    calls = RUNNERS[name].commands(request)
    assert calls
    for call in calls:
        assert call.cwd == "/w/p"
        assert call.argv
        assert call.command
        assert all(text.startswith("/reports") for text in call.env.values() if text.startswith("/r"))


@every_runner
def test_the_same_request_gives_the_same_program(name: str) -> None:
    request = TestRequest((), "/w", "", "/reports", nonce="n")
    first, second = (RUNNERS[name].commands(request) for _ in range(2))
    assert [(call.argv, call.cwd, call.command) for call in first] == [
        (call.argv, call.cwd, call.command) for call in second
    ]


@every_runner
def test_ids_are_unique_and_their_files_relative_to_the_worktree(name: str) -> None:
    report = read(name)
    ids = [result.native_id for result in report.results]
    assert len(ids) > 1
    assert len(set(ids)) == len(ids)
    for native in ids:
        path = split_id(native).path
        assert native.startswith(f"{path}::")
        assert path == posixpath.normpath(path)
        assert not path.startswith(("/", ".."))
        assert native in report.collected


@every_runner
def test_results_have_both_outcomes_and_say_why_one_failed(name: str) -> None:
    statuses = {result.status for result in read(name).results}
    assert {Status.PASS, Status.FAIL} <= statuses


@pytest.mark.parametrize("name", sorted({*RUNNERS} - {"pytest", "unittest", "django", "cargo"}))
def test_an_id_that_a_report_has_selects_exactly_its_test(name: str) -> None:
    """A tool that ran more than was asked for does not make more of the report."""
    request, answers = RECORDED[name]()
    passed = [r.native_id for r in read(name).results if r.status is Status.PASS]
    for native in (passed[0], passed[-1]):
        report = RUNNERS[name].report(replace(request, names=(native,)), answers)
        assert [result.native_id for result in report.results] == [native]


@pytest.mark.parametrize("name", ["pytest", "unittest", "django", "cargo"])
def test_what_runs_around_the_tests_is_told_which_ids_to_select(name: str) -> None:
    """Our reporter in the interpreter, our wrapper around Rust's binaries: what they report was asked for."""
    native = "t/test_a.py::test_x"
    [call] = RUNNERS[name].commands(TestRequest((native,), "/w", "", "/reports", nonce="n"))
    selected = call.argv if call.channel is None else json.loads(call.channel.hello[8:])["select"]
    assert selected[-1] == native


@every_runner
@pytest.mark.parametrize(("timed_out", "ended"), [(True, RunEnd.TIMEOUT), (False, None)])
def test_a_run_that_was_stopped_is_never_green(name: str, timed_out: bool, ended: RunEnd | None) -> None:
    """By the clock, or by a signal in the middle: of what was said up to then nothing makes a verdict."""
    request, answers = RECORDED[name]()
    cut = tuple(
        replace(
            answer,
            exit_code=None,
            timed_out=timed_out,
            output=answer.output[: len(answer.output) // 2],
            reports={name: data[: len(data) // 2] for name, data in answer.reports.items()},
            lines=answer.lines[: len(answer.lines) // 2],
        )
        for answer in answers
    )
    report = RUNNERS[name].report(request, cut)
    assert report.ended is not RunEnd.FINISHED
    assert ended in {None, report.ended}
    passed = {r.native_id: r.native_id for r in report.results if r.status is Status.PASS}
    assert judge(TrialFacts(passed, Before({}), report)).kind is Kind.BROKEN


@every_runner
def test_a_tool_that_says_nothing_proves_nothing(name: str) -> None:
    request, answers = RECORDED[name]()
    silent = tuple(replace(a, output=b"", reports={}, lines=(), exit_code=0) for a in answers)
    report = RUNNERS[name].report(request, silent)
    assert report.results == ()
    assert not judge(TrialFacts({"t": "t"}, Before({}), report)).accepted
