from __future__ import annotations

import json

import pytest

from runners.test_node_report import check_node_report
from support.node_recording import replayed
from support.node_tools import Project, node_22, project
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.runners.node import NodeTest
from verdigris.runners.protocol import TestRequest

CALC = {
    "sums › adds": "fail AssertionError! test:5",
    "sums › adds more": "pass",
    "sums › nested › pair 1 and 2": "pass",
    "sums › nested › pair 3 and 4": "fail AssertionError! test:8",
    "sums › skipped": "skip",
    "sums › todo": "skip (todo)",
    "sums › todo failing": "skip (todo)",
    "thrown in source": "fail TypeError test:14 src:2",
    "thrown in source async": "fail RangeError test:15 src:3",
    "json": "fail SyntaxError test:16 src:4",
    "missing export": "fail TypeError test:17",
    "missing name": "fail ReferenceError test:18",
    "assert.throws": "fail AssertionError! test:19",
    "rejects": "fail AssertionError! test:20",
    "times out": "fail Timeout",
    "throws a string": "fail testCodeFailure test:22",
    "plain error in test": "fail Error test:23",
    "dynamic import": "fail Error test:24",
    "subtests › good sub": "pass",
    "subtests › bad sub": "fail AssertionError! test:25 test:25",
    "subtests": "fail AssertionError! test:25 test:25",
    "runtime skip": "skip (why not)",
    "bad setup › in bad setup": "error in setup Error test:27",
    "bad teardown › in bad teardown": "error in teardown Error test:28",
    "bad setup all › in bad setup all": "error in setup Error test:29",
    "bad teardown all › in bad teardown all": "error in teardown Error test:30",
    "bad teardown all › two": "error in teardown Error test:30",
    "dup": "fail AssertionError! test:32",
    "logs": "pass",
    "leaks": "pass",
    "after leak": "pass",
}
OTHERS = {"test/only.test.mjs::hidden": "pass", "test/only.test.mjs::seen": "pass"}
ERRORS = {
    ("test/calc.test.mjs", "Unhandled"),
    ("test/export.test.mjs", "ImportError"),
    ("test/import.test.mjs", "ImportError"),
    ("test/syntax.test.mjs", "SyntaxError"),
    ("test/throws.test.mjs", "Error"),
}


def check(report: TestReport) -> None:
    check_node_report(report, ".test.mjs", CALC, OTHERS, ERRORS)


@pytest.mark.parametrize("version", ["node-20", "node-22"])
def test_a_recorded_run_is_read(version: str) -> None:
    check(NodeTest().report(*replayed("node", version)))


def test_each_file_is_told_its_own_names() -> None:
    request = TestRequest(
        ("a/x.test.js::s › t", "a/y.test.js", "a/x.test.js::u"), "/w", "a", "/r", ("--conditions=x",)
    )
    (called,) = NodeTest().commands(request)
    mode, options, *files = called.argv[2:]
    assert (mode, json.loads(options), called.cwd) == ("run", ["--conditions=x"], "/w/a")
    assert [json.loads(file) for file in files] == [
        {"path": "/w/a/x.test.js", "names": [["s", "t"], ["u"]]},
        {"path": "/w/a/y.test.js"},
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project(tmp_path_factory.mktemp("node"), NodeTest(), node=node_22())


@pytest.mark.slow
def test_a_subtest_runs_with_the_tests_around_it(made: Project) -> None:
    made.write(
        "sub.test.js",
        """const test = require("node:test");
        test("a", async (t) => { await t.test("b", () => {}); await t.test("c", () => { throw 1; }); });
        test("d", () => { throw 1; });""",
    )
    report = made.run("sub.test.js::a › b")
    assert [(r.native_id, r.status) for r in report.results] == [("sub.test.js::a › b", Status.PASS)]


@pytest.mark.slow
def test_an_exit_and_a_death_are_no_passes(made: Project) -> None:
    tests = 'const test = require("node:test"); test("before", () => {}); test("in", () => {'
    made.write("end/exit.test.js", f"{tests} process.exit(0); }});")
    made.write("end/dies.test.js", f'{tests} process.kill(process.pid, "SIGKILL"); }});')
    assert (made.run("end/exit.test.js").ended, made.run("end/dies.test.js").ended) == (
        RunEnd.EARLY_EXIT,
    ) * 2


@pytest.mark.slow
def test_forged_lines_are_told_from_the_reporters_own(made: Project) -> None:
    made.write(
        "forge.test.js",
        """const fs = require("node:fs");
        const told = { kind: "test", names: ["claimed"], state: "pass", ms: 1, line: 1 };
        fs.writeSync(3, JSON.stringify(told) + "\\n");
        fs.writeSync(3, "0".repeat(32) + " " + JSON.stringify(told) + "\\n");
        if (process.env.VERDIGRIS_REPORT || process.env.VERDIGRIS_FILE) throw new Error("seen");
        require("node:test")("real", () => {});""",
    )
    report = made.run("forge.test.js")
    assert [(r.native_id, r.status) for r in report.results] == [("forge.test.js::real", Status.PASS)]
    assert report.strays == 2


@pytest.mark.slow
def test_collecting_lists_files(made: Project) -> None:
    for path in (
        "list/a.test.js",
        "list/b.js",
        "list/test/c.js",
        "list/node_modules/d.test.js",
        "list/test-e.mjs",
    ):
        made.write(path, "throw 1;")
    report = made.run("list", collect_only=True)
    assert report.collected == ("list/a.test.js", "list/test/c.js", "list/test-e.mjs")
