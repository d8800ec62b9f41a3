from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from verdigris.core.errors import HarnessError, UserError
from verdigris.core.records import CHECKPOINT, CURRENT, GENESIS, SCHEMA, UPCASTERS, Record, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping


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
