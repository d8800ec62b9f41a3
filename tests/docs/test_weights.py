"""Each folder weighs at most what `weights.txt` allows, and no row rose without an ADR."""

from __future__ import annotations

import itertools

import pytest

from support import scale
from support.scale import Row


def test_no_folder_weighs_more_than_its_row_allows() -> None:
    excess = scale.find_excess(scale.read_table(scale.TABLE.read_text()), scale.weigh(scale.python_files()))
    assert excess == [], "take something out; or raise the row, and name an ADR beside it"


def test_no_row_rose_without_an_adr() -> None:
    adrs = [path.name for path in (scale.ROOT / "docs" / "adr").iterdir()]
    versions = [scale.read_table(text) for text in (scale.TABLE.read_text(), *scale.earlier_tables())]
    raised = [scale.find_raised(before, after, adrs) for after, before in itertools.pairwise(versions)]
    assert [sentence for sentences in raised for sentence in sentences] == []


def test_a_folder_that_grew_and_one_without_a_row_are_named() -> None:
    excess = scale.find_excess({"src/verdigris/core": Row(10)}, {"src/verdigris/core": 11, "tests/new": 1})
    assert excess == [
        "src/verdigris/core weighs 11 lines; weights.txt allows 10",
        "tests/new weighs 1 lines; weights.txt allows 0",
    ]


@pytest.mark.parametrize(
    ("row", "is_refused"),
    [(Row(11), True), (Row(11, "9999"), True), (Row(11, "0041"), False), (Row(9), False)],
)
def test_a_row_rises_only_with_an_adr_that_exists(row: Row, *, is_refused: bool) -> None:
    raised = scale.find_raised({"src/verdigris/core": Row(10)}, {"src/verdigris/core": row}, ["0041-lean.md"])
    assert bool(raised) == is_refused


def test_a_file_is_weighed_in_one_row() -> None:
    paths = {
        "src/verdigris/core/policy/done.py": "src/verdigris/core",
        "src/verdigris/languages/protocol.py": "src/verdigris/languages",
        "src/verdigris/languages/python/tests/code.py": "src/verdigris/languages/python",
        "src/verdigris/__main__.py": "src/verdigris",
        "tests/drivers/loop/test_run.py": "tests/drivers",
        "tests/conftest.py": "tests",
    }
    assert {path: scale.row_of(path) for path in paths} == paths


def test_a_row_falls_with_its_folder_and_leaves_with_it() -> None:
    text = "# lines\nsrc/verdigris/core 10 0041\nsrc/verdigris/kernel 3\ntests/core 5\n"
    weights = {"src/verdigris/core": 8, "tests/core": 7}
    assert scale.lowered(text, weights) == "# lines\nsrc/verdigris/core 8 0041\ntests/core 5\n"
