"""Test tools are found by their runner's name, built, run, and their reports read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.node_tools import installed, present
from support.pages import project_files
from support.tool_worlds import NODE, NODE_CONFIG, make_tool_world
from support.tools import skip_where_maven_cannot, why_not
from support.turns import CALC, TEST_SUB, make_world
from verdigris.core.errors import ToolMissing
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.settings import JUnit, Stack
from verdigris.execution.test_run import collect, execute
from verdigris.execution.tools.registry import find_tool, tool_of
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.junit import JUnitRunner
from verdigris.runners.node import Jest, NodeTest, Vitest
from verdigris.runners.protocol import TestRequest


def statuses(report: TestReport) -> dict[str, Status]:
    return {result.native_id: result.status for result in report.results}


def test_a_tool_that_is_not_installed(tmp_path: Path) -> None:
    present()
    world = make_tool_world(tmp_path / "demo", NODE_CONFIG, {**NODE, "package-lock.json": "{}"})
    with pytest.raises(ToolMissing) as error:
        world.test()
    assert error.value.hint == "`npm ci`"


NODE_TEST_FILE = """\
const { test } = require("node:test");
const assert = require("node:assert");
const { appendFileSync } = require("node:fs");
test("passes", () => { assert.equal(1, 1); });
test("fails", () => { assert.equal(1, 2); });
test("writes", () => { appendFileSync(__filename, "// more"); appendFileSync("src.js", "// more"); });
"""


def test_the_room_of_a_tool(tmp_path: Path) -> None:
    """With node alone, which every such tool needs."""
    present()
    config = "stacks:\n  - {root: pkg, language: node, runner: node-test}\n"
    files = {"pkg/package.json": "{}", "pkg/src.js": "", "pkg/test/a.test.js": NODE_TEST_FILE}
    world = make_tool_world(tmp_path / "demo", config, files)
    report = execute(world.project, TestRequest(()))
    assert statuses(report) == {
        "pkg/test/a.test.js::passes": Status.PASS,
        "pkg/test/a.test.js::fails": Status.FAIL,
        "pkg/test/a.test.js::writes": Status.PASS,
    }
    assert (report.sandbox, report.ended) == ("overlay", RunEnd.FINISHED)
    assert "pkg/test/a.test.js" in report.wrote
    assert world.read("pkg/test/a.test.js") == NODE_TEST_FILE
    assert collect(world.project) == set(statuses(report))


def test_a_run_that_does_not_end(tmp_path: Path) -> None:
    present()
    config = "stacks:\n  - {root: ., language: node, runner: node-test}\n"
    text = (
        'require("node:test")("hangs", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));\n'
    )
    world = make_tool_world(tmp_path / "demo", config, {"package.json": "{}", "test/a.test.js": text})
    report = execute(world.project, TestRequest((), timeout=1.5))
    assert report.ended is RunEnd.TIMEOUT


COMMAND_FOR = """\
stacks:
  - root: .
    language: node
    runner: {runner}
    test_command_for:
      test/e2e/**: ["sh", "-c", "MARK=set exec node {{args}}"]
"""


def test_a_command_with_the_runners_arguments(tmp_path: Path) -> None:
    present()
    head = 'const { test: it } = require("node:test");\nconst { equal } = require("node:assert");\n'
    files = {
        "package.json": "{}",
        "test/add.test.js": head + 'it("adds", () => { equal(process.env.MARK, undefined); });\n',
        "test/e2e/a.test.js": head + 'it("is told", () => { equal(process.env.MARK, "set"); });\n',
    }
    world = make_tool_world(tmp_path / "demo", COMMAND_FOR.format(runner="node-test"), files)
    passing = {"test/add.test.js::adds": Status.PASS, "test/e2e/a.test.js::is told": Status.PASS}
    whole = execute(world.project, TestRequest(()))
    assert statuses(whole) == passing
    assert statuses(execute(world.project, TestRequest(tuple(passing)))) == passing
    assert len(whole.results) == 2
    assert "MARK=set" in whole.command


@pytest.mark.slow
def test_a_command_that_begins_with_the_script_of_a_package(tmp_path: Path) -> None:
    present()
    config = COMMAND_FOR.format(runner="vitest").replace("{args}", "node_modules/vitest/vitest.mjs {args}")
    e2e = """\
import { expect, it } from "vitest";
it("is told", () => { expect(process.env.MARK).toBe("set"); });
"""
    files = {**NODE, "test/e2e/a.test.js": e2e}
    world = make_tool_world(tmp_path / "demo", config, files, installed("vitest@2"))
    told = "test/e2e/a.test.js::is told"
    assert statuses(execute(world.project, TestRequest((told,)))) == {told: Status.PASS}


def test_a_command_of_pytests(tmp_path: Path) -> None:
    config = f"""\
    test_command_for:
      tests/test_add.py: ["env", "MARK=set", {json.dumps(sys.executable)}, "{{args}}"]
"""
    text = "import os\n\n\ndef test_add():\n    assert os.environ['MARK'] == 'set'\n"
    plain = "import os\n\n\ndef test_sub():\n    assert 'MARK' not in os.environ\n"
    files = {"tests/test_add.py": text, "tests/test_sub.py": plain}
    world = make_world(tmp_path / "demo", config, **files)
    expected = {"tests/test_add.py::test_add": Status.PASS, "tests/test_sub.py::test_sub": Status.PASS}
    assert statuses(execute(world.project, TestRequest(()))) == expected
    assert statuses(execute(world.project, TestRequest(("tests/test_add.py::test_add",)))) == {
        "tests/test_add.py::test_add": Status.PASS
    }


def test_a_command_that_reports_by_itself(tmp_path: Path) -> None:
    python = json.dumps(sys.executable)
    options = '"-p", "no:cacheprovider", "-o", "junit_family=xunit1", "--junitxml={report}/r.xml"'
    config = f"""\
    test_command_for:
      tests/test_sub.py: [{python}, "-m", "pytest", {options}, "{{paths}}"]
"""
    world = make_world(tmp_path / "demo", config, **{"tests/test_sub.py": TEST_SUB, "calc.py": CALC})
    report = execute(world.project, TestRequest(()))
    assert list(statuses(report).values()) == [Status.PASS, Status.FAIL]
    assert [result.native_id.split("::")[0] for result in report.results] == [
        "tests/test_add.py",
        "tests/test_sub.py",
    ]


SUREFIRE = ".m2/repository/org/apache/maven/plugins/maven-surefire-plugin/*/*.jar"
"""Where it is missing, we ask Maven itself before we start it for the test."""


