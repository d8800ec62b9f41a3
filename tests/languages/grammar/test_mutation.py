from __future__ import annotations

import pytest

from verdigris.languages.grammar.trees import Unparsed, parse_tree
from verdigris.languages.registry import reader_of


def told(path: str, before: str, after: str) -> list[str]:
    made = reader_of(path).source.mutants({path: before.encode()}, {path: after.encode()})
    for mutant in made.mutants:
        assert mutant.data != after.encode()
        assert not isinstance(parse_tree(path, mutant.data), Unparsed), mutant.data.decode()
    return [mutant.what for mutant in made.mutants]


ADD = "export const add = (a, b) => a + b;\n"
RUST = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
GO = "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"


@pytest.mark.parametrize(
    ("path", "before", "new"),
    [
        ("a.js", ADD, 'export function parse(text) {\n  return text === "X" ? 10 : 0;\n}\n'),
        ("a.ts", ADD, "export const parse = (text: string): number => Number(text);\n"),
        ("a.rs", RUST, "pub fn parse(text: &str) -> i32 {\n    text.len() as i32\n}\n"),
        ("a.go", GO, "func parse(text string) int {\n\treturn len(text)\n}\n"),
    ],
)
def test_a_new_function_is_made_to_fail(path: str, before: str, new: str) -> None:
    found = told(path, before, before + new)
    assert "`parse` is new or changed, and no test runs it" in found


def test_a_new_condition_is_forced_both_ways_and_its_boundary_moved() -> None:
    after = (
        "package calc\n\nfunc Add(a, b int) int {\n\tif a > b {\n\t\treturn b + a\n\t}\n\treturn a + b\n}\n"
    )
    found = told("a.go", GO, after)
    forced = {
        "`a > b` → `((a > b) || true)`: no test notices",
        "`a > b` → `((a > b) && false)`: no test notices",
    }
    assert forced <= {*found}
    assert "`a > b` → `a >= b`: no test notices" in found


@pytest.mark.parametrize(
    ("path", "source", "condition"),
    [
        ("a.py", "def f(a, b, x):\n    return (a, b)['on' in x]\n", "'on' in x"),
        ("a.py", "def f(a, x):\n    return a * (len(x) == 0)\n", "len(x) == 0"),
        ("a.js", "function f(a, b, x) { return [a, b][Number('on' in x)]; }\n", "'on' in x"),
        ("a.rs", "fn f(a: u8, b: u8, x: u8) -> u8 { [a, b][(x > b) as usize] }\n", "x > b"),
    ],
)
def test_a_condition_that_chooses_as_a_number_is_forced_both_ways(
    path: str, source: str, condition: str
) -> None:
    forced = [what for what in told(path, "", source) if what.startswith(f"`{condition}` → `((")]
    assert len(forced) == 2


def test_a_fallback_is_taken_out() -> None:
    found = told("a.js", ADD, "export const add = (a, b) => a + (b ?? 0);\n")
    assert "`b ?? 0` → `(b)`: no test notices" in found


def test_a_new_arm_is_made_to_fail() -> None:
    before = "pub fn f(a: i32) -> i32 {\n    match a {\n        1 => 2,\n        _ => 3,\n    }\n}\n"
    found = told("a.rs", before, before.replace("_ => 3", "7 => 9,\n        _ => 3"))
    assert "`7 => 9,` is new or changed, and no test runs it" in found


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.js", ADD, ADD.replace("a", "c").replace("cdd", "plus").replace("exportc", "export")),
        ("a.rs", RUST, RUST.replace("a", "c").replace("b:", "d:").replace("+ b", "+ d")),
        ("a.go", GO, "package calc\n\n// Sum adds.\nfunc Sum(x, y int) int { return x + y }\n"),
    ],
)
def test_what_was_renamed_or_laid_out_anew_needs_no_change(path: str, before: str, after: str) -> None:
    assert told(path, before, after) == []


def test_tests_among_the_source_are_no_part_of_it() -> None:
    tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn more() { assert!(super::add(1, 2) > 2); }\n}\n"
    assert told("a.rs", RUST, RUST + tests) == []


def test_a_mutant_says_whether_only_a_run_notices_it() -> None:
    before = b"export function add(a, b) {\n  return a + b;\n}\n"
    after = before + b"export function sub(a, b) {\n  return a < b ? 0 : a - b;\n}\n"
    made = reader_of("a.js").source.mutants({"a.js": before}, {"a.js": after}).mutants
    assert {mutant.fails for mutant in made if "sub" in mutant.what} == {True}
    assert {mutant.fails for mutant in made if "a < b" in mutant.what} == {False}
