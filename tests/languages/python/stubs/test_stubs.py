from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.languages.findings import StubFinding
from verdigris.languages.python.stubs import only_stubs

OLD = '''\
"""A calculator."""
import os
from abc import abstractmethod
from dataclasses import dataclass, field
from enum import auto
from math import floor, sqrt
from typing import NewType, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["add"]
LIMIT = compute()


def add(a, b=0):
    """Sum."""
    return a + len(b)


class Money(Base):
    """Cash."""

    amount: int = 0

    @property
    def cents(self):
        return self.amount * 100
'''


ASYNC = """\
async def sub(a: int, *rest: str, key: float = -1.0, **more: object) -> list[int] | None:  # STUB:TDD
    return None
"""
WALLET = """\
# STUB:TDD
class Wallet(Base, Generic[T]):
    owner: str
    coins: list[int] = field(default_factory=list)

    def pay(self) -> None: ...
"""
PORT = """\
# STUB:TDD
class Port(Protocol):
    @abstractmethod
    def send(self) -> None: ...
    @property
    def size(self) -> int: ...
    @size.setter
    def size(self, value: int) -> None: ...
"""
OVERLOADS = """\
# STUB:TDD
@overload
def sub(a: int) -> int: ...
# STUB:TDD
@overload
def sub(a: str) -> str: ...
# STUB:TDD
def sub(a): raise NotImplementedError
"""
MODULE = """\
# STUB:TDD
from __future__ import annotations

def a(): ...

class B:
    def c(self): ...
    def __eq__(self, o): ...

X: int = 3
"""


def added(text: str) -> StubFinding | None:
    return only_stubs(OLD, OLD + "\n\n" + dedent(text))


def test_nothing_changed() -> None:
    assert only_stubs(OLD, OLD) is None


def test_comments_and_layout_do_not_count() -> None:
    assert (
        only_stubs(OLD, OLD.replace("return a + len(b)", "# why\n    return (a +\n        len(b))")) is None
    )


