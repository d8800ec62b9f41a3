from __future__ import annotations

import pytest

from verdigris.languages.findings import SourceChange
from verdigris.languages.registry import reader_of

TESTS = {
    "a.test.js": 'test("x", () => { assert.equal(cents("12.30"), 1230); });\n',
    "tests/a.rs": '#[test]\nfn x() { assert_eq!(words(1230), "12,30"); }\n',
    "a_test.go": 'package a\n\nfunc TestX(t *testing.T) { if Words(1230) != "12,30" { t.Fatal() } }\n',
}


def told(path: str, test: str, before: str, after: str) -> list[str]:
    change = SourceChange({path: before.encode()}, {path: after.encode()}, {test: TESTS[test].encode()})
    return [c.what for c in reader_of(path).concerns(change)]


@pytest.mark.parametrize(
    ("path", "test", "after", "value"),
    [
        (
            "a.js",
            "a.test.js",
            "export function f(t) {\n  switch (t.length) { case 5: return 1230; }\n}\n",
            "1230",
        ),
        ("a.js", "a.test.js", 'export const f = (t) => (t === "12.30" ? g() : 0);\n', "12.30"),
        ("a.ts", "a.test.js", "const KNOWN = { a: 1230 };\n", "1230"),
        ("a.js", "a.test.js", 'export function f(t) { switch (t) { case "12.30": return g(); } }\n', "12.30"),
        (
            "a.go",
            "a_test.go",
            "package a\n\nfunc F(n int) int { switch n { case 1230: return 1 }; return 0 }\n",
            "1230",
        ),
        (
            "a.go",
            "a_test.go",
            "package a\n\nfunc F() string { return string([]byte{49, 50, 44, 51, 48}) }\n",
            "12,30",
        ),
        ("a.rs", "tests/a.rs", 'pub fn f(n: i32) -> String { "12,30".to_string() }\n', "12,30"),
        ("a.rs", "tests/a.rs", "pub fn f(n: i32) -> i32 { match n { 1230 => 1, _ => 0 } }\n", "1230"),
    ],
)
def test_values_of_the_tests_that_source_answers_with_are_told(
    path: str, test: str, after: str, value: str
) -> None:
    (what,) = told(path, test, "package a\n" if path.endswith(".go") else "", after)
    assert value in what


def test_what_source_knew_before_or_only_says_is_not_told() -> None:
    code = "const KNOWN = { a: 1230 };\n"
    assert told("a.js", "a.test.js", code, code + "export const b = 2;\n") == []
    assert told("a.js", "a.test.js", "", 'export function f() { throw new Error("12.30"); }\n') == []
    assert told("a.js", "a.test.js", "", "export const f = (n) => n / 100;\n") == []


def test_tests_among_rusts_source_ask_too() -> None:
    tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn x() { assert_eq!(super::f(1), 4711); }\n}\n"
    after = f"pub fn f(n: i32) -> i32 {{ 4711 }}\n{tests}".encode()
    (found,) = reader_of("a.rs").concerns(SourceChange({"a.rs": tests.encode()}, {"a.rs": after}, {}))
    assert (found.line, found.blocks) == (1, False)
