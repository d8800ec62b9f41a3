from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from verdigris.languages.registry import reader_of

if TYPE_CHECKING:
    from verdigris.languages.findings import Mutated

SLUG = 'import re\n\n\ndef slugify(text):\n    return re.sub(r"[^a-z]+", "-", text.lower()).strip("-")\n'


def mutate(before: str, after: str) -> Mutated:
    return reader_of("m.py").source.mutants({"m.py": before.encode()}, {"m.py": after.encode()})


def told(before: str, after: str) -> list[str]:
    made = mutate(before, after)
    for mutant in made.mutants:
        assert ast.dump(ast.parse(mutant.data)) != ast.dump(ast.parse(after))
    return [mutant.what for mutant in made.mutants]


def test_a_new_condition_is_made_always_true_and_always_false() -> None:
    after = SLUG.replace('.strip("-")', '.strip("-") if text else ""').replace("return", "return")
    found = told(SLUG, after)
    assert found[:2] == [
        "`text` → `((text) or True)`: no test notices",
        "`text` → `((text) and False)`: no test notices",
    ]


def kinds(before: str, after: str) -> list[str]:
    return [mutant.kind for mutant in mutate(before, after).mutants]


@pytest.mark.parametrize(
    ("parameter", "answer", "kind"),
    [("_b", "a", "literal"), ("b", "(a, b)", "default"), ("b", "locals()", "default")],
)
def test_a_parameter_that_the_body_does_not_use_is_no_decision(
    parameter: str, answer: str, kind: str
) -> None:
    before = "def f(a):\n    return a\n"
    assert kinds(before, f"def f(a, {parameter}=None):\n    return {answer}\n") == [kind]


def test_the_text_by_which_an_object_is_shown_is_no_answer() -> None:
    before = "class A:\n    pass\n"
    after = "class A:\n    def NAME(self):\n        return 'A()' if self.b else 'A'\n"
    assert kinds(before, after.replace("NAME", "__repr__")) == ["decision", "decision", "literal", "literal"]
    assert kinds(before, after.replace("NAME", "__str__")) == ["decision", "decision", "answer", "answer"]


def test_what_a_flag_keeps_for_type_checkers_is_not_asked() -> None:
    before = "import typing\n\n\ndef f(a):\n    return a\n"
    after = before.replace("\n\n\n", "\n\nif IS_TYPE_CHECKING:\n    from x import Y\n\n\n", 1)
    assert kinds(before, after) == []


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("sys.platform == 'win32'", 0),
        ("sys.version_info >= (3, 8)", 0),
        ("not sys.platform.startswith('win')", 0),
        ("sys.platform == 'win32' or a", 2),
        ("platform == 'win32'", 2),
    ],
)
def test_a_condition_that_only_the_machine_decides_is_not_asked(condition: str, count: int) -> None:
    before = "import sys\n\n\ndef f(a):\n    return a\n"
    after = before.replace("    return a", f"    if {condition}:\n        a = g(a)\n    return a")
    assert len([mutant for mutant in mutate(before, after).mutants if mutant.kind == "decision"]) == count


def test_the_parts_of_a_value_with_a_fallback_are_taken_out() -> None:
    found = told("def f(a):\n    return a\n", 'def f(a):\n    return a or "none"\n')
    assert '`a or "none"` → `(a)`: no test notices' in found


def test_a_moved_boundary_is_moved_back() -> None:
    before = "def f(a):\n    if a < 3:\n        return 1\n    return 2\n"
    assert "`a <= 3` → `a < 3`: no test notices" in told(before, before.replace("<", "<="))


def test_a_new_parameter_is_held_at_its_default() -> None:
    after = SLUG.replace("(text)", '(text, sep="-")').replace('"-", text', "sep, text")
    found = mutate(SLUG, after).mutants
    assert [m.what for m in found] == [
        'the parameter `sep` of `slugify` is new, and no test needs more than `"-"`'
    ]
    assert b'    sep = "-"\n    return re.sub' in found[0].data


def test_a_new_number_is_another_one() -> None:
    assert told("def f(a):\n    return a\n", "def f(a):\n    return a[2]\n") == ["`2` → `3`: no test notices"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "def f(a):\n    if a > 1:\n        return 2\n    return 3\n",
            "def g(b):\n    if b > 1:\n        return 2\n    return 3\n",
            id="renamed",
        ),
        pytest.param(
            "def f(a, b):\n    if a and b == 1:\n        return 2\n    return 3\n",
            "def _both(x, y):\n    return x if x and y == 1 else None\n\n\n"
            "def f(a, b):\n    return _extracted(a, b)\n",
            id="extracted",
        ),
        pytest.param(
            "def f(xs):\n    out = []\n    for x in xs:\n        if x > 1:\n            out.append(x)\n"
            "    return out\n",
            "def f(xs):\n    return [x for x in xs if x > 1]\n",
            id="loop becomes comprehension",
        ),
        pytest.param(
            "def f(a):\n    return a * 60\n",
            "SECONDS = 60\n\n\ndef f(a):\n    return a * SECONDS\n",
            id="constant extracted",
        ),
        pytest.param(
            "def f(a):\n    raise ValueError('no')\n",
            "def f(a):\n    raise ValueError('not so')\n",
            id="message",
        ),
    ],
)
def test_the_same_decisions_elsewhere_need_no_change(before: str, after: str) -> None:
    assert told(before, after) == []


def test_a_condition_on_another_name_is_a_changed_one() -> None:
    before = "def f(a, b):\n    if a:\n        return b\n    return a\n"
    assert told(before, before.replace("if a", "if b"))


def test_what_stands_in_no_readable_file_is_left_alone() -> None:
    assert mutate("x = (", "x = ) if").mutants == ()


def test_text_beyond_ascii_is_changed_at_the_right_place() -> None:
    (mutant,) = mutate('x = "é"\n', 'x = "é"; y = 4\n').mutants
    assert mutant.data.decode().startswith('x = "é"; y = 5\n')
