from __future__ import annotations

import pytest

from verdigris.core.state import Baseline


@pytest.mark.parametrize(
    ("took_ms", "configured", "expected"),
    [(200, 600, 120.0), (100_000, 600, 300.0), (1_000_000, 600, 600.0), (200, 20, 20.0)],
    ids=["quick", "slow", "capped", "configured"],
)
def test_a_suite_may_take_three_times_what_it_took(took_ms: int, configured: int, expected: float) -> None:
    assert Baseline("tree", "record", took_ms).limit(configured) == expected