@pytest.mark.slow
def test_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # its packages are in the real home
    if why := why_not("mvn", "--version"):  # not when the file is loaded, by each worker: it takes 0.3 s
        pytest.skip(why)
    config = "stacks:\n  - {root: ., language: java, runner: junit, junit: {preset: surefire}}\n"
    world = make_tool_world(tmp_path / "demo", config, {**project_files("maven"), ".gitignore": "target\n"})
    if not any(Path.home().glob(SUREFIRE)):
        skip_where_maven_cannot(world.root)
    path = "src/test/java/com/x/CalcTest.java"
    names = (f"{path}::com.x.CalcTest::wrong", f"{path}::com.x.CalcTest$Inner::inside")
    report = execute(world.project, TestRequest(names))
    if not report.results:
        skip_where_maven_cannot(world.root)
    assert statuses(report) == {names[0]: Status.FAIL, names[1]: Status.PASS}
    assert report.ended is RunEnd.FINISHED
    assert not (world.root / "target").exists()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "home" / ".cargo" / "bin"
    folder.mkdir(parents=True)
    for name in ("node", "cargo", "go", "mvn"):
        (folder / name).touch(0o755)
    return {"PATH": str(folder), "HOME": str(tmp_path / "home")}


def test_node_runs_the_packages_script(tmp_path: Path, environ: dict[str, str]) -> None:
    for path in ("vitest/vitest.mjs", "jest/bin/jest.js"):
        script = tmp_path / "node_modules" / path
        script.parent.mkdir(parents=True)
        script.touch()
    node = f"{environ['PATH']}/node"
    modules = f"{tmp_path}/node_modules"
    vitest, jest, plain = (
        find_tool(Stack(language="node", runner=runner), tmp_path, environ)
        for runner in ("vitest", "jest", "node-test")
    )
    assert vitest.runner == Vitest(node, f"{modules}/vitest/vitest.mjs")
    assert jest.runner == Jest(node, f"{modules}/jest/bin/jest.js")
    assert plain.runner == NodeTest(node)
    assert [found.lead for found in (vitest, jest, plain)] == [2, 2, 1]
    assert f"{modules}/." in vitest.programs
    assert f"{modules}/." in jest.programs


