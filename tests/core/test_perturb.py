from __future__ import annotations

import ast

import pytest

from verdigris.core.perturb import changed
from verdigris.core.textedit import Source


def swapped(text: str) -> str | None:
    """The text of one expression, changed."""
    source = Source(text)
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.Expr)
    edit = changed(node.value, source)
    return None if edit is None else source.apply([edit])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("5", "1000018"),
        ("-5", "-1000018"),
        ("0", "1000003"),
        ("1.5", "1000007.5"),
        ("1e308", "0.0"),
        ("2j", "(1000003+2j)"),
        ("True", "False"),
        ("None", "True"),
        ("...", "None"),
        ("'abc'", "'abc~x'"),
        ("'a' 'b'", "'a' 'b~x'"),
        ("b'abc'", "b'abc~x'"),
        ('"abc"', '"abc~x"'),
        ("r'a\\d'", "r'a\\d~x'"),
        ("'''a\nb'''", "'''a\nb~x'''"),
        ("''", "'~x'"),
        ("f'{x}y'", "(f'{x}y' '~x')"),
        ("[1, 2]", "[1000006, 2]"),
        ("[x, 2]", "[x, 1000009]"),
        ("(1,)", "(1000006,)"),
        ("{1}", "{1000006}"),
        ("[]", "['~x']"),
        ("()", "('~x',)"),
        ("{}", "{'~x': None}"),
        ("set()", "{'~x'}"),
        ("{'a': 1}", "{'a': 1000006}"),
        ("{'a': x}", "{'a~x': x}"),
        ("[[x], ['é', 1]]", "[[x], ['é~x', 1]]"),
        ("frozenset([1])", "frozenset([1000006])"),
        ("dict(a=1)", "dict(a=1000006)"),
        ("approx(5)", "approx(1000018)"),
        ("pytest.approx(5, abs=1_000_000)", "pytest.approx(11000018, abs=1_000_000)"),
        ("approx([1.0, 2.0], rel=0.1)", "approx([1000006.0, 2.0], rel=0.1)"),
    ],
)
def test_a_literal_becomes_another_of_its_type(before: str, after: str) -> None:
    assert swapped(before) == after
    assert eval(before, NAMES) != eval(after, NAMES)


NAMES = {"x": 7, "approx": pytest.approx, "pytest": pytest}


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "f(5)",
        "[x]",
        "[]+x",
        "approx(5, abs=tolerance)",
        "approx(5, rel=1)",
        "Decimal('1.5')",
        "sign(3)",
        "[*x]",
    ],
)
def test_what_is_no_literal_stays(text: str) -> None:
    assert swapped(text) is None
