"""Whether what a test sets up matters to what it asserts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_live_world
from verdigris.core.verdict import Kind

if TYPE_CHECKING:
    from pathlib import Path

NAME = "tests/test_shop.py::test_it"
STUB = (
    "ROWS = []\n\n\ndef add(row):\n    ROWS.append(row)\n\n\ndef find(name):\n    raise NotImplementedError\n"
)
FOUND = STUB.replace("raise NotImplementedError", "return next((r for r in ROWS if r == name), 'nobody')")
FIXTURE = "import pytest\n\nimport shop\n\n\n@pytest.fixture\ndef ann():\n    {step}\n"


def concerns(tmp_path: Path, test: str, source: str, fixture: str = "shop.add('ann')") -> tuple[str, ...]:
    world: World = make_live_world(tmp_path / "repo", **{"shop.py": STUB})
    world.write("tests/conftest.py", FIXTURE.format(step=fixture))
    world.write("tests/test_shop.py", f"import shop\n\n\ndef test_it(ann):\n    {test}\n")
    world.claimed(NAME, "shop.py")
    world.write("shop.py", source)
    verdict = world.settle().verdict
    assert verdict.kind is Kind.ACCEPTED, verdict
    return tuple(text for text in verdict.concerns if "does not matter" in text)


def test_a_row_that_the_answer_comes_from_matters(tmp_path: Path) -> None:
    assert concerns(tmp_path, "assert shop.find('ann') == 'ann'", FOUND) == ()


def test_a_test_that_passes_without_its_row_and_with_another_input_is_noted(tmp_path: Path) -> None:
    answer = STUB.replace("raise NotImplementedError", "return 'ann'")
    (noted,) = concerns(tmp_path, "assert shop.find('bob') == 'ann'", answer)
    start = "tests/conftest.py:8: tests/test_shop.py::test_it passes without `shop.add('ann')` and with `"
    assert noted.startswith(start)


def test_a_row_that_was_never_there_is_noted(tmp_path: Path) -> None:
    fixture = "try:\n        shop.add()\n    except TypeError:\n        pass"
    (noted,) = concerns(tmp_path, "assert shop.find('x') == 'nobody'", FOUND, fixture)
    assert "without `shop.add()`" in noted


@pytest.mark.parametrize("test", ["assert shop.find('bob') is None", "assert shop.find('') == ''"])
def test_a_test_that_expects_what_many_inputs_give_is_not_asked(tmp_path: Path, test: str) -> None:
    answer = test.partition(" == ")[2] or "None"
    assert concerns(tmp_path, test, STUB.replace("raise NotImplementedError", f"return {answer}")) == ()
