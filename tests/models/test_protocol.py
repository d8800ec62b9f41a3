from __future__ import annotations

from verdigris.models.protocol import Usage


def test_usage_adds_up_and_one_estimate_makes_the_sum_one() -> None:
    assert Usage(10, 4, 1) + Usage(20, 6, 2) == Usage(30, 10, 3)
    assert (Usage(1) + Usage(1, estimated=True)).estimated
