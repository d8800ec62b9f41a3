from __future__ import annotations

import pytest

from runners.test_node_report import check_node_report
from support.node_recording import replayed
from support.node_tools import Project, present, project
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.runners.node import Jest
from verdigris.runners.protocol import TestRequest


def check(report: TestReport) -> None:
    check_node_report(report, "jest", "js")
    after_all = next(error for error in report.errors if error.path == "test/calc.test.js")
    assert after_all.message == "Error: teardownall"


@pytest.mark.parametrize("version", ["jest-29", "jest-30"])
def test_a_recorded_run_is_read(version: str) -> None:
    check(Jest().report(*replayed("jest", version)))


def test_paths_are_patterns_that_match_nothing_else() -> None:
    (called,) = Jest().commands(TestRequest(("a/[id].test.js::s › t", "a/x.test.js::u"), "/w", "a", "/r"))
    assert called.argv[:2] == ("node", "node_modules/jest/bin/jest.js")
    assert called.argv[-4:] == (
        "--testNamePattern=^(?:s (?:> )?t|u)$",
        "--",
        r"^\u002fw\u002fa\u002f\u005bid\u005d\u002etest\u002ejs(?:/|$)",
        r"^\u002fw\u002fa\u002fx\u002etest\u002ejs(?:/|$)",
    )


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project(tmp_path_factory.mktemp("jest"), Jest(), node=present(), package="jest@30")


@pytest.mark.slow
def test_an_exit_and_a_bad_configuration_are_no_passes(newest: Project) -> None:
    newest.write("end/exit.test.js", 'it("before", () => {}); it("exits", () => { process.exit(0); });')
    left = newest.run("end/exit.test.js")
    assert (left.ended, left.exit_code) == (RunEnd.EARLY_EXIT, 0)
    assert Status.PASS not in {r.status for r in left.results}
    assert newest.run("end/none.test.js").ended is RunEnd.FINISHED
    newest.write("bad/jest.config.js", "module.exports = { ;")
    assert newest.run(stack_root="bad").ended is RunEnd.NO_START
