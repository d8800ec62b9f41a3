"""Stubs in Rust, Go, JavaScript and TypeScript: what the red phase takes, and what it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from verdigris.languages.registry import beyond_stubs

RUST = """\
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Plain,
    Fancy(u8),
}

pub struct Money {
    pub cents: i64,
}

impl Money {
    pub fn new(cents: i64) -> Self {
        Self { cents }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cents)
    }
}

fn width(kind: &Kind) -> u8 {
    match kind {
        Kind::Plain => 1,
        Kind::Fancy(n) => *n,
    }
}
"""
GO = """\
package money

import "fmt"

type Money struct {
	Cents int64
}

type Purse interface {
	Total() Money
}

const (
	Plain = iota
	Fancy
)

func New(cents int64) Money { return Money{Cents: cents} }

func (m Money) Show() string {
	return fmt.Sprintf("%d", m.Cents)
}
"""
TS = """\
import { round } from './round';

export interface Money {
  cents: number;
}

export type Kind = 'plain' | 'fancy';

export enum Level {
  Low,
  High,
}

export class Purse {
  private coins: Money[] = [];

  add(money: Money): void {
    this.coins.push(money);
  }
}

export function total(coins: Money[]): number {
  return round(coins.reduce((sum, coin) => sum + coin.cents, 0));
}

const hidden = (n: number) => n + 1;
"""
JS = """\
const { round } = require('./round');

function total(coins) {
  return round(coins.length);
}

