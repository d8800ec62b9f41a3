from __future__ import annotations

import json
from collections import Counter

import pytest

from support.corpora import made_triple
from verdigris.core.errors import UserError
from verdigris.drivers.corpus.triple import (
    parse_triple,
    render_triple,
    split_of,
    task_of_session,
    task_of_tests,
    triple_id,
)

pytestmark = pytest.mark.quick


def test_a_triple_reads_back_as_it_was_written() -> None:
    triple = made_triple()
    assert parse_triple(json.loads(json.dumps(render_triple(triple)))) == triple


def test_the_json_form_has_every_field_and_the_split() -> None:
    told = render_triple(made_triple())
    assert told["schema"] == "verdigris.triple/1"
    assert told["reds"][0]["place"] == "tests/test_sub.py:5"
    assert told["author"] == {"role": "agent", "client": "claude", "context": "s1", "model": "", "name": ""}
    assert {"scrubbed", "remote", "split"} <= told.keys()


def test_a_newer_field_is_passed_over_and_a_missing_one_is_named() -> None:
    told = render_triple(made_triple())
    assert parse_triple({**told, "later": 1}) == made_triple()
    with pytest.raises(UserError, match="base_tree"):
        parse_triple({name: one for name, one in told.items() if name != "base_tree"})
    with pytest.raises(UserError, match="not a triple"):
        parse_triple({"id": "x"})


def test_splits_are_stable_and_take_eight_ninths_and_ninths() -> None:
    assert [split_of(f"task-{number}") for number in (0, 1, 2)] == [split_of(f"task-{n}") for n in (0, 1, 2)]
    drawn = Counter(split_of(f"task-{number}") for number in range(2000))
    assert 1500 < drawn["train"] < 1700
    assert min(drawn["validation"], drawn["test"]) > 150


def test_tests_of_the_same_file_are_one_task_and_a_session_is_one_task() -> None:
    one = task_of_tests("a/b", ["tests/t.py::test_a"])
    assert one == task_of_tests("a/b", ["tests/t.py::test_b[1]"])
    assert one != task_of_tests("a/c", ["tests/t.py::test_a"])
    assert one != task_of_session("a/b", "tests/t.py")
    assert one.startswith("a__b-")


def test_an_id_goes_by_content_and_not_by_order() -> None:
    assert triple_id("a/b", "1", "2", ["x", "y"]) == triple_id("a/b", "1", "2", ["y", "x"])
    assert triple_id("a/b", "1", "2", ["x"]) != triple_id("a/b", "1", "3", ["x"])
