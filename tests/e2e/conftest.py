from __future__ import annotations

from pathlib import Path

import pytest

from support.claude_code import installed
from support.gated import Place, make_place


@pytest.fixture(scope="session")
def program() -> Path:
    """Claude Code from npm."""
    return installed()


@pytest.fixture
def place(tmp_path: Path, program: Path) -> Place:
    """A project before which Claude Code is gated."""
    return make_place(tmp_path / "repo")
