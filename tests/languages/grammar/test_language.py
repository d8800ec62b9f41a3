"""The mark of a test that is skipped, in JavaScript, TypeScript, Go and Rust."""

from __future__ import annotations

import pytest

from verdigris.languages.registry import reader_of
from verdigris.languages.tests import read_tests

WHY = "blocked: no way"
NODE_TEST = "import test from 'node:test';\n"
GO = 'package calc\n\nimport "testing"\n\n'

CASES = [
    # vitest, jest, mocha
    ("a.test.ts", "test('adds', () => {});\n", "adds", "// blocked: no way\ntest.skip('adds', () => {});\n"),
    (
        "a.test.js",
        "describe('sum', () => {\r\n  // @tdd-id: s\r\n  it('adds', async () => {});\r\n});\r\n",
        "sum › adds",
        (
            "describe('sum', () => {\r\n  // blocked: no way\r\n  // @tdd-id: s\r\n"
            "  it.skip('adds', async () => {});\r\n});\r\n"
        ),
    ),
    (
        "a.test.ts",
        "test.each([[1]])('adds %i', (n) => {});\n",
        "adds 1",
        "// blocked: no way\ntest.skip.each([[1]])('adds %i', (n) => {});\n",
    ),
    (
        "a.test.ts",
        "it.concurrent('adds', () => {});\n",
        "adds",
        "// blocked: no way\nit.concurrent.skip('adds', () => {});\n",
    ),
    (
        "a.test.ts",
        "describe('s', () => { it('adds', () => {}) })\n",
        "s › adds",
        "describe('s', () => { it.skip(/* blocked: no way */ 'adds', () => {}) })\n",
    ),
    # Node's own
    (
        "a.test.mjs",
        NODE_TEST + "test('adds', () => {});\n",
        "adds",
        NODE_TEST + "test('adds', { skip: \"blocked: no way\" }, () => {});\n",
    ),
    (
        "a.test.mjs",
        NODE_TEST + "test('adds', { timeout: 5 }, () => {});\n",
        "adds",
        NODE_TEST + "test('adds', { skip: \"blocked: no way\", timeout: 5 }, () => {});\n",
    ),
    (
        "a.test.cjs",
        "const { it } = require('node:test');\nit('adds', {}, () => {});\n",
        "adds",
        "const { it } = require('node:test');\nit('adds', { skip: \"blocked: no way\" }, () => {});\n",
    ),
    (
        "a.test.mjs",
        NODE_TEST + "test('adds', options, () => {});\n",
        "adds",
        NODE_TEST + "// blocked: no way\ntest.skip('adds', options, () => {});\n",
    ),
    # Go
    (
        "calc_test.go",
        GO + "func TestAdd(t *testing.T) {\n\tt.Fatal()\n}\n",
        "TestAdd",
        GO + 'func TestAdd(t *testing.T) {\n\tt.Skip("blocked: no way")\n\tt.Fatal()\n}\n',
    ),
    (
        "calc_test.go",
        GO + "func TestAdd(tt *testing.T) { tt.Fatal() }\n",
        "TestAdd",
        GO + 'func TestAdd(tt *testing.T) { tt.Skip("blocked: no way"); tt.Fatal() }\n',
    ),
    (
        "calc_test.go",
        GO
        + 'func TestAdd(t *testing.T) {\n\tt.Run("of none", func(t *testing.T) {\n\t\tt.Fatal()\n\t})\n}\n',
        "TestAdd/of_none",
        GO
        + 'func TestAdd(t *testing.T) {\n\tt.Run("of none", func(t *testing.T) {\n'
        + '\t\tt.Skip("blocked: no way")\n\t\tt.Fatal()\n\t})\n}\n',
    ),
    # Rust
    (
        "tests/calc.rs",
        "#[test]\nfn adds() { assert_eq!(1, 2); }\n",
        "adds",
        '#[test]\n#[ignore = "blocked: no way"]\nfn adds() { assert_eq!(1, 2); }\n',
    ),
    (
        "src/calc.rs",
        "#[cfg(test)]\nmod tests {\n    #[tokio::test]\n    // why\n    pub async fn adds() {}\n}\n",
        "calc::tests::adds",
        (
            "#[cfg(test)]\nmod tests {\n    #[tokio::test]\n    // why\n"
            '    #[ignore = "blocked: no way"]\n    pub async fn adds() {}\n}\n'
        ),
    ),
    (
        "tests/calc.rs",
        "#[test] fn adds() {}\n",
        "adds",
        '#[test] #[ignore = "blocked: no way"] fn adds() {}\n',
    ),
]


def marked(path: str, text: str, name: str, why: str = WHY) -> str | None:
    done = reader_of(path).tests.with_skip(path, text.encode(), name, why)
    return None if done is None else done.decode()


@pytest.mark.parametrize(("path", "before", "name", "after"), CASES)
def test_one_test_is_marked_and_nothing_else_changes(path: str, before: str, name: str, after: str) -> None:
    assert marked(path, before, name) == after
    assert marked(path, after, name, "blocked: again") == after


@pytest.mark.parametrize(("path", "before", "name", "after"), CASES)
def test_the_marked_test_reads_as_skipped_and_asserts_what_it_did(
    path: str, before: str, name: str, after: str
) -> None:
    old, new = (read_tests({path: text})[path] for text in (before, after))
    assert [test.name for test in new.tests] == [test.name for test in old.tests]
    assert [fact.what for fact in new.facts] == [fact.what for fact in old.facts]
    assert [mark.kind for mark in new.marks] == ["skipped"]


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a.test.ts", "test('adds', () => {});\n", "subtracts"),
        ("a.test.ts", "test.only('adds', () => {});\n", "adds"),
        ("a.test.ts", "test.fails('adds', () => {});\n", "adds"),
        ("a.test.ts", "test('adds', () => {});\ntest('adds', () => {});\n", "adds"),
        ("a.test.ts", "test('adds', () => {\n", "adds"),
        ("a.test.mjs", NODE_TEST + "test('adds', { skip: false }, () => {});\n", "adds"),
        ("a_test.go", GO + "func TestAdd(_ *testing.T) {}\n", "TestAdd"),
        ("a_test.go", GO + "func TestAdd(*testing.T) {}\n", "TestAdd"),
        ("a_test.go", GO + "func ExampleAdd() {\n\t// Output: 1\n}\n", "ExampleAdd"),
        ("a_test.go", GO + 'func TestAdd(t *testing.T) {\n\tt.Run("x", check)\n}\n', "TestAdd/x"),
        ("a.rs", "fn adds() {}\n", "adds"),
        ("a.rs", "proptest! {\n    #[test]\n    fn adds(n in 0..9) { assert!(n > 9); }\n}\n", "adds"),
    ],
)
def test_a_form_that_cannot_be_marked_stays(path: str, text: str, name: str) -> None:
    assert marked(path, text, name) is None


@pytest.mark.parametrize(("path", "text", "name", "_"), CASES)
def test_a_reason_with_quotes_and_line_ends_breaks_nothing(path: str, text: str, name: str, _: str) -> None:
    done = marked(path, text, name, 'blocked: "a" \\ */ ${b}\nnext\u2028line')
    assert done is not None
    assert read_tests({path: done})[path].whole
    assert done.count("\n") - text.count("\n") in {0, 1}