@pytest.mark.parametrize(
    "text",
    [
        "def sub(a, b): ...  # STUB:TDD",
        "# STUB:TDD\ndef sub(a, b):\n    raise NotImplementedError",
        "# STUB:TDD: for subtraction\n# more words\ndef sub(a, b):\n    pass",
        'def sub(a, b):\n    """STUB:TDD"""',
        'def sub(a, b):\n    """Subtract."""\n    raise NotImplementedError("later")  # STUB:TDD',
        ASYNC,
        "def sub(a=(), b=None, c=(1, 'x')):  # STUB:TDD\n    return {'a': [1, 2], 'b': ()}",
        "def sub():  # STUB:TDD\n    raise errors.Broken('x') from None",
        "def sub():  # STUB:TDD\n    return NotImplemented",
        WALLET,
        "# STUB:TDD\n@dataclass(frozen=True, slots=True)\nclass Wallet:\n    owner: str = 'me'\n",
        "class Wallet:  # STUB:TDD\n    pass",
        "class Colour(Enum):  # STUB:TDD\n    RED = 1\n    BLUE = auto()\n",
        PORT,
        OVERLOADS,
        "import json\nimport os.path\nfrom .other import thing as it",
        "LATER: int = 0  # STUB:TDD",
        "T = TypeVar('T', bound='Money')  # STUB:TDD\nId = NewType('Id', int)  # STUB:TDD",
        "Alias: TypeAlias = dict[str, int]  # STUB:TDD",
        "if TYPE_CHECKING:\n    import typing\n",
        "if typing.TYPE_CHECKING:\n    import json\n",
        "def sub(a, b):\n    raise NotImplementedError('STUB:TDD')\n",
        "import abc as a\n# STUB:TDD\nclass Port:\n    @a.abstractmethod\n    def send(self): ...\n",
        "import click\n# STUB:TDD\n@click.command()\ndef main(): ...\n",
        "from functools import lru_cache\n# STUB:TDD\n@lru_cache(maxsize=None)\ndef sub(): ...\n",
        "LATER = None  # STUB:TDD",
        "def sub(a, b):\n    pass  # STUB:TDD",
        "def sub(a, b):\n    # STUB:TDD\n    pass",
        "class Wallet:\n    def pay(self):\n        pass  # STUB:TDD",
        "class Wallet:\n    def pay(self):\n        # STUB:TDD\n        return 0",
        "class Wallet:\n    def pay(self):\n        raise NotImplementedError('STUB:TDD')",
        'class Wallet:\n    def pay(self):\n        """STUB:TDD"""\n        return None',
        "class Wallet:\n    LIMIT = 3  # STUB:TDD\n\n    def pay(self): ...",
    ],
)
def test_a_stub_may_be_added(text: str) -> None:
    assert added(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def sub(a, b): ...", "STUB:TDD"),
        ("def one(): ...  # STUB:TDD\ndef sub(a, b): ...", "STUB:TDD"),
        ("# STUB:TDD\n\ndef sub(a, b): ...", "STUB:TDD"),
        ("MARK = 'STUB:TDD'\ndef sub(): ...", ""),
        ("class Wallet:\n    def pay(self): ...", "STUB:TDD"),
        ("class Wallet:\n    def pay(self): return self.coins  # STUB:TDD", "body"),
        ("class Wallet:\n    def pay(self): ...  # STUB:TDD\n    def sum(self): return self.x", "body"),
        ("def sub(a, b):  # STUB:TDD\n    return a - b", "body"),
        ("def sub(a, b):  # STUB:TDD\n    return add(a, b)", "body"),
        ("def sub(a, b):  # STUB:TDD\n    a.x = 1\n    return None", "body"),
        ("def sub(a, b):  # STUB:TDD\n    yield 1", "body"),
        ("def sub(a, b):  # STUB:TDD\n    raise compute(a)", "body"),
        ("def sub(a, b):  # STUB:TDD\n    raise Wrong(a)", "body"),
        ("def sub(a, b):  # STUB:TDD\n    raise launch()", "body"),
        ("def sub(a, b):  # STUB:TDD\n    import os", "body"),
        ("def sub(a, b):  # STUB:TDD\n    ...\n    def inner(): ...", "body"),
        ("def sub(a, b=compute()):  # STUB:TDD\n    ...", "default"),
        ("def sub(a, b=lambda: 1):  # STUB:TDD\n    ...", "default"),
        ("def sub(a, b=[]):  # STUB:TDD\n    ...", "default"),
        ("def sub(a: compute()):  # STUB:TDD\n    ...", "annotation"),
        ("def sub(a) -> compute():  # STUB:TDD\n    ...", "annotation"),
        ("# STUB:TDD\n@register\ndef sub(a): ...", "decorator"),
        ("# STUB:TDD\n@os.property\ndef sub(a): ...", "decorator"),
        ("# STUB:TDD\n@Money.final\ndef sub(a): ...", "decorator"),
        ("# STUB:TDD\n@exec\ndef sub(a): ...", "decorator"),
        ("import importlib\n# STUB:TDD\n@importlib.import_module('x')\ndef sub(a): ...", "decorator"),
        ("import werkzeug\n# STUB:TDD\n@werkzeug.import_string('x')\ndef sub(a): ...", "decorator"),
        ("import atexit\n# STUB:TDD\n@atexit.register\ndef sub(): ...", "decorator"),
        ("MORE = compute()  # STUB:TDD", "does work"),
        ("MORE = 3", "not marked"),
        ("# STUB:TDD\n@dataclass(eq=compute())\nclass A: ...", "decorator"),
        ("# STUB:TDD\nclass A(make()): ...", "base"),
        ("# STUB:TDD\nclass A:\n    x: int = compute()", "constant"),
        ("# STUB:TDD\nclass A:\n    print('x')", "statement"),
        ("# STUB:TDD\nclass A:\n    def f(self):\n        return self.x", "body"),
        ("# STUB:TDD\nclass A:\n    x: list = field(default_factory=compute)", "constant"),
        ("X: int = compute()  # STUB:TDD", "constant"),
        ("X: int = 3", "STUB:TDD"),
        ("alias = add  # STUB:TDD", "statement"),
        ("T = TypeVar(compute())  # STUB:TDD", ""),
        ("print('x')  # STUB:TDD", "statement"),
        ("for x in y: pass  # STUB:TDD", "statement"),
        ("if True:  # STUB:TDD\n    def sub(): ...", "statement"),
        ("if TYPE_CHECKING:\n    print(1)", "import"),
        ("if TYPE_CHECKING:\n    import a\nelse:\n    import b", "statement"),
        ("from os import *", "import *"),
        ("def add(a, b): ...  # STUB:TDD", "`add`"),
        ("from other import add", "`add`"),
        ("class add: ...  # STUB:TDD", "`add`"),
        ("def len(x): return 0  # STUB:TDD", "`len`"),
        ("def LIMIT(): ...  # STUB:TDD", "`LIMIT`"),
        ("def __getattr__(name): return 0  # STUB:TDD", "`__getattr__`"),
        ("def sub(:", "syntax"),
        ("import add.more", "`add`"),
        ("def new(): ...  # STUB:TDD\ndef new(): ...  # STUB:TDD", "`new`"),
        ("__all__ = ['sub']", "`__all__`"),
    ],
)
def test_anything_else_is_found(text: str, why: str) -> None:
    found = added(text)
    assert found is not None
    assert why in found.why
    assert found.line > OLD.count("\n")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("return a + len(b)", "return 5", "`add`"),
        ("return a + len(b)", "pass  # STUB:TDD", "`add`"),
        ("LIMIT = compute()", "LIMIT = 3", ""),
        ("LIMIT = compute()\n", "", "removed"),
        ("    @property\n", "", "`Money`"),
        ("class Money(Base)", "class Money", "`Money`"),
        ("b=0", "b=1", "`add`"),
        ("def add(a, b=0)", "def add(b, a=0)", "`add`"),
        ("import os\n", "", "`import os`"),
        ("floor, sqrt", "floor", "sqrt"),
        ("floor, sqrt", "floor as sqrt, sqrt as floor", ""),
        ('["add"]', "[]", "__all__"),
        ("amount: int = 0", "amount: int = 1", "`Money`"),
        ("return self.amount * 100", "return 0  # STUB:TDD", "`Money`"),
        ('    """Sum."""\n', "", "`add`"),
    ],
)
def test_what_exists_stays_as_it_is(old: str, new: str, why: str) -> None:
    found = only_stubs(OLD, OLD.replace(old, new))
    assert found is not None
    assert why in found.why


