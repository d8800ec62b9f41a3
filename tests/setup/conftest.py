from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.gitrepo import IDENTITY
from support.kernel_fixtures import homeless, world

__all__ = ["homeless", "world"]


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git knows who commits, and nothing else of whoever runs the tests."""
    for name, text in IDENTITY.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty, in no repository."""
    made = tmp_path / "my project"
    made.mkdir()
    return made


@pytest.fixture
def kata(tmp_path: Path) -> Path:
    """A kata outside it."""
    file = tmp_path / "calculator.md"
    file.write_text("# String Calculator\n\nA function adds numbers.\n")
    return file
