from __future__ import annotations

import json

import pytest

from verdigris.models.json_text import UnsoundJson, keys_once, repair_json

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ("""{'a': true, "b": 'it\\'s null'}""", {"a": True, "b": "it's null"}),
        ('{"a": "x,]",}', {"a": "x,]"}),
        ("[1]", [1]),
    ],
)
def test_slips_that_leave_no_doubt_are_mended(text: str, meant: object) -> None:
    assert repair_json(text) == meant


@pytest.mark.parametrize("text", ['{"a": 1}', "prose", "", '{"a": ', "{'a': f()}", "[" * 100_000])
def test_what_is_sound_or_in_doubt_is_left_to_its_reader(text: str) -> None:
    assert repair_json(text) is None


def test_a_key_that_is_given_twice_is_a_doubt() -> None:
    assert json.loads('{"a": {"b": 1}}', object_pairs_hook=keys_once) == {"a": {"b": 1}}
    with pytest.raises(UnsoundJson, match="'b' is given twice"):
        json.loads('{"a": {"b": 1, "b": 1}}', object_pairs_hook=keys_once)