@pytest.mark.parametrize(
    "after", ["", "# nothing\n", OLD.partition("class Money")[0], OLD.partition("def add")[0]]
)
def test_what_is_deleted_at_the_end_is_found(after: str) -> None:
    found = only_stubs(OLD, after)
    assert found is not None
    assert "removed" in found.why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("floor, sqrt", "ceil, floor, sqrt"),
        ('["add"]', '["add", "sub"]'),
        ("import Iterable", "import Callable, Iterable"),
        ("import os\n", "import json, os\n"),
        ("def add(a, b=0):", "def add(a, b=0, c=0):  # STUB:TDD"),
        ("def add(a, b=0):", "# STUB:TDD\ndef add(a, b=0, *, exact: bool = False):"),
        ("    amount: int = 0\n", "    amount: int = 0\n    owner: str = ''  # STUB:TDD\n"),
        ("    @property\n", "    def pay(self): ...  # STUB:TDD\n\n    @property\n"),
    ],
)
def test_imports_exports_signatures_and_members_may_grow(old: str, new: str) -> None:
    assert only_stubs(OLD, OLD.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("def add(a, b=0):", "def add(a, b=0, c=0):", "STUB:TDD"),
        ("def add(a, b=0):", "def add(a, b=0, c=compute()):  # STUB:TDD", "default"),
        ("def add(a, b=0):", "def add(a, b=0, *, c):  # STUB:TDD", "default"),
        ("def add(a, b=0):", "def add(a, b=0, len=0):  # STUB:TDD", "`len`"),
        ("def add(a, b=0):", "def add(a, b=0, *args):  # STUB:TDD", "`add`"),
        ("    amount: int = 0\n", "    amount: int = 0\n    owner: str = ''\n", "STUB:TDD"),
        (
            "    @property\n",
            "    def __eq__(self, o): return True  # STUB:TDD\n\n    @property\n",
            "`__eq__`",
        ),
        ("    @property\n", "    def amount(self): ...  # STUB:TDD\n\n    @property\n", "`amount`"),
    ],
)
def test_but_not_every_growth_is_a_stub(old: str, new: str, why: str) -> None:
    found = only_stubs(OLD, OLD.replace(old, new))
    assert found is not None
    assert why in found.why


