from __future__ import annotations

import pytest

from verdigris.languages.python.test_places import stands
from verdigris.languages.tests import is_revised, without

TEXT = """\
import calc


@mark
def test_a():
    assert calc.a


class TestB:
    def test_c(self):
        assert calc.c
"""


@pytest.mark.parametrize(
    ("name", "revised", "expected"),
    [
        ("tests/t.py", "tests/t.py", True),
        ("tests/t.py", "tests", True),
        ("tests/t.py", "tests/", True),
        ("tests/t.py::test_a", "tests/t.py", True),
        ("tests/t.py::test_a[1]", "tests/t.py::test_a", True),
        ("tests/t.py::TestB::test_c", "tests/t.py::TestB", True),
        ("tests/t.py::test_ab", "tests/t.py::test_a", False),
        ("tests2/t.py", "tests", False),
        ("a.test.ts::total › of nothing", "a.test.ts::total", True),
        ("a.test.ts::totals › of nothing", "a.test.ts::total", False),
    ],
)
def test_a_name_stands_for_all_in_it(name: str, revised: str, expected: bool) -> None:
    assert is_revised(name, [revised]) is expected


def test_a_function_given_up_is_cut_out_with_its_decorators() -> None:
    left = without({"t.py": TEXT, "u.py": TEXT}, ["t.py::test_a"])
    assert "test_a" not in left["t.py"]
    assert "@mark" not in left["t.py"]
    assert "test_c" in left["t.py"]
    assert left["u.py"] == TEXT


def test_a_method_given_up_leaves_a_class_that_parses() -> None:
    left = without({"t.py": TEXT}, ["t.py::TestB::test_c"])["t.py"]
    compile(left, "t.py", "exec")
    assert "test_c" not in left
    assert "TestB" in left
    assert "TestB" not in without({"t.py": TEXT}, ["t.py::TestB"])["t.py"]


def test_a_folder_given_up_is_gone_and_what_does_not_parse_or_is_not_there_stays() -> None:
    assert without({"tests/t.py": TEXT}, ["tests"]) == {}
    assert without({"t.py": "def ("}, ["t.py::test_a", "v.py::x"]) == {"t.py": "def ("}


@pytest.mark.parametrize(
    ("text", "function", "expected"),
    [
        (TEXT, "test_a", True),
        (TEXT, "TestB::test_c", True),
        (TEXT, "test_c", False),
        ("if calc:\n    def test_a(): pass\n", "test_a", True),
        ("def (", "test_a", False),
    ],
)
def test_a_test_stands_while_it_is_written_in_its_file(text: str, function: str, expected: bool) -> None:
    assert stands(text, function) is expected
