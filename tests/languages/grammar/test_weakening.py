"""What a suite loses in JavaScript, TypeScript, Rust and Go: the same kinds as in Python."""

from __future__ import annotations

import pytest

from verdigris.languages.assertion_matching import find_losses
from verdigris.languages.grammar.weakening import plain_weakenings
from verdigris.languages.tests import read_tests

TS = """\
import { describe, expect, it, vi } from 'vitest';
import { add, load, Purse } from './money';

function holds(purse: Purse, cents: number) {
  expect(purse.total()).toBe(cents);
}

describe('money', () => {
  it('adds', () => {
    const got = add(1, 2);
    expect(got).toBe(3);
    expect(add(0.1, 0.2)).toBeCloseTo(0.3, 5);
  });

  it('fails loudly', async () => {
    await expect(load('x')).rejects.toThrow('no such purse');
    expect(() => add()).toThrow(TypeError);
  });

  it('holds', () => {
    const purse = new Purse();
    purse.add(5);
    holds(purse, 5);
    expect(purse.coins).toEqual([{ cents: 5 }]);
  });

  it.each([
    [1, 2, 3],
    [2, 2, 4],
  ])('adds %i and %i', (a, b, sum) => {
    expect(add(a, b)).toBe(sum);
  });
});
"""
RUST = """\
use money::{add, parse, Money};

fn holds(money: &Money, cents: i64) {
    assert_eq!(money.cents, cents);
}

#[test]
fn adds() {
    let got = add(1, 2);
    assert_eq!(got, 3);
    assert!((add(0.1, 0.2) - 0.3).abs() < 1e-9);
}

#[test]
fn parses() -> Result<(), String> {
    let money = parse("5")?;
    holds(&money, 5);
    assert!(matches!(parse("x"), Err(_)));
    for (text, cents) in [("1", 1), ("2", 2)] {
        assert_eq!(parse(text)?.cents, cents);
    }
    Ok(())
}

#[test]
#[should_panic(expected = "overflow")]
fn overflows() {
    add(i32::MAX, 1);
}
"""
GO = """\
package money

import "testing"

func holds(t *testing.T, m Money, cents int64) {
	t.Helper()
	if m.Cents != cents {
		t.Errorf("got %d, want %d", m.Cents, cents)
	}
}

func TestAdd(t *testing.T) {
	got := Add(1, 2)
	if got != 3 {
		t.Errorf("Add(1, 2) = %d", got)
	}
	if math.Abs(Half(1)-0.5) > 1e-9 {
		t.Error("not half")
	}
}

func TestParse(t *testing.T) {
	m, err := Parse("5")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, m, 5)
	tests := []struct {
		name string
		want int64
	}{
		{"1", 1},
		{"2", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.name)
			if err != nil || got.Cents != tt.want {
				t.Fatalf("got %v", got)
			}
		})
	}
	require.Equal(t, int64(7), m.Times(7).Cents)
}
"""
FILES = {"money.test.ts": TS, "tests/money.rs": RUST, "money_test.go": GO}


def lost(path: str, before: str, after: str, *revised: str) -> set[str]:
    found = plain_weakenings(read_tests({path: before}), read_tests({path: after}), revised=revised)
    return {one.kind for one in found}


