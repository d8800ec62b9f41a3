"""Fixtures for tests of the kernel: a repository under the law, and nothing of whoever runs the tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_green_world, make_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No user's git configuration plays a part."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "repo")


@pytest.fixture
def green(tmp_path: Path) -> World:
    """The same, in the green phase with the usual red."""
    return make_green_world(tmp_path / "repo")


@pytest.fixture
def shallow_calls() -> Iterator[int]:
    """How deep Python calls itself: fewer folders than usual are then too many, and each costs time."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield 400
    sys.setrecursionlimit(usual)
