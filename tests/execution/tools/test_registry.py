"""Which tool runs a stack, and what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import ToolMissing
from verdigris.core.settings import JUnit, Stack
from verdigris.execution.tools.registry import find_tool
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.junit import JUnitRunner
from verdigris.runners.node_tools import Jest, NodeTest, Vitest

if TYPE_CHECKING:
    from pathlib import Path


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
