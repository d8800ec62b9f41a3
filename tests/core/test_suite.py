from __future__ import annotations

import pytest

from verdigris.core.report import Suite, suite_of
from verdigris.core.settings import Stack


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (Stack(), Suite((), ())),
        (Stack(suite=("tests/unit", "-m not slow")), Suite(("tests/unit",), ("-m", "not slow"))),
        (Stack(root="services/a/", suite=("tests/x.py::y",)), Suite(("services/a/tests/x.py::y",), ())),
        (Stack(suite=("-mfast",)), Suite((), ("-m", "fast"))),
    ],
)
def test_names_and_marks(stack: Stack, expected: Suite) -> None:
    assert suite_of(stack) == expected
