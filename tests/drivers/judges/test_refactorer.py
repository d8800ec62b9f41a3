from __future__ import annotations

import pytest

from verdigris.drivers.judges.refactorer import Extent, extent

A, B = b"one\ntwo\nthree\n", b"one\n2\nthree\n"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": A}, {"a": A}, Extent(0, 0)),
        ({"a": A}, {"a": B}, Extent(1, 2)),
        ({"a": A}, {"a": None}, Extent(1, 3)),
        ({}, {"a": A}, Extent(1, 3)),
        ({"a": A}, {"a": None, "b": A}, Extent(1, 0)),
        ({"a": A}, {"a": None, "b": B}, Extent(2, 6)),
    ],
    ids=["unchanged", "one line", "deleted", "new", "moved", "moved and changed"],
)
def test_how_far_a_refactor_goes(
    before: dict[str, bytes | None], after: dict[str, bytes | None], found: Extent
) -> None:
    assert extent(before, after) == found
