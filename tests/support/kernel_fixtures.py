"""Fixtures for tests of the kernel: a repository under the law, independent of the user's configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.turns import World, make_green_world, make_world


@pytest.fixture(autouse=True)
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off every user's git configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "repo")


@pytest.fixture
def green(tmp_path: Path) -> World:
    """The same project, in the green phase with the usual red."""
    return make_green_world(tmp_path / "repo")


@pytest.fixture
def shallow_calls() -> Iterator[int]:
    """Lower Python's recursion limit, so that fewer nested folders exceed it; each folder costs time."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield 400
    sys.setrecursionlimit(usual)
