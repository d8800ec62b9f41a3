"""What tests in Go and Rust seem to assert, and do not."""

# ruff: noqa: E501 - texts of tests

from __future__ import annotations

import pytest

from verdigris.languages.findings import TestText
from verdigris.languages.registry import language_named

GO = 'package cart\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {\n%s\n}\n'
RUST = "use cart::*;\n\n#[test]\nfn it() {\n%s\n}\n"


def faults(language: str, path: str, name: str, text: str) -> list[str]:
    found = language_named(language).empty_assertions(TestText(path, name, {path: text}))
    assert found is not None
    return [one.what for one in found]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("got := Add(1, 2)\nif got != got {\n\tt.Error(got)\n}", "itself"),
        ("if 1 != 1 {\n\tt.Error(1)\n}", "itself"),
        ("if false {\n\tt.Error(Add(1, 2))\n}", "settled"),
        ("return\nif Add(1, 2) != 3 {\n\tt.Error(1)\n}", "never reached"),
    ],
)
def test_go_assertions_that_cannot_fail_are_found(body: str, word: str) -> None:
    found = faults("go", "cart_test.go", "TestIt", GO % body)
    assert len(found) == 1, found
    assert word in found[0]


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
    assert faults("go", "cart_test.go", "TestIt", GO % body) == []


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("    assert!(true);", "settled"),
        ("    let got = add(1, 2);\n    assert_eq!(got, got);", "itself"),
        ("    assert_eq!(add(1, 2), add(1, 2));", "itself"),
        ("    return;\n    assert_eq!(add(1, 2), 3);", "never reached"),
        ("    if false { assert_eq!(add(1, 2), 3); }", "never reached"),
    ],
)
def test_rust_assertions_that_cannot_fail_are_found(body: str, word: str) -> None:
    found = faults("rust", "tests/cart.rs", "it", RUST % body)
    assert len(found) == 1, found
    assert word in found[0]


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
    assert faults("rust", "tests/cart.rs", "it", RUST % body) == []