module.exports = { total };
"""


def finding(path: str, before: str | None, after: str) -> str | None:
    found = beyond_stubs(path, None if before is None else before.encode(), after.encode())
    return None if found is None else found.why


@pytest.mark.parametrize(
    "added",
    [
        "pub fn half(&self) -> Money { todo!() }|impl Money {",
        "pub fn half(_m: &Money) -> Money { unimplemented!() }|",
        '/// Halves it.\npub fn half(_m: &Money) -> Money { panic!("STUB:TDD") }|',
        "/// STUB:TDD\n#[derive(Debug)]\npub struct Purse { pub cents: i64 }|",
        "// STUB:TDD\npub fn half(_m: &Money) -> i64 { 0 }|",
        "pub fn half() -> Option<Money> {\n    // STUB:TDD\n    None\n}|",
        "pub fn half(m: &Money) -> Result<Vec<i64>, String> { let _ = m; Ok(Vec::new()) } // STUB:TDD|",
        'pub fn name() -> String { String::from("") } // STUB:TDD|',
        "// STUB:TDD\npub fn first() -> Money { Money { cents: 0 } }|",
        "// STUB:TDD\n#[derive(Debug, Default)]\npub struct Purse { coins: Vec<Money> }|",
        "// STUB:TDD\npub trait Holds { fn total(&self) -> Money; fn empty(&self) -> bool { false } }|",
        """impl std::str::FromStr for Money {
    type Err = String; // STUB:TDD
    fn from_str(_: &str) -> Result<Self, Self::Err> { todo!() }
}|""",
        "impl Money { pub fn zero() -> Self { todo!() } }|",
        "pub mod purse;|",
        "mod inner {\n    pub fn f() -> u8 { todo!() }\n}|",
        "use std::collections::HashMap;|",
        "pub use crate::purse::{Purse, Coin};|",
        "// STUB:TDD\npub const LIMIT: i64 = -1;|",
        "// STUB:TDD\npub type Coins = Vec<Money>;|",
        "pub async fn fetch() -> Money { todo!() }|",
        '// STUB:TDD\n#[derive(thiserror::Error, Debug)]\npub enum Fault { #[error("no {0}")] No(String) }|',
    ],
)
def test_rust_takes(added: str) -> None:
    text, _, within = added.partition("|")
    after = RUST.replace(within, f"{within}\n    {text}") if within else f"{RUST}\n{text}\n"
    assert finding("src/money.rs", RUST, after) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use std::fmt;", "use std::{fmt, io};"),
        ("    Fancy(u8),\n", "    Fancy(u8),\n    Grand, // STUB:TDD\n"),
        (
            "        Kind::Fancy(n) => *n,\n",
            "        Kind::Fancy(n) => *n,\n        Kind::Grand => todo!(),\n",
        ),
        ("pub cents: i64,\n", "pub cents: i64,\n    pub unit: String, // STUB:TDD\n"),
        ("fn width(", "pub(crate) fn width("),
        ("        Self { cents }\n", "        // why\n        Self { cents }\n"),
        ("pub struct Money {\n    pub cents: i64,\n}", "pub struct Money { pub cents: i64 }"),
    ],
)
def test_rust_declarations_may_grow(old: str, new: str) -> None:
    assert old in RUST
    assert finding("src/money.rs", RUST, RUST.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Self { cents }", "Self { cents: cents + 1 }", "was changed"),
        ("        Kind::Plain => 1,\n", "        Kind::Plain => todo!(),\n", "was changed"),
        (
            "        Kind::Plain => 1,\n",
            "        Kind::Grand => todo!(),\n        Kind::Plain => 1,\n",
            "changed",
        ),
        ("*n,\n", "*n,\n        Kind::Grand => 7,\n", "was changed"),
        ("pub cents: i64,\n", "", "was changed"),
        ("#[derive(Debug, Clone, PartialEq)]", "#[derive(Debug)]", "was changed"),
        ("use std::fmt;\n", "use std::fmt;\nfn half(n: i64) -> i64 { n / 2 } // STUB:TDD\n", "does more"),
        ("use std::fmt;\n", "use std::fmt;\npub fn half() -> i64 { 0 }\n", "not marked"),
        ("use std::fmt;\n", 'use std::fmt;\npub fn half() { todo!("{}", f()) }\n', "does more"),
        (
            "use std::fmt;\n",
            "use std::fmt;\nfn a() -> i64 { width(&Kind::Plain).into() } // STUB:TDD\n",
            "does more",
        ),
        ("use std::fmt;\n", "use std::fmt;\nuse crate::prelude::*;\n", "hides"),
        ("use std::fmt;\n", "use std::fmt;\n// STUB:TDD\nstatic X: u8 = f();\n", "constant"),
        ("use std::fmt;\n", "use std::fmt;\nmacro_rules! assert_eq { () => {} }\n", "does work"),
        ("use std::fmt;\n", "#![allow(unused)]\nuse std::fmt;\n", "compiled"),
        (
            "use std::fmt;\n",
            "use std::fmt;\nimpl Drop for Money { fn drop(&mut self) { todo!() } }\n",
            "behaves",
        ),
        ("use std::fmt;\n", "use std::fmt;\n#[ctor]\nfn x() { todo!() }\n", "does work"),
        (
            "use std::fmt;\n",
            "use std::fmt;\n// STUB:TDD\nstruct Kind2;\n// STUB:TDD\ntype Money = Kind2;\n",
            "`Money`",
        ),
        ("fn width(", "fn width(_more: u8, ", "was changed"),
        ("fn width", "fn width(", "syntax error"),
    ],
)
def test_rust_refuses(old: str, new: str, why: str) -> None:
    assert old in RUST
    assert why in (finding("src/money.rs", RUST, RUST.replace(old, new, 1)) or "nothing")


def test_rust_tests_do_not_count() -> None:
    tests = (
        "\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn x() { assert_eq!(f(), 1); }\n}\n"
    )
    assert finding("src/money.rs", RUST, RUST + tests) is None
    assert finding("src/money.rs", RUST + tests, RUST + tests.replace("1", "2")) is None
    assert (
        finding("src/money.rs", RUST + tests, RUST.replace("{ cents }", "{ cents: 1 }") + tests) is not None
    )


def test_a_file_that_its_grammar_does_not_know_may_still_grow() -> None:
    odd = RUST + "\nfn odd() { $ }\n"
    assert finding("src/money.rs", odd, odd + "\npub fn half() { todo!() }\n") is None
    assert finding("src/money.rs", odd, odd.replace("{ cents }", "{ cents: 1 }")) is not None
    assert "cannot be read" in (finding("src/money.rs", odd, odd + "\npub fn half() { $ todo!() }\n") or "")


def test_one_mark_at_the_top_covers_a_new_file() -> None:
    rust = "//! STUB:TDD\npub struct A;\nimpl A {\n    pub fn b(&self) -> u8 { 0 }\n}\n"
    assert finding("src/a.rs", None, rust) is None
    assert "not marked" in (finding("src/a.rs", None, rust.replace("STUB:TDD", "")) or "")
    assert finding("a.go", None, "// STUB:TDD\npackage a\n\nfunc B() int { return 0 }\n") is None
    assert (
        finding("a.ts", None, "// STUB:TDD\nexport const a = (): number => 0;\nexport class B { c() {} }\n")
        is None
    )
    assert (
        finding("a.ts", "export const b = 1;\n", "// STUB:TDD\nexport const b = 1;\nexport const c = 1;\n")
        is not None
    )


@pytest.mark.parametrize(
    "added",
    [
        'func Half(m Money) Money { panic("STUB:TDD") }',
        "// Half halves. STUB:TDD\nfunc Half(m Money) (Money, error) { return Money{}, nil }",
        "func (m *Money) Half() (n int, err error) {\n\t// STUB:TDD\n\treturn\n}",
        'func (m Money) String() string { return "" } // STUB:TDD',
        "// STUB:TDD\nfunc Zero[T any]() T {\n\tvar zero T\n\treturn zero\n}",
        'func Parse(s string) (Money, error) {\n\t_ = s\n\treturn Money{}, errors.New("x")\n} // STUB:TDD',
        '// STUB:TDD\nvar ErrEmpty = errors.New("empty")',
        "// STUB:TDD\nconst Limit = 10",
        "// STUB:TDD\ntype Coin struct {\n\tMoney\n\tName string\n}",
        "// STUB:TDD\ntype Holder interface {\n\tPurse\n\tHold(m Money) error\n}",
        "// STUB:TDD\ntype Kind = int",
        "type Opt func(*Money) // STUB:TDD",
    ],
)
def test_go_takes(added: str) -> None:
    assert finding("money.go", GO, f"{GO}\n{added}\n") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('import "fmt"\n', 'import (\n\t"errors"\n\t"fmt"\n)\n'),
        ("\tCents int64\n", "\tCents int64\n\tUnit  string // STUB:TDD\n"),
        ("\tTotal() Money\n", "\tTotal() Money\n\tAdd(m Money) // STUB:TDD\n"),
        ("\tFancy\n", "\tFancy\n\tGrand // STUB:TDD\n"),
        ("Money{Cents: cents} }", "Money{Cents: cents} } // why"),
    ],
)
def test_go_declarations_may_grow(old: str, new: str) -> None:
    assert old in GO
    assert finding("money.go", GO, GO.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Cents: cents}", "Cents: cents + 1}", "was changed"),
        ("package money", "package purse", "package purse"),
        ("package money", "//go:build ignore\n\npackage money", "does work"),
        ("\tPlain = iota\n", "\tNone = iota // STUB:TDD\n\tPlain\n", "Plain"),
        ("\tCents int64\n", "\tCents int64\n\tsync.Mutex // STUB:TDD\n", "methods"),
        ('import "fmt"\n', 'import "fmt"\nimport _ "embed"\n', "cannot be seen"),
        ('import "fmt"\n', 'import "fmt"\n// int f() { return 1; }\nimport "C"\n', "cannot be seen"),
        ("func New", "func init() {} // STUB:TDD\n\nfunc New", "nobody calls"),
        ("func New", "func Half(n int64) int64 { return n / 2 } // STUB:TDD\n\nfunc New", "does more"),
        ("func New", "func Half() int64 { return 2 }\n\nfunc New", "not marked"),
        ("func New", "// STUB:TDD\nvar X = compute()\n\nfunc New", "constant"),
        ("func New", "// STUB:TDD\nfunc string() int { return 2 }\n\nfunc New", "exists already"),
        ("func New(cents", "func New(unit string, cents", "was changed"),
    ],
)
def test_go_refuses(old: str, new: str, why: str) -> None:
    assert old in GO
    assert why in (finding("money.go", GO, GO.replace(old, new, 1)) or "nothing")


@pytest.mark.parametrize(
    "added",
    [
        "export function half(m: Money): Money { throw new Error('STUB:TDD'); }",
        "// STUB:TDD\nexport function half(m: Money, by = 2): Money | null { return null; }",
        "// STUB:TDD\nexport const half = (m: Money): number => 0;",
        "export const half = async (m: Money): Promise<Money> => {\n  throw new Error('STUB:TDD');\n};",
        "// STUB:TDD\nexport async function load(): Promise<Money> { return Promise.resolve({} as Money); }",
        "// STUB:TDD\nexport interface Coin extends Money { name?: string }",
        "// STUB:TDD\nexport type Coins = ReadonlyArray<Money>;",
        "// STUB:TDD\nexport enum Shape { Round = 'round', Flat = 'flat' }",
        "// STUB:TDD\nexport const LIMIT = 10;",
        """// STUB:TDD
