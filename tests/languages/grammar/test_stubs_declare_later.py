from __future__ import annotations

import pytest

from verdigris.languages.registry import reader_of

TS = """\
import { x } from "./x";
const LIMIT = 3;
export function old(a: number) { return helper(a) + LIMIT; }
function helper(a: number) { return x(a); }
export class Box { m() { return 1; } }
"""
LATER_TS = """\
import { y } from "./y";
const LIMIT = 4;
export const RATE = 0.5;
export const twice = (n: number): number => n * 2;
export function old(a: number) { return y(a) + LIMIT; }
export default async function fresh(n = 2): Promise<number> { return n; }
export interface Step { by: number }
export class Box { m() { return 2; } get size() { return 1; } }
register(Box);
"""
DECLARED_TS = """\
import { y } from "./y";
const LIMIT = 3;
export const RATE = undefined as any;
export const twice = (n: number): number => { throw new Error("STUB:TDD"); };
export function old(a: number) { return helper(a) + LIMIT; }
export default async function fresh(n = 2): Promise<number> { throw new Error("STUB:TDD"); }
export interface Step { by: number }
export class Box { m() { return 1; } get size() { throw new Error("STUB:TDD"); } }


import { x } from "./x";

function helper(a: number) { return x(a); }
"""
JS = "function a() { return 1; }\nmodule.exports = { a };\n"
LATER_JS = """\
const fs = require("fs");
function a() { return 1; }
function b(x) { return fs.existsSync(x); }
module.exports = { a, b };
exports.c = function (q) { return q; };
exports.d = 5;
"""
DECLARED_JS = """\
const fs = require("fs");
function a() { return 1; }
function b(x) { throw new Error("STUB:TDD"); }
module.exports = { a, b };
exports.c = function (q) { throw new Error("STUB:TDD"); };
exports.d = undefined;
"""
GO = """\
package calc

import "strings"

func Up(s string) string {
	return strings.ToUpper(s)
}

func Down(s string) string { return strings.ToLower(s) }
"""
LATER_GO = """\
package calc

import (
	"errors"
	"fmt"
)

var ErrNone = errors.New("none")

const Limit = 5

const (
	Low = iota
	High
)

type Box struct{ N int }

func (b *Box) Add(n int) error { return fmt.Errorf("no %d", n) }

func Up(s string) string { return s }
"""
DECLARED_GO = """\
package calc

import "strings"

import (
	"errors"
	_ "fmt"
)

var ErrNone = errors.New("none")

const Limit = 0

const (
	Low = iota
	High
)

type Box struct{ N int }

func (b *Box) Add(n int) error {
	panic("STUB:TDD")
}

func Up(s string) string {
	return strings.ToUpper(s)
}

func Down(s string) string { return strings.ToLower(s) }
"""
RUST = """\
use std::fmt;
pub struct A { n: i32 }
impl A {
    pub fn get(&self) -> i32 { self.n }
}
#[cfg(test)]
mod tests { use super::*; #[test] fn a() { assert_eq!(A { n: 1 }.twice(), 2); } }
"""
LATER_RUST = """\
mod more;
pub const LIMIT: u32 = 4;
#[derive(Debug, PartialEq)]
pub struct A { n: i32 }
impl A {
    pub fn get(&self) -> i32 { self.n + 0 }
    pub fn twice(&self) -> i32 { self.n * 2 }
}
pub fn same<T: Clone>(t: T) -> T where T: Copy { t }
#[cfg(test)]
mod tests { use super::*; #[test] fn a() { assert_eq!(A { n: 1 }.twice(), 2); } }
"""
DECLARED_RUST = """\
mod more;
pub const LIMIT: u32 = 0;
#[derive(Debug, PartialEq)]
pub struct A { n: i32 }
impl A {
    pub fn get(&self) -> i32 { self.n }
    pub fn twice(&self) -> i32 { unimplemented!("STUB:TDD") }
}
pub fn same<T: Clone>(t: T) -> T where T: Copy { unimplemented!("STUB:TDD") }
#[cfg(test)]
mod tests { use super::*; #[test] fn a() { assert_eq!(A { n: 1 }.twice(), 2); } }

use std::fmt;
"""


def declare(path: str, before: str, after: str, *, old_work: bool = True) -> str | None:
    made = reader_of(path).stubs.declare(path, before.encode(), after.encode(), old_work=old_work)
    return None if made is None else made.decode()


@pytest.mark.parametrize(
    ("path", "before", "after", "made"),
    [
        ("src/a.ts", TS, LATER_TS, DECLARED_TS),
        ("src/a.js", JS, LATER_JS, DECLARED_JS),
        ("a.go", GO, LATER_GO, DECLARED_GO),
        ("src/lib.rs", RUST, LATER_RUST, DECLARED_RUST),
    ],
)
def test_what_is_new_is_declared_without_its_work_and_what_was_there_does_what_it_did(
    path: str, before: str, after: str, made: str
) -> None:
    assert declare(path, before, after) == made


def test_a_compiler_is_given_stubs_for_whatever_changed() -> None:
    after = GO.replace("s string)", "s string, n int)", 1).replace("(s)", "(s[:n])", 1)
    made = declare("a.go", GO, after, old_work=False)
    assert made is not None
    assert 'func Up(s string, n int) string {\n\tpanic("STUB:TDD")\n}' in made
    assert "return strings.ToLower(s)" in made
    assert declare("src/a.ts", TS, LATER_TS, old_work=False) is None


@pytest.mark.parametrize("path", ["src/a.ts", "a.go", "src/lib.rs"])
def test_what_no_grammar_reads_is_not_declared(path: str) -> None:
    assert declare(path, "", "((") is None


def test_a_text_that_is_the_same_stays_the_same() -> None:
    assert declare("a.go", GO, GO) == GO
    assert declare("src/lib.rs", RUST, RUST) == RUST