def changed(path: str, old: str, new: str) -> set[str]:
    text = FILES[path]
    assert old in text
    return lost(path, text, text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("toBe(3)", "toBe(4)", "changed"),
        ("toBe(3)", "toBeTruthy()", "weaker"),
        ("toBe(3)", "toBeDefined()", "weaker"),
        ("expect(got).toBe(3)", "expect(true).toBe(true)", "weaker"),
        ("expect(got).toBe(3)", "expect(got).toBe(got)", "weaker"),
        ("    expect(got).toBe(3);\n", "", "dropped"),
        ("    expect(got).toBe(3);\n", "    // expect(got).toBe(3);\n", "dropped"),
        ("expect(got).toBe(3);", "if (got) expect(got).toBe(3);", "guarded"),
        ("expect(got).toBe(3);", "try { expect(got).toBe(3); } catch {}", "guarded"),
        ("    const got", "    if (process.env.CI) return;\n    const got", "guarded"),
        ("    const got = add(1, 2);", "    return;\n    const got = add(1, 2);", "dropped"),
        ("0.3, 5)", "0.3, 1)", "weaker"),
        ("0.3, 5)", "0.3)", "weaker"),
        ("await expect(load", "expect(load", "guarded"),
        ("toThrow('no such purse')", "toThrow()", "weaker"),
        ("toThrow('no such purse')", "toThrow('no purse')", "changed"),
        ("toThrow(TypeError)", "not.toThrow()", "weaker"),
        ("toEqual([{ cents: 5 }])", "toHaveLength(1)", "weaker"),
        ("toEqual([{ cents: 5 }])", "toEqual(expect.anything())", "weaker"),
        ("toEqual([{ cents: 5 }])", "toMatchObject([{}])", "weaker"),
        ("expect(purse.total()).toBe(cents)", "expect(purse.total()).toBeTruthy()", "weaker"),
        ("    [2, 2, 4],\n", "", "cases"),
        ("[2, 2, 4]", "[2, 2, 5]", "changed"),
        ("it('adds'", "it.skip('adds'", "skipped"),
        ("it('adds'", "xit('adds'", "skipped"),
        ("it('adds'", "it.fails('adds'", "skipped"),
        ("describe('money'", "describe.skip('money'", "skipped"),
        ("it('adds'", "it.only('adds'", "deselected"),
        ("it('adds', () => {", "it('adds', { skip: true }, () => {", "skipped"),
        ("it('adds', () => {", "it('adds', (ctx) => {\n    ctx.skip();", "skipped"),
        ("describe('money', () => {", "describe('money', () => {\n  it.only('new', () => {});", "deselected"),
    ],
)
def test_typescript(old: str, new: str, kind: str) -> None:
    assert changed("money.test.ts", old, new) == {kind}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("assert_eq!(got, 3)", "assert_eq!(got, 4)", "changed"),
        ("assert_eq!(got, 3)", "assert!(got > 0)", "weaker"),
        ("assert_eq!(got, 3)", "assert_ne!(got, 4)", "weaker"),
        ("assert_eq!(got, 3)", "assert!(true)", "weaker"),
        ("assert_eq!(got, 3)", "assert!(got == 3 || got == 4)", "weaker"),
        ("    assert_eq!(got, 3);\n", "", "dropped"),
        ("assert_eq!(got, 3);", "if got > 0 { assert_eq!(got, 3); }", "guarded"),
        ("    let got", "    if cfg!(windows) { return; }\n    let got", "guarded"),
        ("1e-9", "1e-2", "weaker"),
        ("assert_eq!(money.cents, cents)", "assert!(money.cents > 0)", "weaker"),
        (', ("2", 2)', "", "cases"),
        ('("2", 2)', '("2", 3)', "changed"),
        ("#[test]\nfn adds", "#[test]\n#[ignore]\nfn adds", "skipped"),
        ("#[test]\nfn adds", "#[test]\n#[cfg(windows)]\nfn adds", "skipped"),
        ("#[test]\nfn adds", "#[test]\n#[should_panic]\nfn adds", "skipped"),
        ("#[test]\nfn adds", "#[allow(dead_code)]\nfn adds", "uncollected"),
        ('#[should_panic(expected = "overflow")]', "#[should_panic]", "weaker"),
        ('"overflow"', '"too large"', "changed"),
    ],
)
def test_rust(old: str, new: str, kind: str) -> None:
    assert changed("tests/money.rs", old, new) == {kind}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("if got != 3 {", "if got != 4 {", "changed"),
        ("if got != 3 {", "if got < 0 {", "weaker"),
        ("if got != 3 {", "if got != 3 && got != 4 {", "weaker"),
        ('		t.Errorf("Add(1, 2) = %d", got)\n', '		t.Logf("Add(1, 2) = %d", got)\n', "dropped"),
        (
            "	got := Add(1, 2)\n",
            '	if os.Getenv("CI") != "" {\n		return\n	}\n	got := Add(1, 2)\n',
            "guarded",
        ),
        ("	got := Add(1, 2)\n", "	t.Skip()\n	got := Add(1, 2)\n", "skipped"),
        ("1e-9", "1e-2", "weaker"),
        ('		{"2", 2},\n', "", "cases"),
        ('{"2", 2}', '{"2", 3}', "changed"),
        ("func TestAdd", "func testAdd", "uncollected"),
        ("if m.Cents != cents {", "if m.Cents == 0 {", "weaker"),
        ("require.Equal(t, int64(7), m.Times(7).Cents)", "require.NotNil(t, m.Times(7).Cents)", "weaker"),
        ("require.Equal(t, int64(7), m.Times(7).Cents)", "require.True(t, true)", "weaker"),
        (" || got.Cents != tt.want", "", "dropped"),
    ],
)
def test_go(old: str, new: str, kind: str) -> None:
    assert changed("money_test.go", old, new) == {kind}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("money.test.ts", "const got = add(1, 2);\n    expect(got)", "expect(add(1, 2))"),
        ("money.test.ts", "got", "result"),
        ("money.test.ts", "it('adds', ()", "it('adds two numbers', ()"),
        ("money.test.ts", "    holds(purse, 5);", "    expect(purse.total()).toBe(5);"),
        ("money.test.ts", "toBeCloseTo(0.3, 5)", "toBeCloseTo(0.3, 8)"),
        ("money.test.ts", "import { add", "import { sub, add"),
        ("money.test.ts", "toThrow(TypeError)", "toThrow(TypeError,)"),
        ("money.test.ts", "'x'", '"x"'),
        ("money.test.ts", "  it('fails", "  it.skip('a new one', () => {});\n\n  it('fails"),
        ("money.test.ts", "function holds", "function five() {\n  return 5;\n}\n\nfunction holds"),
        ("tests/money.rs", "fn holds", "fn five() -> i32 {\n    return 5;\n}\n\nfn holds"),
        ("money_test.go", "func holds", "func five() int {\n	return 5\n}\n\nfunc holds"),
        ("tests/money.rs", "let got = add(1, 2);\n    assert_eq!(got, 3)", "assert_eq!(add(1, 2), 3)"),
        ("tests/money.rs", "    holds(&money, 5);", "    assert_eq!(money.cents, 5);"),
        ("tests/money.rs", "fn adds()", "fn adds_two_numbers()"),
        ("tests/money.rs", "assert_eq!(got, 3)", 'assert_eq!(got, 3, "of {}", 1)'),
        ("tests/money.rs", "assert!(matches!(", "assert!(true); assert!(matches!("),
        ("money_test.go", "	got := Add(1, 2)\n	if got != 3 {", "	if got := Add(1, 2); got != 3 {"),
        ("money_test.go", "got != 3", "3 != got"),
        ("money_test.go", '{"2", 2},', '{"2", 2},\n		{"3", 3},'),
        ("money_test.go", '		t.Error("not half")\n', '		t.Error("not half")\n		return\n'),
    ],
)
def test_what_keeps_its_strength_is_no_loss(path: str, old: str, new: str) -> None:
    text = FILES[path]
    assert old in text
    assert lost(path, text, text.replace(old, new)) == set()


