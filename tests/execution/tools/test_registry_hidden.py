"""Caches in the tree that a verdict does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.settings import Stack
from verdigris.execution.tools.registry import hidden_paths

if TYPE_CHECKING:
    from pathlib import Path


def test_node_modules_keeps_what_was_installed(tmp_path: Path) -> None:
    for name in (".vite", ".cache", ".bin", ".pnpm", "vitest"):
        (tmp_path / "web" / "node_modules" / name).mkdir(parents=True)
    (tmp_path / "node_modules" / ".vite").mkdir(parents=True)
    found = hidden_paths(Stack(root="web", language="node", runner="vitest"), tmp_path)
    assert set(found) == {"web/node_modules/.vite", "web/node_modules/.cache", "node_modules/.vite"}


def test_output_of_a_build(tmp_path: Path) -> None:
    assert "target" in hidden_paths(Stack(language="java", runner="junit"), tmp_path)
    assert hidden_paths(Stack(language="rust", runner="cargo"), tmp_path) == ()
