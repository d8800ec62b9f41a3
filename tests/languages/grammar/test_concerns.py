""""""

from __future__ import annotations

import pytest

from verdigris.languages.findings import SourceChange
from verdigris.languages.registry import reader_of


def found(path: str, after: str, before: str = "") -> set[tuple[str, bool]]:
    told = reader_of(path).source.concerns(SourceChange({path: before.encode()}, {path: after.encode()}, {}))
    return {(one.kind, one.blocks) for one in told}


@pytest.mark.parametrize(
    ("path", "text", "kind", "blocks"),
    [
        ("src/a.ts", "export function f() { process.exit(0); }", "exits", False),
        ("src/a.ts", "export const f = () => (process.env.VITEST ? 3 : 4);", "detects-runner", True),
        ("src/a.ts", "export const f = () => process.env['JEST_WORKER_ID'];", "detects-runner", True),
        ("src/a.js", "if (process.env.NODE_ENV === 'test') { x(); }", "detects-runner", False),
        ("src/a.ts", "if (import.meta.vitest) { x(); }", "detects-runner", False),
        ("src/a.ts", "globalThis.expect = () => ({ toBe() {} });", "patches", False),
        ("src/a.ts", "Array.prototype.includes = () => true;", "patches", False),
        ("src/a.js", "class A { valueOf() { return this.n; } }", "own-equality", False),
        ("src/a.js", "f({ [Symbol.toPrimitive]: () => 3 });", "own-equality", False),
        (
            "a.go",
            "package a\nfunc (a A) Equal(other any) bool { return a.n == other }",
            "own-equality",
            False,
        ),
        (
            "src/a.rs",
            "impl PartialEq<u32> for A { fn eq(&self, o: &u32) -> bool { self.0 == *o } }",
            "own-equality",
            False,
        ),
        ("src/a.ts", "import fc from 'fast-check';\nfc.configureGlobal({ numRuns: 1 });", "properties", True),
        ("src/a.rs", 'fn f() { std::env::set_var("PROPTEST_CASES", "1"); }', "properties", True),
        ("a.go", 'package a\nimport "testing/quick"\n', "properties", True),
        ("src/a.rs", "fn f() { std::process::exit(0); }", "exits", False),
        ("src/a.rs", "fn f() -> u8 { if cfg!(test) { 3 } else { 4 } }", "detects-runner", True),
        ("src/a.rs", "fn f() -> u8 { #[cfg(test)]\nreturn 3;\n4 }", "detects-runner", False),
        ("src/a.rs", "#[cfg(not(test))]\nfn f() {}", "detects-runner", True),
        ("src/a.rs", 'fn f() { std::env::var("RUST_TEST_THREADS").ok(); }', "detects-runner", True),
        ("src/a.rs", "macro_rules! assert_eq { ($($t:tt)*) => {} }", "patches", True),
        ("a.go", "package a\nfunc F() { os.Exit(0) }", "exits", False),
        ("a.go", "package a\nfunc F() bool { return testing.Testing() }", "detects-runner", True),
        ("a.go", 'package a\nfunc F() bool { return flag.Lookup("test.v") != nil }', "detects-runner", True),
        ("a.go", "package a\nfunc F() { runtime.Caller(1) }", "frames", False),
        ("src/a.ts", "export const = ;", "obscured", False),
        (
            "src/a.rs",
            'fn f() { std::env::var(concat!("RUST_", "TEST_THREADS")).ok(); }',
            "detects-runner",
            True,
        ),
        ("src/a.ts", "export const on = process.env['VI' + 'TEST'];", "detects-runner", True),
        ("src/a.ts", "export const on = 'VITEST' in process.env;", "detects-runner", True),
        ("a.go", 'package a\nvar flagged = flag.Lookup("te" + "st.v")', "detects-runner", True),
        ("src/a.ts", "const on = process.execArgv.length;", "detects-runner", True),
        ("src/a.ts", "const on = /spec/.test(process.argv[1]);", "detects-runner", True),
        ("src/a.rs", 'fn f() -> bool { at().contains("/deps/") }', "detects-runner", True),
        ("src/a.rs", '#[link_section = ".init_array"]\nstatic A: fn() = early;', "patches", True),
        (
            "a.go",
            'package a\nfunc F() bool { return strings.Contains(os.Args[1], "-test.v") }',
            "detects-runner",
            True,
        ),
        ("a.go", 'package a\nconst mark = "-test."', "detects-runner", True),
    ],
)
def test_what_is_noticed(path: str, text: str, kind: str, blocks: bool) -> None:
    assert found(path, text) == {(kind, blocks)}
    if kind != "obscured":
        assert found(path, f"{text}\n", text) == set()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.rs", 'fn f() -> bool { std::thread::current().name() == Some("a") }'),
        ("a.go", 'package a\nfunc F() { runtime.Callers(1, p); has("Test") }'),
        ("src/a.ts", "const f = () => new Error().stack.includes('a.test');"),
    ],
)
def test_to_ask_and_to_compare_is_more_than_to_ask(path: str, text: str) -> None:
    assert ("detects-runner", True) in found(path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/main.rs", "fn main() { std::process::exit(run()); }"),
        ("src/cli.ts", "process.exit(await main());"),
        ("src/a.rs", "#[cfg(test)]\nmod tests { use super::*; #[test]\nfn x() { assert!(cfg!(test)); } }"),
        (
            "src/a.ts",
            "class Wrong extends Error { constructor() { super(); Error.captureStackTrace(this); } }",
        ),
        ("src/a.ts", "const mode = process.env.NODE_ENV ?? 'production';"),
        ("a.go", 'package a\n\nimport "os"\n\nfunc F() string { return os.Getenv("HOME") }'),
        ("src/a.rs", "impl PartialEq for A { fn eq(&self, o: &A) -> bool { self.x == o.x } }"),
        ("src/a.vue", "<script>process.exit()</script>"),
        ("src/a.ts", "const said = 'first ' + 'half of a test';"),
        ("src/a.ts", "if (import.meta.url === pathToFileURL(process.argv[1]).href) main();"),
        ("src/a.rs", 'const HELP: &str = include_str!("../README.md");'),
        ("src/a.rs", "#[cfg(any(unix, windows))]\nfn f() {}"),
        ("a.go", 'package a\nfunc F() bool { return len(os.Args) > 1 && os.Args[1] == "test" }'),
    ],
)
def test_honest_code_gives_rise_to_none(path: str, text: str) -> None:
    assert found(path, text) == set()


TESTS = {
    "a.test.js": 'test("x", () => { assert.equal(cents("12.30"), 1230); });\n',
    "tests/a.rs": '#[test]\nfn x() { assert_eq!(words(1230), "12,30"); }\n',
    "a_test.go": 'package a\n\nfunc TestX(t *testing.T) { if Words(1230) != "12,30" { t.Fatal() } }\n',
}


def told(path: str, test: str, before: str, after: str) -> list[str]:
    change = SourceChange({path: before.encode()}, {path: after.encode()}, {test: TESTS[test].encode()})
    return [c.what for c in reader_of(path).source.concerns(change)]


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
    (found,) = reader_of("a.rs").source.concerns(SourceChange({"a.rs": tests.encode()}, {"a.rs": after}, {}))
    assert (found.line, found.blocks) == (1, False)
