from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli, make_cli
from support.kernel_fixtures import world

__all__ = ["world"]


@pytest.fixture
def bare_cli(tmp_path: Path) -> Cli:
    """A project that is not set up yet, but for its `tdd.yaml`."""
    return make_cli(tmp_path / "repo")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return make_cli(tmp_path / "repo", ready=True)
