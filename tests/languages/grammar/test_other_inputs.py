from __future__ import annotations

from random import Random

import pytest

from verdigris.languages.grammar.trees import Unparsed, parse_tree
from verdigris.languages.literals import apply
from verdigris.languages.registry import reader_of

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
        made = reader_of(path).other_inputs(path, text.encode(), Random(seed))
        (one,) = made
        seen.add(one.was)
        changed = apply(text.encode(), made)
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
        (first,) = reader_of(path).other_inputs(path, text.encode(), Random(seed))
        (second,) = reader_of(path).other_inputs(path, text.encode(), Random(seed), {first.start})
        assert second.start != first.start
        both = {first.start, second.start}
        assert reader_of(path).other_inputs(path, text.encode(), Random(seed), both), (
            "none is left: all may be drawn"
        )
