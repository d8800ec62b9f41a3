from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def runs_once(remembered_runs: None) -> None:
    """Many sessions begin with the same red: the same runs on the same files."""
