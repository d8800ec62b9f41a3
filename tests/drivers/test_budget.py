from __future__ import annotations

import pytest

from verdigris.drivers.budget import BudgetUsedUp, Meter
from verdigris.drivers.happenings import Asked, Happening, Noted
from verdigris.drivers.machine.roles import TESTER
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
    model = meter.metered(Counting(100), 1, TESTER)
    model.ask(ask(90))
    model.ask(ask(95))
    with pytest.raises(BudgetUsedUp, match="150 tokens is used up"):
        model.ask(ask(95))
    assert (meter.tokens, len(model.calls), len(seen)) == (220, 2, 2)
    assert meter.prefix == pytest.approx(90 / 185, abs=0.05)


def test_a_server_that_seems_to_cut_long_prompts_is_told_of_once() -> None:
    seen: list[Happening] = []
    model = Meter(0, seen.append).metered(Counting(2048), 1, TESTER)
    for words in (3_000, 9_000, 9_000):
        model.ask(ask(words))
    assert [type(happening) for happening in seen] == [Asked, Noted, Asked, Asked]
