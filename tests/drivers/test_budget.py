from __future__ import annotations

import pytest

from verdigris.core.settings import Prices
from verdigris.drivers.budget import BudgetUsedUp, Limits, Meter, Spent, cost_of, reached_limit
from verdigris.drivers.happenings import Asked, Happening, Noted
from verdigris.drivers.machine.history import CODER, TESTER
from verdigris.models.protocol import Ask, Message, ModelReply, Usage


class Counting:
    """Says of every prompt that it had so many tokens."""

    name = "counting"

    def __init__(self, prompt: int) -> None:
        self._prompt = prompt

    def ask(self, _: Ask) -> ModelReply:
        return ModelReply("{}", usage=Usage(self._prompt, 0, 10))


def ask(words: int) -> Ask:
    return Ask((Message("user", "word " * words),))


def test_each_call_is_counted_and_the_budget_is_looked_at_before_the_next() -> None:
    seen: list[Happening] = []
    meter = Meter(150, seen.append)
    model = meter.meter_model(Counting(100), 1, TESTER)
    model.ask(ask(90))
    model.ask(ask(95))
    with pytest.raises(BudgetUsedUp, match="150 tokens is used up"):
        model.ask(ask(95))
    assert (meter.tokens, len(model.calls), len(seen)) == (220, 2, 2)
    assert meter.prefix == pytest.approx(90 / 185, abs=0.05)


def test_a_server_that_seems_to_cut_long_prompts_is_told_of_once() -> None:
    seen: list[Happening] = []
    model = Meter(0, seen.append).meter_model(Counting(2048), 1, TESTER)
    for words in (3_000, 9_000, 9_000):
        model.ask(ask(words))
    assert [type(happening) for happening in seen] == [Asked, Noted, Asked, Asked]


@pytest.mark.parametrize(
    ("limits", "spent", "says"),
    [
        (Limits(rounds=3), Spent(rounds=3), "the limit of 3 turns is reached"),
        (Limits(rounds=1), Spent(rounds=1), "the limit of 1 turn is reached"),
        (
            Limits(seconds=8 * 3600),
            Spent(seconds=8.1 * 3600),
            "8.1 hours have passed, and the limit is 8.0 hours",
        ),
        (Limits(seconds=10), Spent(seconds=12), "12 seconds have passed"),
        (Limits(tokens=400), Spent(tokens=500), "500 tokens are used"),
        (Limits(money=1), Spent(money=1.5), "1.5 is spent, and the limit is 1"),
        (Limits(money=0.0001), Spent(money=0.00012), "0.00012 is spent"),
        (Limits(), Spent(3, 500, 1.5, 8), ""),
        (Limits(3, 400, 1, 8), Spent(2, 399, 0.9, 7.9), ""),
        (Limits(money=0.1), Spent(money=None), ""),
    ],
)
def test_limits_end_a_run_in_words(limits: Limits, spent: Spent, says: str) -> None:
    found = reached_limit(limits, spent, "turn")
    assert says in found
    assert bool(found) == bool(says)


def test_cached_tokens_have_a_price_of_their_own_and_unknown_ones_cost_all() -> None:
    prices = Prices(input=2.0, output=10.0, cached=0.2)
    assert cost_of(Usage(1_000_000, 500_000, 100_000), prices) == pytest.approx(1.0 + 0.1 + 1.0)
    assert cost_of(Usage(1_000_000, 0, 0, cache_known=False), prices) == pytest.approx(2.0)
    assert cost_of(Usage(1_000_000, 500_000, 0), Prices(2.0, 10.0)) == pytest.approx(2.0)


def test_each_role_costs_what_its_own_model_costs() -> None:
    seen: list[Happening] = []
    meter = Meter(0, seen.append, {"tester": Prices(1_000.0, 0.0), "implementor": Prices(10_000.0, 0.0)})
    meter.meter_model(Counting(100), 1, TESTER).ask(ask(90))
    meter.meter_model(Counting(100), 2, CODER).ask(ask(90))
    assert meter.cost == pytest.approx(0.1 + 1.0)
    assert [one.cost for one in seen if isinstance(one, Asked)] == pytest.approx([0.1, 1.1])


def test_what_a_run_costs_is_unknown_once_a_role_without_a_price_was_asked() -> None:
    assert Meter(0, lambda _: None).cost is None
    meter = Meter(0, lambda _: None, {"tester": Prices(1.0, 1.0)})
    assert meter.cost == 0.0
    meter.meter_model(Counting(100), 1, CODER).ask(ask(90))
    meter.meter_model(Counting(100), 2, TESTER).ask(ask(90))
    assert meter.cost is None
