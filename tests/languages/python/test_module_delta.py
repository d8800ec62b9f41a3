"""How two texts of a module differ, as far as tests could notice."""

from __future__ import annotations

from textwrap import dedent

import pytest

from verdigris.core.reuse.facts import ModuleDelta, ModuleWords
from verdigris.languages.python.module_delta import compare_modules, keep_order, module_words, name_lines

BASE = '''
import re
from lib import thing

LIMIT = 3


def plain(a, b=1):
    """Adds."""
    return a + b


class Counter:
    size = 1

    def count(self):
        return self.size


@register
def registered():
    return 1
'''


def compare(before: str, after: str) -> ModuleDelta:
    found = compare_modules(dedent(before), dedent(after))
    assert found is not None
    return found


def edit(old: str, new: str) -> ModuleDelta:
    assert old in BASE
    return compare(BASE, BASE.replace(old, new))


def test_lines_that_move_and_comments_are_no_difference() -> None:
    assert compare(BASE, "# a comment\n\n\n" + BASE) == ModuleDelta()


def test_another_body_is_a_difference_of_that_function_alone() -> None:
    assert edit("return a + b", "return b + a") == ModuleDelta(bodies=frozenset({"plain"}))
    assert edit("return self.size", "return 2") == ModuleDelta(bodies=frozenset({"Counter.count"}))


def test_documentation_is_told_apart() -> None:
    assert edit("Adds.", "Sums.") == ModuleDelta(notes=frozenset({"plain"}))


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("b=1", "b=2", "plain"),
        ("LIMIT = 3", "LIMIT = 4", "LIMIT"),
        ("import re\n", "import re\nimport json\n", "json"),
        ("from lib import thing", "from lib import thing, other", "other"),
        ("\nclass Counter", "\ndef fresh():\n    return 1\n\n\nclass Counter", "fresh"),
        ("\nclass Counter", "\nclass Fresh:\n    pass\n\n\nclass Counter", "Fresh"),
        ("    size = 1\n", "    size = 1\n\n    def fresh(self):\n        return 1\n", "fresh"),
    ],
)
def test_a_name_that_means_something_else_is_told(old: str, new: str, name: str) -> None:
    delta = edit(old, new)
    assert (delta.more, name in delta.names) == (False, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    size = 1\n", "    size = 1\n\n    def __eq__(self, other):\n        return True\n"),
        ("    size = 1\n", "    size = compute()\n"),
        ("    size = 1\n", "    size = 1\n\n    def keys(self):\n        return []\n"),
    ],
)
def test_what_others_look_for_in_a_class_is_a_difference_of_the_class(old: str, new: str) -> None:
    delta = edit(old, new)
    assert delta.classes == {"Counter"}
    assert "Counter" in delta.names
    assert "Counter.count" in delta.bodies


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = compute()"),
        ("LIMIT = 3", "LIMIT = 3\nprint(LIMIT)"),
        ("@register\n", ""),
        ("from lib import thing", "from other import thing"),
        ("class Counter:", "class Counter(Base):"),
        ("\nclass Counter", "\ndef __getattr__(name):\n    return 1\n\n\nclass Counter"),
        ("\nclass Counter", "\n@register\ndef fresh():\n    return 1\n\n\nclass Counter"),
        ("def registered():", "def registered(a):"),
    ],
)
def test_what_may_do_something_else_when_it_is_loaded_is_more(old: str, new: str) -> None:
    assert edit(old, new).more


