from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.languages.grammar.trees import tree_of
from verdigris.languages.node.test_ids import Declaration, declarations, node_id, split_node_id
from verdigris.languages.tests import marks


def declared(text: str) -> list[Declaration]:
    return declarations(tree_of("x.test.ts", text.encode())[0])


NAMES = st.text(st.sampled_from("ab ›\\:/$`'\"\n漢"), max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_an_id_gives_its_names_back(names: list[str]) -> None:
    made = split_node_id(node_id("src/a::b/x.test.ts", names))
    assert (made.path, made.names) == ("src/a::b/x.test.ts", tuple(names))


@given(st.lists(NAMES, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=3))
def test_two_tests_have_two_ids(one: list[str], other: list[str]) -> None:
    assert (node_id("x.js", one) == node_id("x.js", other)) is (one == other)


def test_an_id_reads_as_the_design_says() -> None:
    assert node_id("t/x.test.ts", ["outer", "inner", "works"]) == "t/x.test.ts::outer › inner › works"
    assert split_node_id("t/x.test.ts").names == ()
    assert split_node_id("folder").path == "folder"


TEXT = r"""
import { describe, it, test } from "vitest";
// it("in a comment", () => {});
const s = "it('in a string')", re = /it\("in a (regex)["]/, half = 4 / 2;
const t = `it("in a template ${`nested ${"}"}`}")`;
describe('outer', () => {
  // @tdd-id: first
  it("one", async () => { expect(/\)\}/.test("x")).toBe(true); });

  describe.skip("inner \"quoted\" \u00fc", () => {
    it.only(`two`, () => {});
    it(`computed ${s}`, () => {});
  });
  it.each([[1, ")"], [2, "]"]])("case %i", (n) => {});
  test.each<[number]>`
    a | b
    ${1} | ${2}
  `("table $a", () => {});
});
describe.each([1, 2])("many %i", () => { it("in many", () => {}); });
test.skipIf(process.env.X)("sometimes", { timeout: 5 }, () => {});
test("parent", async (t) => { await t.test("child", () => {}); });
obj.test("not a test"); function it2() {}
xit("last", () => {});
"""


def test_declarations_are_read_with_the_names_around_them() -> None:
    assert [(d.names, d.is_test, d.is_each) for d in declared(TEXT)] == [
        (("outer",), False, False),
        (("outer", "one"), True, False),
        (("outer", 'inner "quoted" ü'), False, False),
        (("outer", 'inner "quoted" ü', "two"), True, False),
        (None, True, False),
        (("outer", "case %i"), True, True),
        (("outer", "table $a"), True, True),
        (("many %i",), False, True),
        (None, True, False),
        (("sometimes",), True, False),
        (("parent",), True, False),
        (("parent", "child"), True, False),
        (("last",), True, False),
    ]


@pytest.mark.parametrize(
    "text", ["it(", "it('a", "`${", "it.each", "describe('x', () => {", "/*", "it.each([", "}}}", "/["]
)
def test_broken_text_is_read_as_far_as_it_goes(text: str) -> None:
    declared(text)


@given(st.text(st.sampled_from("it('`\"/${}()[]<>.\\\n x,*=each"), max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    declared(text)
    marks("x.test.ts", "// @tdd-id: x\n" + text)


@pytest.mark.parametrize(
    ("above", "slug"),
    [
        ("// @tdd-id: my-slug.1\n", "my-slug.1"),
        ("//@tdd-id: a\n\n\n", "a"),
        ("// @tdd-id: far\n\n\n\n", None),
        ("// @tdd-id: two words\n", None),
        ("const x = 1; // @tdd-id: beside\n", None),
        ("const s = `\n// @tdd-id: text\n`;\n", None),
        ("/* @tdd-id: block */\n", None),
        ("// @tdd-id: other\nit('other', () => {});\n", None),
        ("// @tdd-id: suite\ndescribe('s', () => {}); \n", None),
    ],
)
def test_an_annotation_stands_within_three_lines_above_its_test(above: str, slug: str | None) -> None:
    found = {
        getattr(mark.test, "names", None): mark.slug
        for mark in marks("x.test.ts", f"{above}it('x', () => {{}});\n")
    }
    assert found.get(("x",)) == slug
