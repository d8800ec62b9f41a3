from __future__ import annotations

import pytest

from verdigris.languages.python.load_order import keep_order
from verdigris.languages.registry import reader_of

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
    found = reader_of("a.py").compare_modules(before, after)
    assert found is not None
    assert found.more


@pytest.mark.parametrize("reader", ["B = [A]\n", "print(A)\n", f"{F}B = f()\n"])
def test_who_says_a_name_that_is_bound_otherwise_is_known_wherever_it_stands(reader: str) -> None:
    """Then it is the name's difference, and who says it while the module is loaded is told by that."""
    language = reader_of("a.py")
    after = f"{reader}def A():\n    return 1\n"
    found, said = language.compare_modules(f"from b import A\n{reader}", after), language.module_words(after)
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
