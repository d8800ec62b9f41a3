from __future__ import annotations

import pytest

from verdigris.languages.python.stubs.declarations import declare_missing

BEFORE = "import os\n\n\ndef old():\n    return 1\n"
OTHER = """\
import os
from . import parts
from .parts import Piece as P
from decimal import Decimal

LIMIT = 3


def old():
    return 2


@cached
async def new(a: int, /, b: str = "x", *rest, c=Decimal(1), **more) -> str:
    return a


class Kept(Exception):
    code: int = 7

    @classmethod
    @other
    def make(cls, x=1):
        return cls()


class Below(Kept, Mixin):
    pass


if os.name:
    def guarded():
        return 3
"""


@pytest.fixture(scope="module")
def made() -> str:
    return declare_missing(BEFORE, OTHER)


def test_what_was_there_stays_as_it_is(made: str) -> None:
    assert made.startswith(BEFORE)
    assert "return 2" not in made


def test_signatures_are_kept_without_their_work(made: str) -> None:
    assert (
        "async def new(a, /, b='x', *rest, c=None, **more):\n    raise NotImplementedError('STUB:TDD')"
        in made
    )


def test_classes_keep_the_bases_that_are_there(made: str) -> None:
    assert "class Kept(Exception):\n    code = None\n\n    @classmethod\n    def make(cls, x=1):" in made
    assert "class Below(Kept):\n    pass" in made


def test_names_of_the_project_are_handed_on_and_values_are_nothing(made: str) -> None:
    assert "from .parts import Piece as P" in made
    assert "LIMIT = None" in made
    assert "Decimal" not in made


def test_what_stands_under_a_condition_is_declared_too(made: str) -> None:
    assert "def guarded():" in made


def test_a_module_that_lacks_nothing_stays(made: str) -> None:
    assert declare_missing(BEFORE, BEFORE) == BEFORE
    assert declare_missing(made, OTHER) == made


def test_a_new_module_can_be_loaded() -> None:
    module = declare_missing("", "def f(x):\n    return x\n")
    space: dict[str, object] = {}
    exec(module, space)
    assert callable(space["f"])


def test_what_does_not_parse_is_an_error() -> None:
    with pytest.raises(SyntaxError):
        declare_missing("", "def f(:\n")