@pytest.mark.parametrize("path", FILES)
def test_a_test_that_is_gone_is_removed_unless_it_was_given_up(path: str) -> None:
    text = FILES[path]
    start, end, test = {
        "money.test.ts": ("  it('fails loudly'", "  it('holds'", "money › fails loudly"),
        "tests/money.rs": ("#[test]\nfn parses", "#[test]\n#[should_panic", "parses"),
        "money_test.go": ("func TestAdd", "func TestParse", "TestAdd"),
    }[path]
    without = text[: text.index(start)] + text[text.index(end) :]
    assert lost(path, text, without) == {"removed"}
    for given_up in (f"{path}::{test}", path):
        assert lost(path, text, without, given_up) == set()
    assert lost(path, text, without, f"{path}::another") == {"removed"}


@pytest.mark.parametrize("path", FILES)
def test_a_move_between_files_is_no_loss(path: str) -> None:
    text = FILES[path]
    other = path.replace("money", "other")
    assert plain_weakenings(read_tests({path: text}), read_tests({other: text})) == ()
    (found, *_) = plain_weakenings(read_tests({path: text}), {})
    assert found.kind == "removed"


@pytest.mark.parametrize("path", FILES)
def test_what_does_not_parse_is_unreadable(path: str) -> None:
    assert lost(path, FILES[path], FILES[path] + "\n)}{(") == {"unreadable"}
    assert {w.kind for w in plain_weakenings({}, read_tests({path: "}"}))} == {"unreadable"}


