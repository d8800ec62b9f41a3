from __future__ import annotations

import pytest

from verdigris.drivers.code.limits import EXIT_CODES, End, Limits, Prices, Spent, reached_limit
from verdigris.models.protocol import Usage

SPENT = Spent(turns=3, tokens=500, cost=0.25, seconds=12.0)


@pytest.mark.parametrize(
    ("limits", "option"),
    [
        (Limits(turns=3), "--max-turns"),
        (Limits(tokens=400), "--max-tokens"),
        (Limits(cost=0.2), "--max-cost"),
        (Limits(seconds=10), "--timeout"),
    ],
)
def test_a_limit_that_is_reached_is_named(limits: Limits, option: str) -> None:
    assert option in reached_limit(limits, SPENT)


def test_no_limit_and_one_that_is_not_reached_say_nothing() -> None:
    assert reached_limit(Limits(), SPENT) == ""
    assert reached_limit(Limits(4, 501, 0.3, 13), SPENT) == ""


def test_money_that_nobody_can_count_reaches_no_limit() -> None:
    assert reached_limit(Limits(cost=0.1), Spent(1, 1, None, 1)) == ""


def test_cached_tokens_have_a_price_of_their_own_and_unknown_ones_cost_all() -> None:
    prices = Prices(input=2.0, output=10.0, cached=0.2)
    assert prices.cost(Usage(1_000_000, 500_000, 100_000)) == pytest.approx(1.0 + 0.1 + 1.0)
    assert prices.cost(Usage(1_000_000, 0, 0, cache_known=False)) == pytest.approx(2.0)
    assert Prices(2.0, 10.0).cost(Usage(1_000_000, 500_000, 0)) == pytest.approx(2.0)


def test_every_end_has_an_exit_code_of_its_own() -> None:
    assert sorted(EXIT_CODES) == sorted(End)
    assert len(set(EXIT_CODES.values())) == len(End)