MADE = """
import re
from typing import Union

NAME = VALUE


def use():
    return NAME
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("re.compile('a')", "re.compile('b', re.X | re.I)"),
        ("frozenset({1, 2})", "frozenset({1, 3})"),
        ("{'a': re.compile('x')}", "{'a': re.compile('y'), 'b': re.compile(OTHER)}"),
        ("Union[int, str]", "Union[int, list[str], None]"),
        ("('a' + 'b', tuple([1]))", "set()"),
        ("OTHER", "ANOTHER"),
        ("re.Pattern", "re.Match"),
        ("classmethod(re.compile)", "staticmethod(OTHER)"),
    ],
)
def test_a_value_that_is_made_otherwise_is_a_difference_of_its_name(old: str, new: str) -> None:
    found = compare(MADE.replace("VALUE", old), MADE.replace("VALUE", new))
    assert found == ModuleDelta(names=frozenset({"NAME"}), variables=frozenset({"NAME"}))


@pytest.mark.parametrize(
    ("new", "more"),
    [
        ("make('b')", ""),
        ("re.sub('a', 'b', 'c')", ""),
        ("re.compile(make())", ""),
        ("frozenset(OTHER)", ""),
        ("(*OTHER,)", ""),
        ("{**OTHER}", ""),
        ("OTHER[1]", ""),
        ("OTHER.part", ""),
        ("property(make())", ""),
        ("re.Match", "import lib as re"),
        ("re.Match", "re.Match = note()"),
        ("OTHER | 1", ""),
        ("re.compile('b')", "import lib as re"),
        ("re.compile('b')", "from lib import *"),
        ("re.compile('b')", "re.compile = note"),
        ("frozenset({2})", "def frozenset(items): register(items)"),
        ("Union[int]", "class Union: pass"),
    ],
)
def test_a_value_whose_making_may_do_something_is_more(new: str, more: str) -> None:
    old = MADE.replace("\n\nNAME", f"\n{more}\n\nNAME")
    assert compare(old.replace("VALUE", "1"), old.replace("VALUE", new)).more


def words_of(text: str) -> ModuleWords:
    said = module_words(dedent(text))
    assert said is not None
    return said


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (MADE.replace("VALUE", "re.compile(OTHER)"), "NAME"),
        (MADE.replace("VALUE", "OTHER"), "NAME"),
        ("from lib import OTHER as alias\n", "alias"),
        ("def f(x=OTHER):\n    pass\n", "f"),
        ("@pytest.mark.parametrize('x', OTHER)\ndef f(x):\n    pass\n", "f"),
        ("class Box:\n    size = (1, OTHER)\n", "Box.size"),
        ("class Box:\n    def f(self, x=OTHER):\n        pass\n", "Box.f"),
    ],
)
def test_what_a_name_is_made_of_is_told_by_that_name(text: str, made: str) -> None:
    said = words_of(text)
    assert "OTHER" not in said.outside
    assert "OTHER" in said.made[made]


@pytest.mark.parametrize(
    "text",
    [
        "register(OTHER)\n",
        "NAME = make(OTHER)\n",
        "__getattr__ = OTHER\n",
        "pytest_plugins = [OTHER]\n",
        "@register(OTHER)\ndef f():\n    pass\n",
        "def f(x=make(OTHER)):\n    pass\n",
        "def f(x: make(OTHER)):\n    pass\n",
        "@pytest.mark.parametrize('x', make(OTHER))\ndef f(x):\n    pass\n",
        "class Box(OTHER):\n    pass\n",
        "class Box(Base):\n    def f(self, x=OTHER):\n        pass\n",
        "class Box:\n    size = make(OTHER)\n",
    ],
)
def test_what_is_said_where_more_may_be_done_is_said_outside(text: str) -> None:
    assert "OTHER" in words_of(text).outside


STATS = """
from dataclasses import dataclass
from enum import Enum


def f():
    return 1
"""


@pytest.mark.parametrize(
    "added",
    [
        "@dataclass\nclass Stats:\n    size: int = 0\n",
        "@dataclass(frozen=True)\nclass Stats:\n    size: int\n",
        "class Stats(Enum):\n    ONE = 1\n",
    ],
)
def test_a_class_of_the_librarys_making_may_come_and_go(added: str) -> None:
    for texts in ((STATS, STATS + added), (STATS + added, STATS)):
        found = compare(*texts)
        assert (found.more, "Stats" in found.names) == (False, True)


def test_a_field_of_a_data_class_is_a_difference_of_the_class() -> None:
    text = STATS + "@dataclass\nclass Stats:\n    size: int = 0\n\n    def f(self):\n        return 1\n"
    found = compare(text, text.replace("size: int = 0", "size: int = 0\n    least: int = 1"))
    assert (found.more, set(found.classes), "Stats.f" in found.bodies) == (False, {"Stats"}, True)


@pytest.mark.parametrize(
    "head",
    [
        "from abc import ABC, abstractmethod\n\n\nclass Shape(ABC):\n",
        "from typing import Protocol, runtime_checkable\n\n\n@runtime_checkable\nclass Shape(Protocol):\n",
    ],
)
def test_a_method_more_of_what_others_must_fit_is_a_difference_of_the_class(head: str) -> None:
    """Who fails to have it, or is no longer an instance, does not say its name."""
    text = head + "    def area(self): ...\n"
    found = compare(text, text + "    def edge(self): ...\n")
    assert (found.more, set(found.classes), "Shape" in found.names) == (False, {"Shape"}, True)


TESTS = """
from lib import helper


class TestBox(Base):
    pass


class TestLid:
    def test_one(self):
        pass


def check():
    pass
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def check", "test_check = helper\n\n\ndef check"),
        ("def check", "test_check = None\n\n\ndef check"),
        ("import helper", "import helper, test_check"),
        ("import helper", "import helper, Other as TestOther"),
    ],
)
def test_a_test_that_is_bound_by_a_plain_statement_is_more(old: str, new: str) -> None:
    assert compare(TESTS, TESTS.replace(old, new)).more


@pytest.mark.parametrize("new", ["test_two = test_one", "test_one = None"])
def test_in_a_class_it_is_a_difference_of_the_class(new: str) -> None:
    found = compare(TESTS, TESTS.replace("class TestLid:\n", f"class TestLid:\n    {new}\n\n"))
    assert (found.more, set(found.classes)) == (False, {"TestLid"})


