from __future__ import annotations

import pytest

from support.kernel_fixtures import homeless, world

__all__ = ["homeless", "world"]


@pytest.fixture(autouse=True)
def runs_once(remembered_runs: None) -> None:
    """Many tests bring the same cycle to their stage: the same runs on the same files."""
