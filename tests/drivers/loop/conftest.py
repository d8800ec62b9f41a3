from __future__ import annotations

from pathlib import Path

import pytest

from support.kernel_fixtures import homeless, world

__all__ = ["apart", "homeless", "world"]


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git and private worktrees know nothing of whoever runs the tests; nobody has told git their name."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_CONFIG_GLOBAL", "EMAIL", "VIRTUAL_ENV", "PYTHONPATH", "CI"):
        monkeypatch.delenv(name, raising=False)
