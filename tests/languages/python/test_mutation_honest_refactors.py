"""Honest refactors, and which of their changes could get them refused: none, where the code says the same."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from verdigris.languages.registry import reader_of

if TYPE_CHECKING:
    from verdigris.languages.findings import Mutant


def refusing(before: str, after: str) -> list[str]:
    return [m.what for m in _mutants(before, after) if not m.weak]


def noting(before: str, after: str) -> list[str]:
    return [m.what for m in _mutants(before, after) if m.weak]


def _mutants(before: str, after: str) -> tuple[Mutant, ...]:
    sides = ({"m.py": dedent(text).encode()} for text in (before, after))
    return reader_of("m.py").source.mutants(*sides).mutants


TWO_CLASSES = """
class Box:
    def __init__(self, width=1, label=None):
        self.width, self.label = width, label

class Dot:
    def __init__(self, x, colour="red"):
        self.x, self.colour = x, colour
"""
TWO_READERS = """
class Box:
    def get(self, n):
        return n

    def read(self):
        if self.get(1) > 2:
            return 1
        return 2

class Dot:
    def get(self, n):
        return n

    def read(self):
        if self.get(1) > 3:
            return 1
        return 2
"""
OVERLOADED = """
@overload
def f(a: int, deep: bool = False) -> int: ...
@overload
def f(a: str) -> str: ...
def f(a, deep=False):
    return g(a, deep)
