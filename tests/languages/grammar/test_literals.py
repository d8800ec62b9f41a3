"""Literals that stand in for an expected one: of the same kind, alphabet and length, and never the same."""

from __future__ import annotations

import ast
from random import Random

import pytest

from verdigris.languages.grammar.literals import Pool, far_numbers, other_literals
from verdigris.languages.grammar.trees import Unparsed, parse_tree
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import reader_of


def drawn(text: str, *suite: str) -> set[str]:
    return {one for seed in range(40) for one in other_literals(text, Pool(frozenset(suite)), Random(seed))}


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("3", {"4", "2"}),
        ("0", {"1"}),
        ("9", {"8"}),
        ("99", {"98"}),
        ("255", {"254"}),
        ("127u8", {"126u8"}),
        ("72", {"73", "71", "27"}),
        ("1_000", {"1_001"}),
        ("0x1F", {"0x20", "0x1E"}),
        ("10n", {"11n"}),
        ("1.5", {"2.5", "0.5", "1.6", "1.4"}),
        ("1e-9", {"2e-9", "0e-9"}),
        ("true", {"false"}),
        ('"ab"', {'"ba"', '"aa"', '"bb"'}),
    ],
)
def test_what_is_drawn_has_the_same_form(text: str, others: set[str]) -> None:
    found = drawn(text)
    assert text not in found
    assert found >= others
    assert all(len(one) == len(text) for one in found) or text == "true"


@pytest.mark.parametrize(
    "text",
    ["'ab)' 'c'", "b'ab' \\\n    b'\\xe2 c'", "'it\\'s'\n    '(x' \"y\"", "'' 'ab'", "r'a\\b' 'c'"],
)
def test_texts_that_are_joined_stay_several_texts(text: str) -> None:
    found = drawn(text, "'suite'")
    assert found
    assert all(isinstance(ast.literal_eval(f"({one})"), str | bytes) for one in found)
    assert all(ast.literal_eval(f"({one})") != ast.literal_eval(f"({text})") for one in found)


def test_letters_come_from_the_literal_itself() -> None:
    found = drawn('"MCMXCIV"')
    assert found
    assert all(set(one) <= set('"MCXIV') for one in found)


def test_letters_of_a_single_one_come_from_the_suite() -> None:
    assert drawn('"I"', '"XV"', '"10"') == {'"X"', '"V"'}


def test_another_expected_value_of_the_same_length_is_one_of_them() -> None:
    assert '"IX"' in drawn('"IV"', '"IX"', '"XII"')
    assert '"XII"' not in drawn('"IV"', '"IX"', '"XII"')
    assert "88" in drawn("42", "88", "300")


def test_a_number_stays_within_the_smallest_type_that_holds_it() -> None:
    assert "999" not in drawn("200", "999", "250")
    assert "250" in drawn("200", "999", "250")


@pytest.mark.parametrize("text", ['""', '" "', "`${a}`", "'\\n'", '"\\u00e9"', "0b1x", "null", "wanted"])
def test_where_nothing_of_the_kind_is_known_nothing_is_drawn(text: str) -> None:
    assert drawn(text) == set()


def test_escapes_and_blanks_stay_where_they_are() -> None:
    found = drawn('"a\\tb c"')
    assert found
    assert all(one[2:4] == "\\t" and one[5] == " " for one in found)


def test_several_draws_are_of_different_kinds() -> None:
    first = {tuple(other_literals('"IV"', Pool(frozenset({'"XL"'})), Random(seed))[:3]) for seed in range(20)}
    assert all('"XL"' in three and '"VI"' in three for three in first)
    assert len(first) > 1


def test_with_a_tolerance_a_whole_unit_is_changed() -> None:
    assert set(far_numbers("1.41", Random(1))) == {"2.41", "0.41"}
    assert far_numbers("1e-3", Random(1)) == []


NODE = 'test("adds", () => {\n  const n = 4;\n  assert.equal(add(1, "x"), n);\n});\n'
RUST = "#[test]\nfn adds() {\n    let n = 4;\n    assert_eq!(add(1, 2), n);\n}\n"
GO = (
    "package a\n\nfunc TestAdd(t *testing.T) {\n\tn := 4\n"
    '\tif Add(1, 2) != n {\n\t\tt.Fatalf("no %d", n)\n\t}\n}\n'
)


@pytest.mark.parametrize(
    ("path", "text", "inputs"),
    [
        ("a.test.js", NODE, {"1", '"x"'}),
        ("tests/a.rs", RUST, {"1", "2"}),
        ("a_test.go", GO, {"1", "2"}),
    ],
)
def test_one_argument_of_each_test_is_another(path: str, text: str, inputs: set[str]) -> None:
    seen = set()
    for seed in range(30):
        made = reader_of(path).liveness.other_inputs(path, text.encode(), Random(seed))
        (one,) = made
        seen.add(one.was)
        changed = apply_edits(text.encode(), made)
        assert changed != text.encode()
        assert not isinstance(parse_tree(path, changed), Unparsed)
    assert seen == inputs


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", NODE),
        ("tests/a.rs", RUST),
        ("a_test.go", GO),
        ("tests/test_a.py", "def test_adds():\n    self.assertEqual(add(1), 2)\n"),
    ],
)
def test_the_next_draw_is_another_literal(path: str, text: str) -> None:
    for seed in range(30):
        (first,) = reader_of(path).liveness.other_inputs(path, text.encode(), Random(seed))
        (second,) = reader_of(path).liveness.other_inputs(path, text.encode(), Random(seed), {first.start})
        assert second.start != first.start
        both = {first.start, second.start}
        assert reader_of(path).liveness.other_inputs(path, text.encode(), Random(seed), both), (
            "none is left: all may be drawn"
        )
