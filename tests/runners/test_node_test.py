from __future__ import annotations

import json

import pytest

from runners.test_node_report import check_node_report
from support.node_recording import replayed
from support.node_tools import Project, node_22, project
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.runners.node import NodeTest
from verdigris.runners.protocol import TestRequest


def check(report: TestReport) -> None:
    check_node_report(report, "node", "mjs")


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
