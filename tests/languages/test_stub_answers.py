"""Constants for new stubs, in each language that can be changed."""

from __future__ import annotations

from random import Random

import pytest

from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import language_named


def bodies(language: str, path: str, before: str, after: str, *literals: str) -> dict[str, list[str]]:
    found = language_named(language).stub_bodies(path, before.encode(), after.encode(), literals, Random(3))
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
    (stub,) = language_named("python").stub_bodies("f.py", None, text, (), Random(3)) or ()
    assert {one.kind for one in stub.answers} - {"error"} == kinds


@pytest.mark.parametrize(
    "text", ["def f() -> None:\n    pass\n", "class A:\n    def __init__(self):\n        pass\n"]
)
def test_what_returns_nothing_is_left(text: str) -> None:
    assert language_named("python").stub_bodies("f.py", None, text.encode(), (), Random(3)) == ()


def test_expected_literals_come_with_others_of_their_kind() -> None:
    text = b"def f() -> int:  # STUB:TDD\n    return 0\n"
    (stub,) = language_named("python").stub_bodies("f.py", None, text, ("42", "'no'"), Random(3)) or ()
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
    assert language_named("java").stub_bodies("A.java", None, b"", (), Random(3)) is None
