"""What `tdd doctor` says of other tools than pytest."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from verdigris.core.settings import Stack
from verdigris.setup.doctor.tools import check_tool

if TYPE_CHECKING:
    from pathlib import Path

VITEST = Stack(root="web", language="node", runner="vitest")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With programs that say a version."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "root" / "web").mkdir(parents=True)
    says(tmp_path, "node", "v20.1.0")
    return tmp_path / "root"


def says(folder: Path, name: str, text: str, code: int = 0) -> None:
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\nprintf '\\033[1m{text}\\033[m\\n'\nexit {code}\n")
    program.chmod(0o755)


def install(root: Path, version: str, node: str) -> None:
    package = root / "web" / "node_modules" / "vitest"
    package.mkdir(parents=True)
    (package / "vitest.mjs").touch()
    described = {"version": version, "engines": {"node": node}}
    (package / "package.json").write_text(json.dumps(described))


def test_program_and_package(root: Path) -> None:
    install(root, "2.1.0", ">=18")
    node, vitest = check_tool(root, VITEST)
    assert (node.name, node.level, node.what) == ("node of web", "ok", f"{root.parent}/bin/node, v20.1.0")
    assert (vitest.name, vitest.level, vitest.what) == ("vitest of web", "ok", "2.1.0")


def test_a_missing_package_names_the_next_move(root: Path) -> None:
    (root / "package-lock.json").touch()
    [finding] = check_tool(root, VITEST)
    assert (finding.level, finding.fix) == ("fail", "`npm ci`")


@pytest.mark.parametrize(("version", "node"), [("1.6.0", ">=18"), ("3.0.0", "^20.19.0 || >=22.12.0")])
def test_what_is_too_old(root: Path, version: str, node: str) -> None:
    install(root, version, node)
    assert [finding.level for finding in check_tool(root, VITEST)] == ["ok", "fail"]


def test_an_old_program(root: Path) -> None:
    says(root.parent, "go", "go version go1.19 linux/amd64")
    [finding] = check_tool(root, Stack(language="go", runner="go"))
    assert (finding.name, finding.level, finding.fix) == ("go", "fail", "install go 1.21 or newer")


def test_a_program_that_does_not_run(root: Path) -> None:
    says(root.parent, "cargo", "error: no default toolchain", 1)
    [finding] = check_tool(root, Stack(language="rust", runner="cargo"))
    assert finding.level == "fail"
    assert finding.what.endswith("does not run: error: no default toolchain")
