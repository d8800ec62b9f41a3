from __future__ import annotations

from collections import Counter
from decimal import Decimal
from enum import Enum
from random import Random

import pytest

from support.alive import LIVENESS, PATH
from verdigris.languages.probes import Try, changed_texts


class Colour(Enum):
    RED = 1
    GREEN = 2


NAMES = {"x": 7, "approx": pytest.approx, "pytest": pytest, "Colour": Colour, "Decimal": Decimal}


def changed(text: str, seed: int, known: str = "()") -> tuple[bool, list[str]]:
    """Whether an expected value only makes way for a number and for a text, and what it becomes.

    `known`: a tuple of what else the suite expects.
    """
    others = [f"    assert g() == {one}\n" for one in known.strip("(,)").split(", ") if one]
    body = f"def test_it():\n    assert f() == {text}\ndef test_known():\n    pass\n{''.join(others)}"
    data = {PATH: body.encode()}
    probes = LIVENESS.probes(data, [f"{PATH}::test_it", f"{PATH}::test_known"], Random(seed), 9)
    probe = next(probe for probe in probes if probe.line == 2)
    texts = [changed_texts(data, [Try(probe, change)])[PATH].decode() for change in probe.changes]
    return probe.joint, [text.splitlines()[1].partition(" == ")[2] for text in texts]


def drawn(text: str, seed: int, known: str = "()") -> list[str]:
    is_pair, texts = changed(text, seed, known)
    return [] if is_pair else texts


LITERALS = """
5
-5
x * 2
x * 6 // 5
3 + x % 4
0
10
1.5
-0.25
1e308
2j
True
None
'abc'
'a' 'b'
b'abc'
r'a\\d'
''
'hi-there'
'1.50'
f'{x}y'
[1, 2]
[x, 2]
(1,)
(1, 2)
{1}
{1, 2}
[]
()
{}
set()
{'a': 1}
{'a': x}
[[x], ['é', 1]]
frozenset([1])
frozenset([1, 1, 2])
dict(a=1)
Decimal('1.5')
approx(5)
approx([1.0, 2.0], rel=0.1)
pytest.approx(5, abs=1_000_000)
""".strip().split("\n")


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_becomes_others_that_are_not_equal_to_it(text: str) -> None:
    for seed in range(20):
        is_pair, new = changed(text, seed, "('abd', 'bac', 6, 7, 2.5, b'xy')")
        assert new
        equal = [other for other in new if eval(text, NAMES) == eval(other, NAMES)]
        assert equal != new
        assert is_pair or not equal


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("10", {"11"}),
        ("9", {"8"}),
        ("100", {"101"}),
        ("0", {"1"}),
        ("True", {"False"}),
        ("1.5", {"1.4", "1.6", "0.5", "2.5"}),
        ("'ab'", {"'ba'", "'aa'", "'bb'"}),
        ("'7'", {f"'{n}'" for n in range(10)}),
    ],
)
def test_the_first_draws_are_near_and_as_long(text: str, near: set[str]) -> None:
    for seed in range(20):
        assert drawn(text, seed)[0] in near


def test_what_the_suite_expects_elsewhere_is_drawn_too() -> None:
    found = Counter(other for seed in range(40) for other in drawn("'hi-there'", seed, "('a-b', 12)"))
    assert found["'a-b'"] > 30
    assert "12" not in found
    first = {drawn("'hi-there'", seed, "('a-b',)")[0] == "'a-b'" for seed in range(20)}
    assert first == {True, False}


def test_another_member_of_the_same_enumeration() -> None:
    assert drawn("Colour.RED", 1, "(Colour.RED, Colour.GREEN)") == ["Colour.GREEN"]
    assert drawn("logging.WARN", 1, "(logging.WARNING,)") == []


@pytest.mark.parametrize("seed", range(20))
def test_no_draw_is_one_that_an_own_type_may_rightly_take_for_the_same(seed: int) -> None:
    """Case, punctuation, zeros, a counter's zero, the order of items, a tolerance."""
    assert not {"'ABC'", "'a.b.c'"} & set(drawn("'abc'", seed, "('ABC', 'a.b.c')"))
    assert "'1.0.0'" not in drawn("'1.0'", seed, "('1.0.0',)")
    for other in drawn("{'a': 1, 'b': 0}", seed):
        assert Counter(eval(other)) != Counter(a=1)
    for other in drawn("[1, 2, 3]", seed, "(1, 2, 3)"):
        assert sorted(eval(other)) != [1, 2, 3]
        assert set(eval(other)) != {1, 2, 3}
    for other in drawn("approx(4, abs=10)", seed, "(5, 90)"):
        assert abs(eval(other, NAMES).expected - 4) > 10


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "f(5)",
        "[x]",
        "{f(1), f(2)}",
        "[]+x",
        "approx(5, abs=tolerance)",
        "approx(5, rel=1)",
        "sign(3)",
        "[*x]",
    ],
)
def test_what_is_no_literal_stays(text: str) -> None:
    assert drawn(text, 1) == []


@pytest.mark.parametrize("text", ["'ab' * 2", "[0] * 3", "x / 2", "x ** 2", "x - y", "2.5 * x", "f'{x}' * 2"])
def test_what_need_not_be_a_whole_number_does_not_become_one_more(text: str) -> None:
    assert drawn(text, 1) == []