export class Coin extends Purse {
  static size = 1;
  constructor(readonly name: string) {
    super();
  }
  get worth(): number { return 0; }
  toString() { return ''; }
}""",
        "export class Safe {\n  open(): void {\n    throw new Error('STUB:TDD');\n  }\n}",
        "export { Coin } from './coin';",
        "export * from './coin';",
        "import type { Coin } from './coin';",
        "export class NoCoin extends Error {} // STUB:TDD",
        "// STUB:TDD\nexport default function main(): void {}",
        "// STUB:TDD\nexport const Badge = ({ money }: { money: Money }) => null;",
    ],
)
def test_typescript_takes(added: str) -> None:
    assert finding("src/money.ts", TS, f"{TS}\n{added}\n") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{ round }", "{ floor, round }"),
        ("  cents: number;\n", "  cents: number;\n  unit?: string; // STUB:TDD\n"),
        ("'plain' | 'fancy';", "'plain' | 'fancy' | 'grand'; // STUB:TDD"),
        ("  High,\n", "  High,\n  Top, // STUB:TDD\n"),
        ("const hidden", "export const hidden"),
        (
            "  add(money",
            "  // STUB:TDD\n  label = '';\n  take() {\n    throw new Error('STUB:TDD');\n  }\n  add(money",
        ),
        ("this.coins.push(money);", "this.coins.push(money)"),
    ],
)
def test_typescript_declarations_may_grow(old: str, new: str) -> None:
    assert old in TS
    assert finding("src/money.ts", TS, TS.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("sum + coin.cents", "sum - coin.cents", "was changed"),
        ("  Low,\n", "  Lowest, // STUB:TDD\n  Low,\n", "at the end"),
        ("'plain' | 'fancy'", "'fancy'", "was changed"),
        ("export class Purse {", "export class Purse extends Base {", "was changed"),
        ("  add(money", "  constructor() {\n    throw new Error('STUB:TDD');\n  }\n  add(money", "behaves"),
        ("  add(money", "  toJSON() {\n    throw new Error('STUB:TDD');\n  }\n  add(money", "behaves"),
        ("const hidden", "import './effects';\nconst hidden", "effects"),
        ("const hidden", "console.log(1);\nconst hidden", "does work"),
        ("const hidden", "export const half = (n: number) => n / 2; // STUB:TDD\nconst hidden", "constant"),
        ("const hidden", "export const half = compute(); // STUB:TDD\nconst hidden", "constant"),
        ("const hidden", "export function half() { return 1; }\nconst hidden", "not marked"),
        ("const hidden", "export function half(n = f()) {} // STUB:TDD\nconst hidden", "default"),
        ("const hidden", "export class A extends mixin(B) {} // STUB:TDD\nconst hidden", "base class"),
        ("const hidden", "@sealed\nexport class A {} // STUB:TDD\nconst hidden", "does work"),
        ("{ round }", "{ floor }", "is gone"),
        ("total(coins: Money[])", "total(coins: Money[], more = 1)", "was changed"),
        ("const hidden", "export const half = (", "syntax error"),
    ],
)
def test_typescript_refuses(old: str, new: str, why: str) -> None:
    assert old in TS
    assert why in (finding("src/money.ts", TS, TS.replace(old, new, 1)) or "nothing")


@pytest.mark.parametrize(
    "after",
    [
        JS.replace("{ total }", "{ total, half }").replace(
            "module", "// STUB:TDD\nfunction half() {}\n\nmodule"
        ),
        JS + "// STUB:TDD\nmodule.exports.half = function () { return null; };\n",
        JS.replace("function total", "const path = require('node:path');\n\nfunction total"),
        JS + "exports.half = total;\n",
        JS + "const Logo = () => <svg />; // STUB:TDD\n",
    ],
)
def test_javascript_takes(after: str) -> None:
    assert finding("lib/money.js", JS, after) is None


def test_javascript_refuses() -> None:
    assert "exists already" in (finding("a.js", JS, JS + "// STUB:TDD\nfunction require() {}\n") or "")
    assert "is gone" in (finding("a.js", JS, JS.replace("{ total }", "{}")) or "")


def test_the_empty_export_of_a_scaffold_may_make_way() -> None:
    stub = "export function add(a: number): number {\n  throw new Error('STUB:TDD');\n}\n"
    assert finding("src/index.ts", "export {};\n", stub) is None
    assert finding("src/index.ts", "export {};\n", f"export {{ }}\n{stub}") is None


def test_what_no_grammar_reads_is_an_edit() -> None:
    assert "no grammar" in (finding("src/App.vue", None, "<template/>") or "")


def test_a_jsx_component_may_be_a_stub() -> None:
    text = "// STUB:TDD\nimport React from 'react';\nexport function App() {\n  return <div />;\n}\n"
    assert finding("src/App.tsx", None, text) is None
    assert finding("src/App.tsx", None, text.replace("<div />", "<div>{load()}</div>")) is not None


def test_python_is_read_without_a_grammar() -> None:
    code = (
        "import sys; import verdigris.turns.write; from verdigris.languages.registry import beyond_stubs;"
        "beyond_stubs('a.py', b'', b'x = 1'); sys.exit('tree_sitter' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