def test_what_a_grammar_does_not_know_is_compared_as_far_as_it_goes() -> None:
    odd = RUST + "\nfn odd() { $ }\n"
    assert lost("tests/money.rs", odd, odd) == set()
    assert lost("tests/money.rs", odd, odd.replace("(got, 3)", "(got, got)")) == {"weaker"}


@pytest.mark.parametrize("path", FILES)
def test_a_refactor_keeps_every_assertion_up_to_names(path: str) -> None:
    text = FILES[path]
    renamed = (
        text.replace("Purse", "Wallet")
        .replace("parse", "read")
        .replace("Parse", "Read")
        .replace("add", "plus")
    )
    assert find_losses({path: text}, {path: renamed}) == ()
    weaker = (
        text.replace("toBe(3)", "toBe(4)").replace("(got, 3)", "(got, 4)").replace("got != 3", "got != 4")
    )
    assert find_losses({path: text}, {path: weaker}) != ()
    (first, *_) = find_losses({path: text}, {})
    assert first.path == path
    assert find_losses({path: text}, {}, (path,)) == ()
    assert "parse" in find_losses({path: text}, {path: "}"})[0].what


NAMED_TABLES = {
    "a loop over tests": (
        "a.test.ts",
        (
            "const cases = [\n  { a: 1, sum: 2 },\n  { a: 2, sum: 3 },\n] as const;\n"
            "for (const c of cases) {\n  test(`${c.a}`, () => { expect(add(c.a, 1)).toBe(c.sum); });\n}\n"
        ),
        "{ a: 2, sum: 3 }",
    ),
    "a loop within a test": (
        "a.test.ts",
        (
            "test('adds', () => {\n  const cases = [{ a: 1, sum: 2 }, { a: 2, sum: 3 }];\n"
            "  for (const c of cases) { expect(add(c.a, 1)).toBe(c.sum); }\n});\n"
        ),
        "{ a: 2, sum: 3 }",
    ),
    "the pairs of an object": (
        "a.test.ts",
        (
            "const cases = { one: 2, two: 3 };\n"
            "for (const [name, sum] of Object.entries(cases)) {\n"
            "  test(name, () => { expect(add(name)).toBe(sum); });\n}\n"
        ),
        "two: 3",
    ),
    "test.each": (
        "a.test.ts",
        (
            "const cases = [[1, 2], [2, 3]];\n"
            "test.each(cases)('adds %i', (a, sum) => { expect(add(a, 1)).toBe(sum); });\n"
        ),
        "[2, 3]",
    ),
    "forEach": (
        "a.test.ts",
        (
            "const cases = [[1, 2], [2, 3]];\n"
            "cases.forEach(([a, sum]) => { test(`${a}`, () => { expect(add(a, 1)).toBe(sum); }); });\n"
        ),
        "[2, 3]",
    ),
    "an array in Rust": (
        "tests/a.rs",
        (
            "#[test]\nfn adds() {\n    let cases = [(1, 2), (2, 3)];\n"
            "    for (a, sum) in cases.iter() {\n        assert_eq!(add(a, 1), sum);\n    }\n}\n"
        ),
        "(2, 3)",
    ),
    "a constant in Rust": (
        "tests/a.rs",
        (
            "const CASES: &[(i32, i32)] = &[(1, 2), (2, 3)];\n\n#[test]\nfn adds() {\n"
            "    for (a, sum) in CASES {\n        assert_eq!(add(a, 1), sum);\n    }\n}\n"
        ),
        "(2, 3)",
    ),
}


@pytest.mark.parametrize("kind", NAMED_TABLES)
def test_a_table_that_has_a_name_may_grow_and_loses_no_row_unseen(kind: str) -> None:
    path, text, row = NAMED_TABLES[kind]
    grown = text.replace(row, f"{row}, {row.replace('2', '7')}")
    assert lost(path, text, grown) == set()
    assert lost(path, text, text.replace(f", {row}", "").replace(f"\n  {row},", "")) == {"cases"}


def test_a_table_may_be_declared_by_the_name_that_it_had() -> None:
    text = "#[test]\nfn adds() {\n    let c = c.iter();\n    for a in c {\n        assert!(a);\n    }\n}\n"
    assert lost("tests/a.rs", text, text) == set()
