"""How a property was tried is told with its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.pyproject import PyProject

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.report import Property

TEST = """from hypothesis import given, strategies as st

from lists import unique


@given(st.lists(st.integers(0, 3)))
def test_unique(items):
    assert set(unique(items)) == set(items)
"""
HONEST = "def unique(items):\n    return list(dict.fromkeys(items))\n"


def tried(tmp_path: Path, source: str, test: str = TEST) -> Property | None:
    made = PyProject(tmp_path / "p")
    made.write("tests/test_lists.py", test)
    made.write("lists.py", source)
    (result,) = made.test().results
    return result.property


def test_its_settings_and_how_many_inputs_were_tried(tmp_path: Path) -> None:
    found = tried(tmp_path, HONEST)
    assert found is not None
    assert found.settings.startswith("max_examples 100, phases explicit+reuse+generate+target+shrink")
    assert found.ran >= 20
    assert found.rejecting == ()


def test_settings_that_source_put_in_force(tmp_path: Path) -> None:
    profile = "import hypothesis\n\nhypothesis.settings.register_profile('q', max_examples=1)\n"
    found = tried(tmp_path, f"{profile}hypothesis.settings.load_profile('q')\n\n\n{HONEST}")
    assert found is not None
    assert found.settings.startswith("max_examples 1, ")
    assert found.ran == 1


@pytest.mark.parametrize("where", ["lists.py", "tests/test_lists.py"])
def test_whose_code_turned_inputs_down(tmp_path: Path, where: str) -> None:
    line = "__import__('hypothesis').assume(len(set(items)) == len(items))"
    # So many lists without a repetition that hypothesis need not look for the last of them.
    source, test = HONEST, TEST.replace("integers(0, 3)", "integers(0, 30)")
    if where == "lists.py":
        source = source.replace("    return", f"    {line}\n    return")
    else:
        test = test.replace("    assert", f"    {line}\n    assert")
    found = tried(tmp_path, source, test)
    assert found is not None
    assert set(found.rejecting) == {where, "tests/test_lists.py"}


def test_other_tests_have_none(tmp_path: Path) -> None:
    assert (
        tried(tmp_path, HONEST, "from lists import unique\n\n\ndef test_it():\n    assert unique([]) == []\n")
        is None
    )