@pytest.mark.parametrize("new", ["test_data = [1]", "TEST_SIZE = 3", "import testing_tools"])
def test_what_only_has_such_a_name_is_none(new: str) -> None:
    text = "import testing_tools\n" + TESTS
    assert not compare(text, f"{text}{new}\n").more


@pytest.mark.parametrize(
    "added",
    [
        "@register\nclass Stats:\n    pass\n",
        "@dataclass\nclass Stats(Base):\n    pass\n",
        "@dataclass(make())\nclass Stats:\n    pass\n",
    ],
)
def test_a_class_that_others_may_hear_of_is_more(added: str) -> None:
    assert compare(STATS, STATS + added).more


def test_a_decorator_that_only_has_the_librarys_name_is_more() -> None:
    text = STATS.replace("from dataclasses", "from lib")
    assert compare(text, text + "@dataclass\nclass Stats:\n    pass\n").more


@pytest.mark.parametrize(("names", "more"), [("'queue', 'threading'", False), ("'queue', 'lib'", True)])
def test_modules_of_the_library_may_be_loaded_later(names: str, more: bool) -> None:
    text = "__lazy_modules__ = frozenset({'queue'})\n\nimport queue\n"
    assert compare(text, text.replace("'queue'}", f"{names}}}")).more is more


def test_a_function_that_becomes_a_generator_is_defined_otherwise() -> None:
    delta = edit("return a + b", "yield a + b")
    assert (delta.bodies, delta.names) == (frozenset({"plain"}), frozenset({"plain"}))


def test_a_name_that_is_defined_twice_is_one_function() -> None:
    text = "if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    assert compare(text, text.replace("2", "3")).bodies == {"f"}


def test_a_line_belongs_to_the_outermost_function_that_holds_it() -> None:
    text = "X = lambda: 1\n\n@deco\ndef f():\n    def g():\n        return 1\n    return g\n"
    assert name_lines(text, [1, 3, 5, 7, 9]) == {1: "", 3: "f", 5: "f", 7: "f", 9: ""}


def test_nothing_is_told_of_what_cannot_be_parsed() -> None:
    broken = "def f(:\n"
    assert (module_words(broken), name_lines(broken, [1])) == (None, None)
    assert compare_modules(broken, "x = 1\n") is None
    assert compare_modules("x = 1\n", broken) is None


F = "def f():\n    return A\n"
G = "def g():\n    return 2\n"
TYPED = "def h(x: A):\n    return x\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A = 1\nB = A\n", "B = A\nA = 1\n"),
        ("A = 1\nB = [A]\n", "B = [A]\nA = 1\n"),
        ("A = 1\nprint(A)\n", "print(A)\nA = 1\n"),
        (f"{F}A = 1\nB = f()\n", f"{F}B = f()\nA = 1\n"),
        (f"{G}B = g()\n", f"B = g()\n{G}"),
        (f"A = 1\n{TYPED}", f"{TYPED}A = 1\n"),
        ("A = 1\nclass C:\n    x = A\n", "class C:\n    x = A\nA = 1\n"),
        ("A = 1\nfrom . import other\n", "from . import other\nA = 1\n"),
        ("import a\nA = a\n", "A = a\nimport a\n"),
        ("A = 1\nB = A\nA = 2\n", "A = 1\nA = 2\nB = A\n"),
    ],
)
def test_what_moves_across_a_statement_that_may_read_it_is_a_difference(before: str, after: str) -> None:
    assert not keep_order(before, after)
    found = compare_modules(before, after)
    assert found is not None
    assert found.more


@pytest.mark.parametrize("reader", ["B = [A]\n", "print(A)\n", f"{F}B = f()\n"])
def test_who_says_a_name_that_is_bound_otherwise_is_known_wherever_it_stands(reader: str) -> None:
    """Then it is the name's difference, and who says it while the module is loaded is told by that."""
    after = f"{reader}def A():\n    return 1\n"
    found, said = compare_modules(f"from b import A\n{reader}", after), module_words(after)
    assert found is not None
    assert said is not None
    assert "A" in found.names or found.more
    assert "A" in said.outside | said.made.get("B", frozenset()) | said.functions.get("f", frozenset())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A = 1\nB = 2\n", "B = 2\nA = 1\n"),
        (f"{F}{G}", f"{G}{F}"),
        (f"A = 1\n{F}", f"{F}A = 1\n"),
        ("import a\nimport b\n", "import b\nimport a\n"),
        ("A = 1\nB = A\n", "A = 1\nNEW = 3\nB = A\n"),
        (f"{TYPED}{G}", f"{G}{TYPED}"),
        ("import a\nA = 1\nprint(A)\n", "import a\nimport b\nA = 1\nprint(A)\n"),
    ],
)
def test_what_nobody_reads_meanwhile_may_stand_in_any_order(before: str, after: str) -> None:
    assert keep_order(before, after)
