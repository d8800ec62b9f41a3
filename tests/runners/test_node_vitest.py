from __future__ import annotations

import pytest

from runners.test_node_report import check_node_report
from support.node_recording import replayed
from support.node_tools import Project, node_22, project
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.runners.node import Vitest
from verdigris.runners.protocol import TestRequest


def check(report: TestReport) -> None:
    check_node_report(report, "vitest", "ts")
    assert set(report.collected) == {result.native_id for result in report.results}
    logs = report.result("test/calc.test.ts::logs")
    assert logs is not None
    assert (logs.output, logs.line) == ("hello log\n", 46)


@pytest.mark.parametrize("version", ["vitest-2", "vitest-5"])
def test_a_recorded_run_is_read(version: str) -> None:
    check(Vitest().report(*replayed("vitest", version)))


def test_what_was_not_asked_for_counts_among_the_others() -> None:
    report = Vitest().report(
        *replayed("vitest", "vitest-5", "test/calc.test.ts::sums › adds", "test/only.test.ts")
    )
    assert [r.native_id for r in report.results] == [
        "test/calc.test.ts::sums › adds",
        "test/only.test.ts::hidden",
        "test/only.test.ts::seen",
    ]
    assert "test/calc.test.ts::top" in report.others


def test_files_and_names_are_two_calls_at_most() -> None:
    request = TestRequest(
        ("a/x.test.ts", "a/y.test.ts::s › t", "a/y.test.ts::u", "a/x.test.ts::v"), "/w", "a", "/r"
    )
    whole, named = Vitest().commands(request)
    assert whole.cwd == named.cwd == "/w/a"
    assert whole.argv[:3] == ("node", "node_modules/vitest/vitest.mjs", "run")
    assert whole.argv[-1] == "/w/a/x.test.ts"
    assert not any("testNamePattern" in part for part in whole.argv)
    assert whole.env["VITEST_MIN_FORKS"] == whole.env["VITEST_MIN_THREADS"] == "0", (
        "no process without a file"
    )
    assert named.argv[-2:] == (r"--testNamePattern=^(?:s (?:> )?t|u)$", "/w/a/y.test.ts")
    assert named.command == r"vitest run '--testNamePattern=^(?:s (?:> )?t|u)$' a/y.test.ts"


def test_each_call_has_a_report_of_its_own() -> None:
    request = TestRequest(("x.test.ts", "y.test.ts::t"), "/w", "", "/r")
    reports = {called.env["VERDIGRIS_REPORT"] for called in Vitest().commands(request)}
    assert len(reports) == 2
    assert all(report.startswith("/r/") for report in reports)


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project(tmp_path_factory.mktemp("vitest"), Vitest(), node=node_22(), package="vitest@5")


@pytest.mark.slow
def test_a_crash_and_a_bad_configuration_are_no_passes(newest: Project) -> None:
    newest.write(
        "end/crash.test.js",
        """import { it } from "vitest";
        it("before", () => {});
        it("dies", () => { process.kill(process.pid, "SIGKILL"); });
        it("after", () => {});""",
    )
    crashed = newest.run("end/crash.test.js")
    assert crashed.ended is RunEnd.EARLY_EXIT
    assert crashed.errors
    assert Status.PASS not in {r.status for r in crashed.results if not r.native_id.endswith("before")}
    newest.write("bad/vitest.config.js", "export default { test: { pool: ;")
    assert newest.run(stack_root="bad").ended is RunEnd.NO_START
