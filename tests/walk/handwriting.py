"""What a person of the walk writes: modules of small functions, tests of them, and a mark on each line.

A function `f7` of a module `a` is right if it returns what its test in `tests/test_a.py` asserts. Each line
that is written has a mark of its own, `~17~`, so that it is known wherever it turns up again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

MODULES = ("a", "b")
_MARK = re.compile(r"~\d+~")
_GAP = "\n\n\n"
_FUNCTION = re.compile(r"^def (f\d+)\(\):[^\n]*\n(?:    [^\n]*\n)*?    return (\d+)", re.MULTILINE)
_TEST = re.compile(r"^def test_(f\d+)\(\):[^\n]*\n    assert (\w+)\.\w+\(\) == (\d+)", re.MULTILINE)
_CONFLICT = re.compile(r"^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)[^\n]*\n", re.MULTILINE)


def marks(text: str) -> frozenset[str]:
    return frozenset(_MARK.findall(text))


def functions(text: str) -> dict[str, int]:
    """What each function returns."""
    return {name: int(value) for name, value in _FUNCTION.findall(text)}


def expectations(text: str, module: str = "") -> dict[str, int]:
    """What each test asserts of the function of its name; `module`: of this one alone."""
    found = _TEST.findall(text)
    return {name: int(value) for name, of, value in found if module in {"", of}}


def test_file(module: str) -> str:
    return f"tests/test_{module}.py"


def test_id(module: str, name: str) -> str:
    return f"{test_file(module)}::test_{name}"


def has_conflict(text: str) -> bool:
    return _CONFLICT.search(text) is not None


@dataclass(slots=True)
class Hand:
    """Writes lines, each with a new mark, and functions with new names and values."""

    _marks: Iterator[int] = field(default_factory=lambda: count(1))
    _names: Iterator[int] = field(default_factory=lambda: count(1))

    def mark(self) -> str:
        return f"~{next(self._marks)}~"

    def new_name(self) -> str:
        return f"f{next(self._names)}"

    def module(self, name: str) -> str:
        return f'"""Module {name}. {self.mark()}"""\n'

    def tests_of(self, module: str) -> str:
        return f"import {module}  # {self.mark()}\n"

    def function(self, name: str, value: int) -> str:
        return f"def {name}():  # {self.mark()}\n    return {value}  # {self.mark()}"

    def test(self, module: str, name: str, value: int) -> str:
        return (
            f"def test_{name}():  # {self.mark()}\n    assert {module}.{name}() == {value}  # {self.mark()}"
        )

    def comment(self) -> str:
        return f"# a remark {self.mark()}"


def with_block(text: str, block: str, *, at: int | None = None) -> str:
    """The text with a new function; `at`: behind this many others."""
    head, *blocks = text.rstrip("\n").split(_GAP)
    blocks.insert(len(blocks) if at is None else at, block)
    return _GAP.join((head, *blocks)) + "\n"


def with_changed(text: str, name: str, block: str) -> str:
    """The text with another body for the function or test of this name, or with a new one."""
    blocks = text.rstrip("\n").split(_GAP)
    if not any(_is_called(each, name) for each in blocks):
        return with_block(text, block)
    return _GAP.join(block if _is_called(each, name) else each for each in blocks) + "\n"


def without(text: str, name: str) -> str:
    blocks = text.rstrip("\n").split(_GAP)
    return _GAP.join(each for each in blocks if not _is_called(each, name)) + "\n"


def new_tests(text: str, before: str) -> list[str]:
    """The tests that the text has and the one before had not."""
    blocks = text.rstrip("\n").split(_GAP)
    return [block for block in blocks if expectations(block).keys() - expectations(before).keys()]


def with_docstring(text: str, line: str) -> str:
    """The text with another first line."""
    _, _, rest = text.partition("\n")
    return f"{line}\n{rest}"


def resolved(text: str) -> str:
    """Both sides of each conflict, one below the other."""
    return _CONFLICT.sub("", text)


def _is_called(block: str, name: str) -> bool:
    return re.search(rf"^(async )?def {name}\(", block, re.MULTILINE) is not None
