"""A runner's tool on this machine: ours, and a third party's with `find` alone or as a whole `TestTool`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import made_up_runner
from verdigris.core.settings import Stack
from verdigris.execution.tools import registry
from verdigris.execution.tools.protocol import TestTool
from verdigris.execution.tools.registry import find_tool, tool_files, tool_of
from verdigris.runners.registry import RunnerKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from verdigris.runners.protocol import Toolset

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
