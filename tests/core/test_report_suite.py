from __future__ import annotations

import pytest

from verdigris.core.report import SuiteNames, suite_of
from verdigris.core.settings import Stack


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (Stack(), SuiteNames((), ())),
        (Stack(suite=("tests/unit", "-m not slow")), SuiteNames(("tests/unit",), ("-m", "not slow"))),
        (Stack(root="services/a/", suite=("tests/x.py::y",)), SuiteNames(("services/a/tests/x.py::y",), ())),
        (Stack(suite=("-mfast",)), SuiteNames((), ("-m", "fast"))),
    ],
)
def test_names_and_marks(stack: Stack, expected: SuiteNames) -> None:
    assert suite_of(stack) == expected
