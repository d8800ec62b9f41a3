from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_world

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def lean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plugins of this suite in the projects under test, no user's git configuration."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "repo")
