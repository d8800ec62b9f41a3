from __future__ import annotations

import pytest

from verdigris.languages.python.weakening import weakenings

BASE = """
class Contract:
    def test_a(self):
        assert self.make(1) == 1

    def test_b(self):
        assert self.make(2) == 2
"""
BOX = "from tests.base import Contract\n\n\nclass TestBox(Contract):\n    def make(self, n): return n\n"
OLD = {"tests/base.py": BASE, "tests/test_box.py": BOX}


def found(**files: str | None) -> list[tuple[str, str]]:
    new = OLD | {f"tests/{name}.py": text for name, text in files.items() if text is not None}
    new = {path: text for path, text in new.items() if files.get(path[6:-3], "") is not None}
    return [(w.kind, w.before) for w in weakenings(OLD, new)]


GONE = [("removed", "TestBox::test_a"), ("removed", "TestBox::test_b")]


@pytest.mark.parametrize(
    ("box", "losses"),
    [
        (BOX.replace("(Contract)", ""), GONE),
        ("\n", GONE),
        (BOX.replace("TestBox", "Box"), GONE),
        (BOX + "    test_a = None\n", GONE[:1]),
        (BOX + "    def test_a(self): pass\n", [("dropped", "TestBox::test_a of Contract::test_a")]),
        (
            BOX + "    def test_a(self):\n        if 0: super().test_a()\n",
            [("changed", "TestBox::test_a of Contract::test_a")],
        ),
    ],
    ids=["base", "class", "name", "none", "empty", "guarded"],
)
def test_a_test_that_is_no_longer_inherited_is_lost(box: str, losses: list[tuple[str, str]]) -> None:
    assert found(test_box=box) == losses


def test_the_base_in_the_same_file() -> None:
    old = {"tests/test_box.py": BASE + BOX.partition("\n\n\n")[2]}
    new = {"tests/test_box.py": old["tests/test_box.py"].replace("(Contract)", "")}
    assert [(w.kind, w.before) for w in weakenings(old, new)] == GONE


@pytest.mark.parametrize(
    "files",
    [
        {"test_box": BOX.replace("TestBox", "TestCrate")},
        {"test_box": None, "test_crate": BOX},
        {"base": BASE.replace("Contract", "Promise"), "test_box": BOX.replace("Contract", "Promise")},
        {"base": None, "contract": BASE, "test_box": BOX.replace("tests.base", "tests.contract")},
        {"test_box": BOX + "    def test_a(self):\n        super().test_a()\n        assert self.make(3)\n"},
        {"test_box": BOX + "\n\nclass TestMore(TestBox):\n    pass\n"},
        {"test_box": BOX + "\n\nclass Helper(Contract):\n    pass\n"},
    ],
    ids=["renamed", "moved", "base renamed", "base moved", "extended", "derived", "helper"],
)
def test_what_is_only_moved_renamed_or_extended_is_kept(files: dict[str, str | None]) -> None:
    assert found(**files) == []


def test_what_a_base_asserts_less_is_told_once() -> None:
    assert found(base=BASE.replace(" == 1", "")) == [("weaker", "assert self.make(1) == 1")]
