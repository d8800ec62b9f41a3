"""What a test seems to assert and does not, and what stubs can return, in languages that tree-sitter reads."""

from __future__ import annotations

from random import Random

import pytest

from support.empty_assertions import check_single, empty_assertions
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import language_named

# ruff: noqa: E501 - texts of tests

PYTHON = language_named("python").validation
GO = 'package cart\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {\n%s\n}\n'
RUST = "use cart::*;\n\n#[test]\nfn it() {\n%s\n}\n"


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("got := Add(1, 2)\nif got != got {\n\tt.Error(got)\n}", "itself"),
        ("if 1 != 1 {\n\tt.Error(1)\n}", "itself"),
        ("if false {\n\tt.Error(Add(1, 2))\n}", "outcome is fixed"),
        ("return\nif Add(1, 2) != 3 {\n\tt.Error(1)\n}", "never reached"),
    ],
)
def test_go_assertions_that_cannot_fail_are_found(body: str, word: str) -> None:
    check_single(empty_assertions("go", "cart_test.go", "TestIt", GO % body), word)


@pytest.mark.parametrize(
    "body",
    [
        'if got := Add(1, 2); got != 3 {\n\tt.Errorf("%d", got)\n}',
        "want := 3\nif Add(1, 2) != want {\n\tt.Fatal(want)\n}",
        "for _, c := range []struct{ a, want int }{{1, 3}} {\n\tif Add(c.a, 2) != c.want {\n\t\tt.Error(c)\n\t}\n}",
        'if _, err := Parse("x"); err == nil {\n\tt.Fatal("no error")\n}',
    ],
)
def test_honest_go_assertions_are_not_found(body: str) -> None:
    assert empty_assertions("go", "cart_test.go", "TestIt", GO % body) == []


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("    assert!(true);", "outcome is fixed"),
        ("    let got = add(1, 2);\n    assert_eq!(got, got);", "itself"),
        ("    assert_eq!(add(1, 2), add(1, 2));", "itself"),
        ("    return;\n    assert_eq!(add(1, 2), 3);", "never reached"),
        ("    if false { assert_eq!(add(1, 2), 3); }", "never reached"),
    ],
)
def test_rust_assertions_that_cannot_fail_are_found(body: str, word: str) -> None:
    check_single(empty_assertions("rust", "tests/cart.rs", "it", RUST % body), word)


@pytest.mark.parametrize(
    "body",
    [
        "    assert_eq!(add(1, 2), 3);",
        "    assert!(is_even(4));",
        "    assert_eq!(Money::new(5), Money::new(5));",
        "    let mut seen = vec![];\n    add(1, &mut seen);\n    assert_eq!(seen, vec![1]);",
        "    assert!(matches!(add(1, 2), Some(_)));",
    ],
)
def test_honest_rust_assertions_are_not_found(body: str) -> None:
    assert empty_assertions("rust", "tests/cart.rs", "it", RUST % body) == []


def bodies(language: str, path: str, before: str, after: str, *literals: str) -> dict[str, list[str]]:
    validation = language_named(language).validation
    found = validation.stub_bodies(path, before.encode(), after.encode(), literals, Random(3))
    assert found is not None
    return {
        stub.name: [apply_edits(after.encode(), [stub.edit(one)]).decode() for one in stub.answers]
        for stub in found
    }


def test_only_new_functions_of_python_are_changed() -> None:
    old = "def add(a, b):\n    return a + b\n"
    new = (
        f"{old}\n\nclass Cart:\n    def total(self) -> int:\n        '''Sum. STUB:TDD'''\n        return 0\n"
    )
    made = bodies("python", "cart.py", old, new)
    assert list(made) == ["Cart.total"]
    assert all("return a + b" in text and "'''Sum. STUB:TDD'''" in text for text in made["Cart.total"])
    assert "        return 0\n" in made["Cart.total"][2]


@pytest.mark.parametrize(
    ("signature", "kinds"),
    [
        ("f() -> int", {"int"}),
        ("f() -> 'str | None'", {"str"}),
        ("f() -> list[str]", {"list"}),
        ("f() -> Optional[bool]", {"bool"}),
        ("f() -> Cart", {"int", "str", "list", "dict", "bool"}),
        ("f()", {"int", "str", "list", "dict", "bool"}),
    ],
)
def test_the_annotation_tells_the_kind(signature: str, kinds: set[str]) -> None:
    text = f"def {signature}:  # STUB:TDD\n    return None\n".encode()
    (stub,) = PYTHON.stub_bodies("f.py", None, text, (), Random(3)) or ()
    assert {one.kind for one in stub.answers} - {"error"} == kinds


@pytest.mark.parametrize(
    "text", ["def f() -> None:\n    pass\n", "class A:\n    def __init__(self):\n        pass\n"]
)
def test_what_returns_nothing_is_left(text: str) -> None:
    assert PYTHON.stub_bodies("f.py", None, text.encode(), (), Random(3)) == ()


def test_expected_literals_come_with_others_of_their_kind() -> None:
    text = b"def f() -> int:  # STUB:TDD\n    return 0\n"
    (stub,) = PYTHON.stub_bodies("f.py", None, text, ("42", "'no'"), Random(3)) or ()
    mine = [one for one in stub.answers if one.literal]
    assert {one.literal for one in mine} == {"42"}
    assert [one.text for one in mine if not one.altered] == ["return 42"]
    assert {one.text for one in mine if one.altered} >= {"return 43", "return 41"}


def test_javascript_stubs_of_every_form_are_changed() -> None:
    text = (
        "export function f(): string { return ''; } // STUB:TDD\n"
        "export const g = (a) => 0;\n"
        "export class Cart {\n  total(): Promise<number> { return 0; }\n"
        "  set x(v) {}\n  constructor() {}\n  clear(): void {}\n}\n"
    )
    made = bodies("node", "cart.ts", "", text, '"abc"', "7")
    assert list(made) == ["f", "g", "Cart.total"]
    assert any('{ return "abc"; }' in one for one in made["f"])
    assert any("(a) => (7);" in one for one in made["g"])


def test_go_and_rust_stubs_are_changed_where_the_type_is_plain() -> None:
    go = (
        "package c\n\nfunc F(a int) (int, error) {\n\treturn 0, nil\n}\n\nfunc G() *Cart {\n\treturn nil\n}\n"
    )
    made = bodies("go", "c.go", "", go)
    assert list(made) == ["F"]
    assert any("{ return 1, nil }" in one for one in made["F"])
    rust = "pub fn f(a: i32) -> Option<i32> {\n    None\n}\npub fn g() -> String {\n    String::new()\n}\n"
    made = bodies("rust", "src/lib.rs", "", rust, '"abc"')
    assert list(made) == ["f", "g"]
    assert any("{ Some(1) }" in one for one in made["f"])
    assert any('{ "abc".to_string() }' in one for one in made["g"])


def test_a_language_that_nothing_reads_cannot_tell() -> None:
    assert language_named("java").validation.stub_bodies("A.java", None, b"", (), Random(3)) is None
