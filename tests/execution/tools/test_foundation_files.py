"""What stands below the tests of other tools than pytest."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from support.tool_worlds import make_tool_world
from verdigris.checks.foundation import find_changes, prepare
from verdigris.core.settings import Stack
from verdigris.execution.tools.node_packages import asserted_packages
from verdigris.execution.tools.registry import tool_files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

VITEST = Stack(language="node", runner="vitest")


def package(folder: Path, *needs: str) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"dependencies": dict.fromkeys(needs, "*")}))
    (folder / "index.js").touch()
    (folder / "README.md").touch()


def test_a_runner_and_what_it_depends_on(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    package(modules / "vitest", "@vitest/expect", "missing")
    (modules / "vitest" / "vitest.mjs").touch()
    package(modules / "@vitest" / "expect", "chai")
    package(modules / "@vitest" / "expect" / "node_modules" / "chai", "vitest")
    package(modules / "chai")
    package(modules / "left-pad")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").touch(0o755)
    found = tool_files(VITEST, tmp_path, {"PATH": str(tmp_path / "bin")})
    below = {os.path.relpath(path, tmp_path) for path in found}
    chai = "node_modules/@vitest/expect/node_modules/chai"
    assert {"bin/node", "node_modules/vitest/vitest.mjs", f"{chai}/index.js"} <= below
    assert not {path for path in below if "left-pad" in path or "README" in path}
    assert "node_modules/chai/index.js" not in below


def test_packages_that_tests_alone_import(tmp_path: Path) -> None:
    files = {
        ".gitignore": "node_modules\n",
        "package.json": '{"dependencies": {"needed": "1"}}',
        "test/a.test.js": "import { same } from 'fair/strict';\nimport needed from \"needed\";\n",
        "src/a.js": "import other from 'other';\n",
        **{f"node_modules/{name}/index.js": "" for name in ("fair", "needed", "other")},
    }
    config = "stacks:\n  - {root: ., language: node, runner: node-test}\n"
    project = make_tool_world(tmp_path, config, files).project
    known: dict[str, list[str]] = {"gone": []}
    assert asserted_packages(project, known) == {f"{project.root}/node_modules/fair/index.js"}
    assert [*known.values()] == [["fair", "needed"]]


def test_toolchains_and_settings_of_rust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARGO_HOME", raising=False)
    home = tmp_path / "home"
    (home / ".cargo" / "bin").mkdir(parents=True)
    (home / ".cargo" / "bin" / "cargo").touch(0o755)
    (home / ".rustup" / "toolchains" / "stable" / "bin").mkdir(parents=True)
    environ = {"PATH": str(home / ".cargo" / "bin"), "HOME": str(home)}
    found = tool_files(Stack(language="rust", runner="cargo"), tmp_path, environ)
    below = {os.path.relpath(path, home) for path in found}
    assert {".cargo/bin/cargo", ".cargo/config.toml", ".rustup/toolchains/stable/bin/rustc"} <= below


def test_compilers_of_go(tmp_path: Path) -> None:
    go = tmp_path / "go"
    for path in ("bin/go", "pkg/tool/linux/compile", "src/testing/testing.go", "src/fmt/print.go"):
        (go / path).parent.mkdir(parents=True, exist_ok=True)
        (go / path).touch(0o755)
    found = tool_files(Stack(language="go", runner="go"), tmp_path, {"PATH": str(go / "bin")})
    below = {os.path.relpath(path, go) for path in found}
    assert below == {"bin/go", "VERSION", "pkg/tool/linux/compile", "src/testing/testing.go"}


def test_a_missing_tool_has_none(tmp_path: Path) -> None:
    assert tool_files(VITEST, tmp_path, {"PATH": str(tmp_path)}) == frozenset()


def test_a_runner_that_changes_after_a_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "demo"
    config = "stacks:\n  - {root: ., language: node, runner: vitest}\n"
    world = make_tool_world(root, config, {".gitignore": "node_modules\n", "package.json": "{}"})
    package(root / "node_modules" / "vitest")
    (root / "node_modules" / "vitest" / "vitest.mjs").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    blob = prepare(world.project)
    assert find_changes(world.project, blob) == ()
    (root / "node_modules" / "vitest" / "index.js").write_text("expect = () => {}")
    assert find_changes(world.project, blob) == ("node_modules/vitest/index.js",)