def test_cargo_finds_what_is_in_the_real_home(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "home" / ".rustup").mkdir()
    found = find_tool(Stack(language="rust", runner="cargo"), tmp_path, environ)
    assert isinstance(found.runner, CargoRunner)
    home = f"{tmp_path}/home"
    assert (found.env["CARGO_HOME"], found.env["RUSTUP_HOME"]) == (f"{home}/.cargo", f"{home}/.rustup")
    assert found.env["CARGO_NET_OFFLINE"] == "true"
    assert found.reads == (f"{home}/.cargo",)
    elsewhere = find_tool(Stack(language="rust", runner="cargo"), tmp_path, {**environ, "HOME": "/nowhere"})
    assert elsewhere.env["RUSTUP_HOME"] == f"{home}/.rustup"


def test_go_reads_the_modules_that_are_there(tmp_path: Path, environ: dict[str, str]) -> None:
    stack = Stack(language="go", runner="go")
    assert find_tool(stack, tmp_path, environ).reads == ()
    modules = tmp_path / "home" / "go" / "pkg" / "mod"
    modules.mkdir(parents=True)
    found = find_tool(stack, tmp_path, environ)
    assert found.reads == (str(modules),)
    assert (found.env["GOMODCACHE"], found.env["GOPROXY"]) == (str(modules), "off")
    named = find_tool(stack, tmp_path, {**environ, "GOPATH": "/one:/two", "GOMODCACHE": str(tmp_path)})
    assert named.reads == (str(tmp_path),)


def test_a_projects_own_wrapper_where_the_tool_is_missing(tmp_path: Path, environ: dict[str, str]) -> None:
    stack = Stack(language="java", runner="junit", junit=JUnit(preset="surefire"))
    (tmp_path / "mvnw").touch(0o755)
    (tmp_path / "home" / ".m2").mkdir()
    usual = find_tool(stack, tmp_path, environ)
    assert isinstance(usual.runner, JUnitRunner)
    assert (usual.runner.tool.command[0], usual.reads) == ("mvn", (f"{tmp_path}/home/.m2",))
    own = find_tool(stack, tmp_path, {"PATH": str(tmp_path / "nothing")})
    assert isinstance(own.runner, JUnitRunner)
    assert own.runner.tool.command[0] == own.runner.tool.everything[0] == "./mvnw"


@pytest.mark.parametrize(
    ("language", "runner"), [("node", "node-test"), ("rust", "cargo"), ("go", "go"), ("node", "vitest")]
)
def test_a_missing_tool(tmp_path: Path, language: str, runner: str) -> None:
    with pytest.raises(ToolMissing) as error:
        find_tool(Stack(language=language, runner=runner), tmp_path, {"PATH": str(tmp_path)})
    assert error.value.hint


def test_node_modules_keeps_what_was_installed(tmp_path: Path) -> None:
    for name in (".vite", ".cache", ".bin", ".pnpm", "vitest"):
        (tmp_path / "web" / "node_modules" / name).mkdir(parents=True)
    (tmp_path / "node_modules" / ".vite").mkdir(parents=True)
    found = tool_of("vitest").kept_paths(Stack(root="web", language="node", runner="vitest"), tmp_path)
    assert set(found) == {"web/node_modules/.vite", "web/node_modules/.cache", "node_modules/.vite"}


def test_output_of_a_build(tmp_path: Path) -> None:
    assert "target" in tool_of("junit").kept_paths(Stack(language="java", runner="junit"), tmp_path)
    assert tool_of("cargo").kept_paths(Stack(language="rust", runner="cargo"), tmp_path) == ()
