from __future__ import annotations

import pytest

from verdigris.core.records import GENESIS, Record, flatten, unflatten

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