@pytest.mark.parametrize("before", [None, "", "# empty\n"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a comment\n",
        "from .calc import add\n\n__all__ = ['add']\n",
        MODULE,
        '"""Money. STUB:TDD"""\n\ndef a(): raise NotImplementedError\n',
        "def a(): ...  # STUB:TDD\n",
        "\ufeff# STUB:TDD\ndef a(): ...\n",
    ],
)
def test_a_new_module(before: str | None, text: str) -> None:
    assert only_stubs(before, text) is None


def test_a_new_module_without_a_mark() -> None:
    assert only_stubs(None, "import a\n\ndef f(): ...\n") == StubFinding(3, "`f` is not marked STUB:TDD")


def test_a_marker_below_the_top_does_not_cover_the_module() -> None:
    assert only_stubs(None, "import a\n# STUB:TDD\ndef f(): ...\ndef g(): ...\n") is not None


def test_an_old_file_that_does_not_parse_cannot_be_compared() -> None:
    assert only_stubs("def (", "def f(): ...  # STUB:TDD") is not None


@pytest.mark.parametrize("text", ["x = '\udce9'", "x = 1\0", "(" * 500 + ")" * 500])
def test_what_python_cannot_read_is_found(text: str) -> None:
    assert only_stubs(None, text) is not None


def test_odd_line_ends_keep_the_markers_in_place() -> None:
    text = "A: str = 'x\x0cy\u2028z'  # STUB:TDD\r\n\x0c\r\ndef f(): ...  # STUB:TDD\r"
    assert only_stubs(OLD, OLD + text) is None


def test_an_invalid_escape_is_no_warning() -> None:
    assert only_stubs(None, "# STUB:TDD\ndef f(): return '\\d'\n") is None


STATEMENTS = st.sampled_from(
    [
        "print('x')",
        "x = compute()",
        "LIMIT += 1",
        "del os",
        "for i in range(3): pass",
        "while True: break",
        "with open('x') as f: pass",
        "try:\n    import x\nexcept ImportError:\n    x = None",
        "assert LIMIT",
        "raise SystemExit",
        "lambda: 0",
        "sub = lambda a: a",
        "os.environ['A'] = 'b'",
        "(y := 3)",
        "def f(a):  # STUB:TDD\n    return a",
        "def f(a):  # STUB:TDD\n    if a: return 1",
        "class C:  # STUB:TDD\n    x = compute()",
        "@app.route('/')\ndef f(): ...  # STUB:TDD",
    ]
)


@given(STATEMENTS, st.integers(0, 100), st.booleans())
def test_any_statement_that_is_no_stub_is_found_wherever_it_stands(
    statement: str, at: int, marked: bool
) -> None:
    blocks = OLD.split("\n\n\n")
    more = f"# STUB:TDD\n{statement}" if marked else statement
    blocks.insert(at % (len(blocks) + 1), more)
    assert only_stubs(OLD, "\n\n\n".join(blocks)) is not None
    assert only_stubs(None, f"# STUB:TDD\n{statement}\n") is not None


STUBS = st.integers(0, 99).flatmap(
    lambda n: st.sampled_from(
        [
            f"def s{n}(a, b=1): ...  # STUB:TDD",
            f"# STUB:TDD\nclass S{n}:\n    x: int\n",
            f"import m{n}",
            f"C{n}: int = 3  # STUB:TDD",
        ]
    )
)


@given(st.lists(st.tuples(STUBS, st.integers(0, 9)), unique_by=lambda pair: pair[0]))
def test_any_stubs_may_stand_anywhere_between_what_exists(stubs: list[tuple[str, int]]) -> None:
    blocks = OLD.split("\n\n\n")
    for stub, at in stubs:
        blocks.insert(1 + at % len(blocks), stub)
    assert only_stubs(OLD, "\n\n\n".join(blocks)) is None