"""
HONEST = {
    "a literal becomes an item of two lists": (
        """
        def read(text):
            if text.startswith("//"):
                first, _, rest = text.partition("\\n")
                text = rest.replace(first[2:], ",")
            if not text:
                return []
            return [int(n) for n in text.replace("\\n", ",").split(",")]
        """,
        """
        def read(text):
            separators, body = parts(text)
            for separator in separators:
                body = body.replace(separator, ",")
            return [int(n) for n in body.split(",")] if body else []

        def parts(text):
            if not text.startswith("//"):
                return ["\\n"], text
            first, _, body = text.partition("\\n")
            return ["\\n", first[2:]], body
        """,
    ),
    "a literal becomes a constant": (
        "def f(a):\n    return a * 60\n",
        "SECONDS = 60\n\ndef f(a):\n    return a * SECONDS\n",
    ),
    "a literal becomes a default": (
        "def f(xs):\n    return '-'.join(xs)\n",
        "def f(xs, between='-'):\n    return between.join(xs)\n",
    ),
    "a literal becomes what a helper is given": (
        "def f(xs):\n    return '-'.join(xs)\n",
        "def f(xs):\n    return _f(xs, '-')\n\ndef _f(xs, between):\n    return between.join(xs)\n",
    ),
    "a comparison is mirrored": (
        "def f(x):\n    if x > 0:\n        return 'yes'\n    return 'no'\n",
        "def f(x):\n    if 0 < x:\n        return 'yes'\n    return 'no'\n",
    ),
    "a negation is pushed in": (
        "def f(a, b):\n    if not (a == b):\n        return 'yes'\n    return 'no'\n",
        "def f(a, b):\n    if a != b:\n        return 'yes'\n    return 'no'\n",
    ),
    "a negation is taken apart": (
        "def f(a, b):\n    if not (a and b):\n        return 'yes'\n    return 'no'\n",
        "def f(a, b):\n    if not a or not b:\n        return 'yes'\n    return 'no'\n",
    ),
    "no length is nothing": (
        "def f(xs):\n    if len(xs) == 0:\n        return 'none'\n    return xs[-1]\n",
        "def f(xs):\n    if not xs:\n        return 'none'\n    return xs[-1]\n",
    ),
    "nothing is no length": (
        "def f(xs):\n    if xs:\n        return xs[-1]\n    return 'none'\n",
        "def f(xs):\n    if len(xs) > 0:\n        return xs[-1]\n    return 'none'\n",
    ),
    "if and else change places": (
        "def f(a):\n    if a > 3:\n        return 'big'\n    else:\n        return 'small'\n",
        "def f(a):\n    if a <= 3:\n        return 'small'\n    else:\n        return 'big'\n",
    ),
    "an early return instead of a nested if": (
        """
        def f(a, b):
            if a:
                if b > 2:
                    return a + b
            return None
        """,
        """
        def f(a, b):
            if not a:
                return None
            if b <= 2:
                return None
            return a + b
        """,
    ),
    "nested ifs become one": (
        "def f(a, b):\n    if a:\n        if b:\n            return 'both'\n    return 'no'\n",
        "def f(a, b):\n    if a and b:\n        return 'both'\n    return 'no'\n",
    ),
    "a loop becomes a comprehension": (
        """
        def f(xs):
            out = []
            for x in xs:
                if x <= 1:
                    continue
                out.append(x)
            return out
        """,
        "def f(xs):\n    return [x for x in xs if x > 1]\n",
    ),
    "a chain becomes a table": (
        """
        def f(k):
            if k == "a":
                return 1
            elif k == "b":
                return 2
            return 0
        """,
        'def f(k):\n    return {"a": 1, "b": 2}.get(k, 0)\n',
    ),
    "a chain becomes a match": (
        """
        def f(k):
            if k == "a":
                return 1
            elif k == "b":
                return 2
            return 0
        """,
        """
        def f(k):
            match k:
                case "a":
                    return 1
                case "b":
                    return 2
                case _:
                    return 0
        """,
    ),
    "an f-string instead of format": (
        "def f(a, b):\n    return '{} is {}'.format(a, b)\n",
        "def f(a, b):\n    return f'{a} is {b}'\n",
    ),
    "a dataclass instead of a tuple": (
        "def f(a, b):\n    return (a, b)\n\ndef g(p):\n    return p[0] + p[1]\n",
        """
        from dataclasses import dataclass

        @dataclass(frozen=True, slots=True)
        class Pair:
            a: int
            b: int

        def f(a, b):
            return Pair(a, b)

        def g(p):
            return p.a + p.b
        """,
    ),
    "a condition gets a name": (
        "def f(p):\n    if p.age >= 18 and p.member:\n        return 'in'\n    return 'out'\n",
        """
        def f(p):
            adult = p.age >= 18
            if adult and p.member:
                return 'in'
            return 'out'
        """,
    ),
    "a condition becomes a function": (
        "def f(p):\n    if p.age >= 18 and p.member:\n        return 'in'\n    return 'out'\n",
        """
        def may_enter(person):
            return person.age >= 18 and person.member

        def f(p):
            if may_enter(p):
                return 'in'
            return 'out'
        """,
    ),
    "a condition becomes a method of a name that another class has too": (
        """
        class Door:
            def ok(self):
                return self.open > 2

        class Gate:
            def pass_(self, p):
                if self.width >= 18 and self.free:
                    return 'in'
                return 'out'
        """,
        """
        class Door:
            def ok(self):
                return self.open > 2

        class Gate:
            def pass_(self, p):
                if self.ok():
                    return 'in'
                return 'out'

            def ok(self):
                return self.width >= 18 and self.free
        """,
    ),
    "two comparisons become a chain": (
        "def f(a):\n    if a >= 1 and a < 9:\n        return 'in'\n    return 'out'\n",
        "def f(a):\n    if 1 <= a < 9:\n        return 'in'\n    return 'out'\n",
    ),
    "two comparisons become one of several": (
        "def f(a):\n    if a == 'x' or a == 'y':\n        return 'in'\n    return 'out'\n",
        "def f(a):\n    if a in ('x', 'y'):\n        return 'in'\n    return 'out'\n",
    ),
    "an if becomes an expression the other way round": (
        "def f(a):\n    if not a:\n        return 'none'\n    return a.name\n",
        "def f(a):\n    return a.name if a else 'none'\n",
    ),
    "ways that are the condition itself": (
        "def f(a):\n    if a <= 3:\n        return False\n    return True\n",
        "def f(a):\n    return a > 3\n",
    ),
    "a returned comparison is mirrored": (
        "def f(a, b):\n    return a > b\n",
        "def f(a, b):\n    return b < a\n",
    ),
    "a function with a default is renamed": (
        "def f(a, times=2):\n    return a * times\n",
        "def multiplied(a, times=2):\n    return a * times\n",
    ),
    "a function and its parameter with a default are renamed": (
        "def f(a, times=2):\n    return a * times\n",
        "def multiplied(a, factor=2):\n    return a * factor\n",
    ),
    "two classes have an `__init__` of their own": (
        f"{TWO_CLASSES}\ndef f(a):\n    b = a\n    return b\n",
        f"{TWO_CLASSES}\ndef f(a):\n    c = a\n    return c\n",
    ),
    "a class whose `__init__` has defaults is renamed": (
        TWO_CLASSES,
        TWO_CLASSES.replace("Box", "Crate"),
    ),
    "classes change places": (
        TWO_CLASSES,
        TWO_CLASSES[TWO_CLASSES.index("class Dot") :] + TWO_CLASSES[: TWO_CLASSES.index("class Dot")],
    ),
    "a method is renamed, and another class has one of that name": (
        TWO_READERS,
        TWO_READERS.replace("get", "fetch", 2),
    ),
    "overloads of a function with defaults are renamed": (
        OVERLOADED,
        OVERLOADED.replace("def f", "def read"),
    ),
    "an overload is added for the type checker": (
        OVERLOADED,
        OVERLOADED.replace(
            "@overload", "@overload\ndef f(a: str, deep: None = None) -> None: ...\n@overload", 1
        ),
    ),
    "a protocol declares a default": (
        "class Reader(Protocol):\n    def read(self): ...\n",
        "class Reader(Protocol):\n    def read(self, deep: bool = False): ...\n",
    ),
    "what only a type checker reads": (
        "if TYPE_CHECKING:\n    from m import A\n",
        "if TYPE_CHECKING:\n    from m import A\n    if sys.platform == 'win32':\n        Kind = 'A'\n",
    ),
    "types get names": (
        "def f(mode):\n    return mode\n",
        """
        Mode = Literal["read", "write"]
        Way: TypeAlias = "Union[str, Path]"
        Both = Union["Mode", "Way", None]

        class Row(TypedDict, total=False):
            mode: Mode

        def f(mode: Mode):
            return mode
        """,
    ),
    "a name of `__all__` is renamed wherever it is listed": (
        "__all__ = ['f']\n__all__ += ['g']\n__all__.extend(['h'])\nf = g = h = print\n",
        "__all__ = ['e']\n__all__ += ['i']\n__all__.extend(['j'])\ne = i = j = print\n",
    ),
    "a table of functions by name follows a rename": (
        "def plus(a): ...\ndef minus(a): ...\nLISTED = ['plus', 'minus']\n",
        "def add(a): ...\ndef minus(a): ...\nLISTED = ['add', 'minus']\n",
    ),
    "a function that is looked up by name is renamed": (
        "def plus(a): ...\ndef call(a):\n    return getattr(a, 'plus')()\n",
        "def add(a): ...\ndef call(a):\n    return getattr(a, 'add')()\n",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_refactor_has_nothing_to_be_refused_for(name: str) -> None:
    assert refusing(*HONEST[name]) == []


CHEATS = {
    "another boundary": (
        "def f(a):\n    if a < 3:\n        return 'x'\n    return 'y'\n",
        "def f(a):\n    if a <= 3:\n        return 'x'\n    return 'y'\n",
        "`a <= 3` → `a < 3`",
    ),
    "another boundary of what is returned": (
        "def f(a, b):\n    return a > b\n",
        "def f(a, b):\n    return b <= a\n",
        "`b <= a` → `b < a`",
    ),
    "a predicate that another one stands before": (
        "def f(p):\n    if p.age >= 18:\n        return 'in'\n    return 'out'\n",
        """
        def ok(p):
            return p.age >= 18

        class Door:
            def ok(p):
                return p.age > 18

        def f(p):
            if Door.ok(p):
                return 'in'
            return 'out'
        """,
        "or True",
    ),
    "a method that asks something else than that of another class": (
        """
        class Door:
            def ok(self):
                return self.width >= 18

        class Gate:
            def pass_(self, p):
                if self.width >= 18:
                    return 'in'
                return 'out'
        """,
        """
        class Door:
            def ok(self):
                return self.width >= 18

        class Gate:
            def pass_(self, p):
                if self.ok():
                    return 'in'
                return 'out'

            def ok(self):
                return self.free
        """,
        "`self.ok()` → `((self.ok()) or True)`",
    ),
    "a function inside that has the name of the predicate": (
        "def f(p):\n    if p.age >= 18:\n        return 'in'\n    return 'out'\n",
        """
        def ok(p):
            return p.age >= 18

        def f(p):
            def ok(p):
                return p.vip
            if ok(p):
                return 'in'
            return 'out'
        """,
        "or True",
    ),
    "the same boundary mirrored and moved": (
        "def f(a):\n    if a < 3:\n        return 'x'\n    return 'y'\n",
        "def f(a):\n    if 3 >= a:\n        return 'x'\n    return 'y'\n",
        "`3 >= a` → `3 > a`",
    ),
    "the opposite without its ways": (
        "def f(a, b):\n    if a:\n        return b\n    return a\n",
        "def f(a, b):\n    if not a:\n        return b\n    return a\n",
        "or True",
    ),
    "and instead of or": (
        "def f(a, b):\n    if a and b:\n        return 'x'\n    return 'y'\n",
        "def f(a, b):\n    if a or b:\n        return 'x'\n    return 'y'\n",
        "and False",
    ),
    "nested, and then or": (
        "def f(a, b):\n    if a:\n        if b:\n            return 'x'\n    return 'y'\n",
        "def f(a, b):\n    if a or b:\n        return 'x'\n    return 'y'\n",
        "and False",
    ),
    "a constant becomes another that the code knows": (
        "LIMIT = 10\nSTEP = 5\n",
        "LIMIT = 5\nSTEP = 5\n",
        "`5` → `6`",
    ),
    "a returned literal becomes another that the code knows": (
        "def f(a):\n    if a:\n        return 1\n    return g(a, 0)\n",
        "def f(a):\n    if a:\n        return 0\n    return g(a, 0)\n",
        "`0` → `1`",
    ),
    "a predicate asks something else": (
        "def f(p):\n    if p.age >= 18:\n        return 'in'\n    return 'out'\n",
        """
        def ok(p):
            return p.age >= 16 or p.vip

        def f(p):
            if ok(p):
                return 'in'
            return 'out'
        """,
        "`16` → `17`",
    ),
    "a branch of literals that the code knows": (
        "def f(a):\n    return a or [0, 7]\n",
        "def f(a):\n    if a == 7:\n        return 0\n    return a or [0, 7]\n",
        "or True",
    ),
    "a parameter that nobody needs": (
        "def f(a):\n    return a\n",
        "def f(a, strict=False):\n    return a\n",
        "the parameter `strict`",
    ),
    "a parameter that nobody needs, where another class has it": (
        TWO_CLASSES,
        TWO_CLASSES.replace('x, colour="red"', 'x, colour="red", label=None'),
        "the parameter `label` of `Dot.__init__`",
    ),
    "a condition asks another method, and the old one is still there": (
        TWO_READERS,
        TWO_READERS.replace("self.get", "self.fetch", 1).replace(
            "    def read", "    fetch = get\n\n    def read", 1
        ),
        "`self.fetch(1) > 2`",
    ),
    "two methods change their names, and a condition asks the wrong one": (
        """
        class A:
            def a(self): ...
            def b(self): ...
            def f(self):
                if self.a() > 1:
                    return 5
                if self.b() > 2:
                    return 6
        """,
        """
        class A:
            def c(self): ...
            def d(self): ...
            def f(self):
                if self.c() > 1:
                    return 5
                if self.c() > 2:
                    return 6
        """,
        "or True",
    ),
    "a parameter that nobody needs, in a function that was renamed": (
        "def f(a, times=2):\n    return a * times\n",
        "def g(a, times=2, strict=False):\n    return a * times\n",
        "the parameter `strict`",
    ),
    "a string that names nothing": (
        "def f(a):\n    return a.get('plus')\n",
        "def f(a):\n    return a.get('minus')\n",
        "`'minus'` → `'minus~'`",
    ),
    "a name that another function has": (
        "def plus(a): ...\ndef minus(a): ...\ndef f(a):\n    return getattr(a, 'plus')\n",
        "def plus(a): ...\ndef minus(a): ...\ndef f(a):\n    return getattr(a, 'minus')\n",
        "`'minus'` → `'minus~'`",
    ),
    "one more name in a table that decides": (
        "ADMINS = ['ann', 'bob', 'eve']\n",
        "ADMINS = ['ann', 'bob', 'eve', 'mallory']\n",
        "`'mallory'` → `'mallory~'`",
    ),
    "a decision beside what a type checker reads": (
        "if TYPE_CHECKING:\n    A = 1\n",
        "if TYPE_CHECKING:\n    A = 1\nelse:\n    A = 2\n",
        "`2` → `3`",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_what_changes_behaviour_can_still_be_refused(name: str) -> None:
    before, after, what = CHEATS[name]
    assert any(what in found for found in refusing(before, after)), _mutants(before, after)


def test_a_boundary_of_a_condition_that_is_new_is_only_noted() -> None:
    before = "def f(a):\n    return max(a, 0)\n"
    after = "def f(a):\n    return a if a > 0 else 0\n"
    assert noting(before, after) == ["`a > 0` → `a >= 0`: no test notices", "`0` → `1`: no test notices"]
    assert refusing(before, after) == [
        "`a > 0` → `((a > 0) or True)`: no test notices",
        "`a > 0` → `((a > 0) and False)`: no test notices",
    ]


def test_one_more_name_in_a_table_of_names_that_are_looked_up_is_only_noted() -> None:
    before = (
        "KEPT = {'and_', 'not_', 'pos'}\nfound = {n: f for n, f in vars(operator).items() if n in KEPT}\n"
    )
    after = before.replace("'pos'", "'pos', 'is_none'")
    assert refusing(before, after) == []
    assert noting(before, after) == ["`'is_none'` → `'is_none~'`: no test notices"]
