from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - the codec reads it at run time
from typing import Literal

import pytest

from verdigris.core.records import from_json, to_json
from verdigris.core.report import Status
from verdigris.core.value import field, value


@value
class Inner:
    n: int = 0


@value
class Outer:
    name: str
    status: Status
    inner: Inner
    many: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    maybe: Inner | None = None
    rule: Literal["a", "b"] = "a"
    lines: frozenset[int] = frozenset()
    pairs: tuple[tuple[str, tuple[Inner, ...]], ...] = ()


FULL = Outer(
    "x\udc80",
    Status.FAIL,
    Inner(1),
    (Inner(2), Inner(3)),
    {"k": Inner(4)},
    Inner(5),
    "b",
    frozenset({3, 1}),
    (("p", (Inner(6), Inner(7))), ("q", ())),
)


@pytest.mark.parametrize("value", [FULL, Outer("y", Status.PASS, Inner())])
def test_a_value_comes_back_through_json_text(value: Outer) -> None:
    assert from_json(Outer, json.loads(json.dumps(to_json(value)))) == value


def test_defaults_are_left_out() -> None:
    assert to_json(Outer("y", Status.PASS, Inner())) == {"name": "y", "status": "pass", "inner": {}}


def test_an_unknown_key_is_passed_over() -> None:
    assert from_json(Inner, {"n": 2, "later": True}) == Inner(2)


def test_a_word_outside_its_literal_is_refused() -> None:
    with pytest.raises(ValueError, match="none of"):
        from_json(Outer, {**to_json(FULL), "rule": "c"})
