"""Where tools are, what is said of one that is not there or too old; and a third party's tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import made_up_runner
from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.settings import JUnit, Stack
from verdigris.execution.tools import registry
from verdigris.execution.tools.junit import junit_tool
from verdigris.execution.tools.node import fits
from verdigris.execution.tools.node_packages import install_command, package_file
from verdigris.execution.tools.registry import TestTool, find_tool, program, tool_files, tool_of, version
from verdigris.runners.junit import SUREFIRE
from verdigris.runners.registry import RunnerKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.runners.protocol import Toolset


SCRIPT = "node_modules/vitest/vitest.mjs"


def put(path: Path, *, executable: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(0o755 if executable else 0o644)
    return path


def test_a_program_on_path(tmp_path: Path) -> None:
    found = put(tmp_path / "bin" / "go", executable=True)
    assert program("go", {"PATH": str(found.parent)}, "install it") == str(found)
    with pytest.raises(ToolMissing, match="cargo cannot be found") as error:
        program("cargo", {"PATH": str(found.parent)}, "install it")
    assert error.value.hint == "install it"
    assert error.value.exit_code == 69


def test_a_program_of_the_project(tmp_path: Path) -> None:
    put(tmp_path / "mvnw", executable=True)
    assert program("./mvnw", {}, "", beside=tmp_path) == str(tmp_path / "mvnw")
    put(tmp_path / "gradlew")
    with pytest.raises(ToolMissing):
        program("./gradlew", {}, "", beside=tmp_path)


def test_a_hoisted_package_is_found_above_and_not_outside(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "root" / "packages" / "web"
    home.mkdir(parents=True)
    put(tmp_path / SCRIPT)
    with pytest.raises(ToolMissing):
        package_file("vitest", SCRIPT, home, root)
    put(root / SCRIPT)
    assert package_file("vitest", SCRIPT, home, root) == root / SCRIPT
    put(home / SCRIPT)
    assert package_file("vitest", SCRIPT, home, root) == home / SCRIPT


def test_packages_that_are_lent_are_found_where_a_run_finds_them(tmp_path: Path) -> None:
    root, lent = tmp_path / "root", tmp_path / "elsewhere" / "node_modules"
    root.mkdir()
    put(lent / "vitest" / "vitest.mjs")
    node = put(tmp_path / "bin" / "node", executable=True)
    stack, environ = Stack(language="node", runner="vitest"), {"PATH": str(node.parent)}
    with pytest.raises(ToolMissing):
        find_tool(stack, root, environ)
    found = find_tool(stack, root, environ, ((str(lent), "node_modules"),))
    assert found.package == str(root / SCRIPT)
    assert f"{lent}/." in found.programs


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("package-lock.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --immutable"),
        ("web/package-lock.json", "cd web && npm ci"),
        (None, "cd web && npm install"),
    ],
)
def test_the_next_move_goes_by_the_lock_file(tmp_path: Path, lock: str | None, command: str) -> None:
    home = tmp_path / "web"
    home.mkdir()
    if lock:
        put(tmp_path / lock)
    assert install_command(home, tmp_path) == command
    with pytest.raises(ToolMissing, match="the packages of web are not installed") as error:
        package_file("vitest", SCRIPT, home, tmp_path)
    assert error.value.hint == f"`{command}`"


def test_a_package_that_is_no_dependency(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    with pytest.raises(ToolMissing, match="jest is not installed in node_modules") as error:
        package_file("jest", SCRIPT, tmp_path, tmp_path)
    assert "npm install -D jest" in (error.value.hint or "")


def test_plug_n_play_has_no_packages_to_run(tmp_path: Path) -> None:
    put(tmp_path / ".pnp.cjs")
    with pytest.raises(ToolMissing, match="Plug'n'Play") as error:
        package_file("vitest", SCRIPT, tmp_path, tmp_path)
    assert "nodeLinker" in (error.value.hint or "")


def test_a_preset_as_it_is() -> None:
    assert junit_tool(JUnit(preset="surefire")) == SUREFIRE


def test_what_is_said_wins() -> None:
    tool = junit_tool(JUnit(preset="surefire", path="src/it/java/{class}.java", errors="setup", escape=True))
    assert (tool.path, tool.errors, tool.escape) == ("src/it/java/{class}.java", "setup", True)
    assert (tool.command, tool.reports) == (SUREFIRE.command, SUREFIRE.reports)


def test_a_command_of_ones_own_is_also_that_for_all() -> None:
    tool = junit_tool(JUnit(preset="surefire", command=("./mvnw", "test", "-Dtest={ids}")))
    assert (tool.command[0], tool.everything) == ("./mvnw", ())


def test_without_a_preset_a_command_is_needed() -> None:
    assert junit_tool(JUnit(command=("ctest",), item="")).command == ("ctest",)
    with pytest.raises(ConfigError):
        junit_tool(JUnit())
    with pytest.raises(ConfigError):
        junit_tool(None)


@pytest.mark.parametrize(
    ("text", "found"), [("v20.1.2", (20, 1, 2)), ("go version go1.26 linux", (1, 26)), ("none", ())]
)
def test_the_first_version_in_a_text(text: str, found: tuple[int, ...]) -> None:
    assert version(text) == found


@pytest.mark.parametrize(
    ("found", "wanted", "holds"),
    [
        ((20, 20, 2), "^18.0.0 || ^20.0.0 || >=22.0.0", True),
        ((20, 1, 0), "^20.19.0 || >=22.12.0", False),
        ((23, 0, 0), "^20.19.0 || >=22.12.0", True),
        ((21, 0, 0), "^20.19.0 || >=22.12.0", False),
        ((18, 9, 0), ">=16 <19", True),
        ((19, 0, 0), ">=16 <19", False),
        ((16, 20, 0), "~16.20", True),
        ((16, 21, 0), "~16.20", False),
        ((18, 0, 0), "18.x", True),
        ((18, 3, 0), "<=18", True),
        ((18, 0, 0), "> 18.0.0", False),
        ((18, 0, 0), "*", True),
        ((18, 0, 0), "", True),
        ((0, 3, 1), "^0.3.0", True),
        ((0, 4, 0), "^0.3.0", False),
    ],
)
def test_what_a_package_asks_for(found: tuple[int, ...], wanted: str, holds: bool) -> None:
    assert fits(found, wanted) is holds


STACK = Stack(language="elixir", runner="lines")


class LineTool(TestTool):
    def find(
        self, stack: Stack, root: Path, environ: Mapping[str, str], lent: tuple[tuple[str, str], ...] = ()
    ) -> Toolset:
        return made_up_runner.find(stack, root, environ)

    def kept_paths(self, stack: Stack, root: Path) -> tuple[str, ...]:
        return ("_build",)

    def foundation_files(self, tools: Toolset, root: Path) -> tuple[str, ...]:
        return (f"{root}/lines.toml",)


def use(monkeypatch: pytest.MonkeyPatch, kind: RunnerKind) -> None:
    monkeypatch.setattr(registry, "kind_of", lambda _: kind)


def test_one_that_is_only_found_has_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, made_up_runner.KIND)
    found = find_tool(STACK, tmp_path, {})
    assert isinstance(found.runner, made_up_runner.LineRunner)
    assert list(tool_of("lines").kept_paths(STACK, tmp_path)) == []
    assert tool_files(STACK, tmp_path, {}) == {found.programs[0]}


def test_a_whole_tool_can_do_what_ours_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, RunnerKind("lines", ("elixir",), tool=LineTool()))
    found = find_tool(STACK, tmp_path, {})
    assert tool_of("lines").kept_paths(STACK, tmp_path) == ("_build",)
    assert tool_files(STACK, tmp_path, {}) == {found.programs[0], f"{tmp_path}/lines.toml"}
