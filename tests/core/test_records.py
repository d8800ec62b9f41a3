from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from verdigris.core.errors import HarnessError, UserError
from verdigris.core.records import (
    CHECKPOINT,
    CURRENT,
    GENESIS,
    SCHEMA,
    UPCASTERS,
    Record,
    Schema,
    flatten,
    from_json,
    to_json,
    unflatten,
)
from verdigris.core.report import Status
from verdigris.core.value import field, value

RECORD = Record(3, 12, "main", None, {"role": "r"}, 1, GENESIS, "noted", {"b": 1, "a": [2]}, more=2)


def test_the_envelope_comes_first_in_fixed_order_and_more_last() -> None:
    fields = flatten(RECORD)

    assert list(fields) == ["seq", "ts", "worktree", "branch", "actor", "v", "prev", "type", "b", "a", "more"]
    assert "more" not in flatten(Record(3, 12, "main", None, {}, 1, GENESIS, "noted", {}))


def test_a_record_comes_back_from_its_fields() -> None:
    assert unflatten(flatten(RECORD)) == RECORD


@pytest.mark.parametrize("name", ["seq", "ts", "prev", "more", "type"])
def test_data_cannot_take_a_name_of_the_envelope(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        flatten(Record(1, 0, "main", None, {}, 1, GENESIS, "noted", {name: 1}))


@pytest.mark.parametrize(
    "change",
    [{"seq": "1"}, {"seq": 0}, {"seq": 2**64}, {"branch": 3}, {"actor": None}, {"prev": None}, {"more": "x"}],
)
def test_fields_of_the_wrong_type_are_no_record(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="field"):
        unflatten({**flatten(RECORD), **change})


def test_a_missing_field_is_no_record() -> None:
    fields = flatten(RECORD)
    del fields["worktree"]

    with pytest.raises(ValueError, match="field"):
        unflatten(fields)


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


def renamed(kind: str, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return kind.removesuffix("_old"), data


def doubled(kind: str, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return kind, {"n": data["n"] * 2}


NEWER = Schema(3, {1: renamed, 2: doubled})


def record(v: int, kind: str = "noted_old") -> Record:
    return Record(7, 0, "main", None, {}, v, GENESIS, kind, {"n": 4})


def test_upcasters_are_chained_up_to_the_current_version() -> None:
    assert NEWER.lift(record(1)) == Record(7, 0, "main", None, {}, 3, GENESIS, "noted", {"n": 8})
    assert NEWER.lift(record(2)) == Record(7, 0, "main", None, {}, 3, GENESIS, "noted_old", {"n": 8})


def test_a_record_of_the_current_version_is_left_as_it_is() -> None:
    assert NEWER.lift(record(3)) == record(3)


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    with pytest.raises(UserError, match="newer version") as caught:
        NEWER.lift(record(4))
    assert caught.value.hint == "upgrade tdd"


def test_a_version_that_never_was_is_our_fault() -> None:
    with pytest.raises(HarnessError, match="schema 0"):
        NEWER.lift(record(0))


def test_only_checkpoints_of_the_current_version_are_read() -> None:
    assert NEWER.reads_checkpoint(record(3, CHECKPOINT))
    assert not NEWER.reads_checkpoint(NEWER.lift(record(2, CHECKPOINT)))
    assert not NEWER.reads_checkpoint(record(3))


def test_there_is_an_upcaster_for_each_older_version() -> None:
    assert sorted(UPCASTERS) == list(range(1, CURRENT))
    assert (SCHEMA.current, SCHEMA.upcasters) == (CURRENT, UPCASTERS)
