"""Lines of a file as it was written, from a place in what a tool made of it."""

from __future__ import annotations

import base64
import json

import pytest

from verdigris.runners.reporter.node_inspector import original_row

pytestmark = pytest.mark.quick


def inline(mappings: str) -> str:
    data = base64.b64encode(json.dumps({"version": 3, "mappings": mappings}).encode()).decode()
    return f"data:application/json;charset=utf-8;base64,{data}"


@pytest.mark.parametrize(
    ("mappings", "row", "column", "original"),
    [
        ("AAAA;AACA;AACA", 2, 5, 2),
        (";;AAAA;AAKA", 3, 0, 5),
        ("AAAA,IAEA;AADA", 0, 3, 0),
        ("AAAA,IAEA;AADA", 0, 4, 2),
        ("AAAA,IAEA;AADA", 1, 9, 1),
        ("A,IAEA", 0, 0, 2),
        ("AAAA", 7, 0, 7),
        ("", 4, 0, 4),
    ],
)
def test_a_source_map_leads_back_to_the_line(mappings: str, row: int, column: int, original: int) -> None:
    assert original_row(inline(mappings), row, column) == original


@pytest.mark.parametrize("said", ["", "calc.js.map", "data:application/json;base64,????", inline("AA")[:-8]])
def test_without_a_map_that_can_be_read_a_line_is_what_it_is(said: str) -> None:
    assert original_row(said, 3, 0) == 3
