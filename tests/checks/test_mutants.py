"""How long a change of a refactor may be tried."""

from __future__ import annotations

import pytest

from verdigris.checks.mutants import time_for_mutant


@pytest.mark.quick
@pytest.mark.parametrize(
    ("took_ms", "left", "seconds"),
    [(0, 60.0, 3.0), (500, 60.0, 4.5), (500, 2.0, 2.0), (30_000, 60.0, 60.0)],
    ids=["a suite of no time", "a short suite", "little is left", "a long suite"],
)
def test_a_mutant_that_never_ends_leaves_time_for_the_others(
    took_ms: int, left: float, seconds: float
) -> None:
    assert time_for_mutant(took_ms, left) == seconds
