"""Versions, and what packages ask for."""

from __future__ import annotations

import pytest

from verdigris.execution.tools.node import fits
from verdigris.execution.tools.versions import version


@pytest.mark.parametrize(
    ("text", "found"), [("v20.1.2", (20, 1, 2)), ("go version go1.26 linux", (1, 26)), ("none", ())]
)
def test_the_first_version_in_a_text(text: str, found: tuple[int, ...]) -> None:
    assert version(text) == found


@pytest.mark.parametrize(
    ("found", "wanted", "holds"),
    [
        ((20, 20, 2), "^18.0.0 || ^20.0.0 || >=22.0.0", True),
        ((20, 1, 0), "^20.19.0 || >=22.12.0", False),
        ((23, 0, 0), "^20.19.0 || >=22.12.0", True),
        ((21, 0, 0), "^20.19.0 || >=22.12.0", False),
        ((18, 9, 0), ">=16 <19", True),
        ((19, 0, 0), ">=16 <19", False),
        ((16, 20, 0), "~16.20", True),
        ((16, 21, 0), "~16.20", False),
        ((18, 0, 0), "18.x", True),
        ((18, 3, 0), "<=18", True),
        ((18, 0, 0), "> 18.0.0", False),
        ((18, 0, 0), "*", True),
        ((18, 0, 0), "", True),
        ((0, 3, 1), "^0.3.0", True),
        ((0, 4, 0), "^0.3.0", False),
    ],
)
def test_what_a_package_asks_for(found: tuple[int, ...], wanted: str, holds: bool) -> None:
    assert fits(found, wanted) is holds
