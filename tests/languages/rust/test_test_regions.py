from __future__ import annotations

import pytest

from verdigris.languages.rust.test_regions import (
    has_tests,
    is_test_line,
    modules_for_tests,
    only_tests,
    oracle_part,
    with_tests_of,
    without_tests,
)

SOURCE = b"""\
//! Money.
use std::fmt;

pub struct Money { pub cents: i64 }

impl Money {
    pub fn new(cents: i64) -> Self { Self { cents } }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}", self.cents) }
}
"""
TESTS = b"""\
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows() {
        assert_eq!(Money::new(5).to_string(), "5");
    }
}
"""


def test_a_test_module_is_the_oracles_and_the_rest_is_source() -> None:
    data = SOURCE + b"\n" + TESTS
    assert has_tests(data)
    assert not has_tests(SOURCE)
    assert without_tests(data).rstrip() == SOURCE.rstrip()
    assert only_tests(data).strip() == TESTS.strip()
    assert without_tests(data).count(b"\n") == only_tests(data).count(b"\n") == data.count(b"\n")


def test_source_may_grow_around_the_tests() -> None:
    grown = SOURCE + b"\npub fn zero() -> Money { Money::new(0) }\n" + TESTS + b"\npub fn last() {}\n"
    assert oracle_part(grown) == oracle_part(SOURCE + TESTS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"5"', b'"6"'),
        (b"assert_eq!", b"assert_ne!"),
        (b"    #[test]\n", b"    #[test]\n    #[ignore]\n"),
        (b"#[cfg(test)]", b"#[cfg(all(test, never))]"),
        (b"#[cfg(test)]\n", b""),
        (b"fn shows", b"fn r#shows"),
        (b'"5"', b'" 5"'),
        (b"use super::*;", b"/* use super::*; */"),
    ],
)
def test_any_change_of_the_test_text_is_a_difference(old: bytes, new: bytes) -> None:
    data = SOURCE + TESTS
    assert oracle_part(data) != oracle_part(data.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"    fn shows() {\n", b"    fn shows()\n    {\n"),
        (
            b'assert_eq!(Money::new(5).to_string(), "5");',
            b'assert_eq!(\n    Money::new(5).to_string(),\n    "5",\n);',
        ),
        (b"\n", b"\r\n"),
    ],
)
def test_layout_has_no_weight(old: bytes, new: bytes) -> None:
    data = SOURCE + TESTS
    assert oracle_part(data) == oracle_part(data.replace(old, new))


def test_a_tuple_of_one_is_not_a_parenthesis() -> None:
    data = b"#[test]\nfn one() { assert_eq!(f(), (1,)); }\n"
    assert oracle_part(data) != oracle_part(data.replace(b"(1,)", b"(1)"))


@pytest.mark.parametrize(
    "item",
    [
        b"#[test]\nfn outside() { assert!(true); }",
        b"#[tokio::test]\nasync fn waits() -> Result<(), E> { f().await?; Ok(()) }",
        b"#[rstest]\n#[case(1, 2)]\nfn table(#[case] a: i32, #[case] b: i32) {}",
        b'#[test_case(1 ; "one")]\nfn cases(n: i32) {}',
        b'#[cfg(all(test, feature = "x"))]\nmod more {}',
        b"#[cfg(test)]\npub(crate) use crate::{a, b::{c, d}};",
        b"#[cfg(test)]\nimpl super::Money { fn fake() -> Self { Self { cents: 1 } } }",
        b"#[cfg(test)]\nconst TABLE: [(i32, i32); 2] = [(1, 2), { (3, 4) }];",
        b"#[cfg(test)]\nmacro_rules! check { ($a:expr) => { assert!($a) } }",
        b"#[cfg(test)]\nthread_local!(static X: u8 = 1);",
        b'#[cfg(test)]\n#[path = "x.rs"]\nmod elsewhere;',
        b'#[should_panic(expected = "no")]\n#[test]\nfn panics() {}',
        b"/// Says why.\n// @tdd-id: one\n#[test]\nfn told() {}",
        b"#[test]\nfn odd() -> R<{ 0 }> { assert!(f()); R }",
        b'#[cfg(test)]\nextern "C" { fn getpid() -> i32; }',
        b"#[cfg(any(test, all(test, x)))]\nunsafe fn any() {}",
        b"#[cfg(test)]\npub const fn fixed() -> u8 { 1 }",
    ],
)
def test_what_only_tests_have(item: bytes) -> None:
    before, after = b"fn a() -> u8 { b'{' }\n", b"\nfn z<'a>(s: &'a str) -> char { '\"' }\n"
    data = before + item + after
    assert without_tests(data).split() == (before + after).split()
    assert only_tests(data).strip() == item


@pytest.mark.parametrize(
    "text",
    [
        b"#[cfg(not(test))]\nfn real() {}",
        b'#[cfg(any(test, feature = "testing"))]\npub fn fake() {}',
        b"#[cfg_attr(test, derive(Debug))]\nstruct A;",
        b"// #[cfg(test)] mod tests {}\nfn f() {}",
        b'fn f() -> &\'static str { "#[cfg(test)] mod tests {}" }',
        b'fn f() -> &\'static str { r#"" #[test] fn x() {}"# }',
        b"/* /* #[test] */ fn x() {} */ fn test() {}",
        b"fn f() { #[cfg(test)] { g(); } #[cfg(test)] return; if cfg!(test) {} }",
        b"struct S { #[cfg(test)] seen: u8 }",
        b"/// ```\n/// assert_eq!(test(), 1);\n/// ```\nfn test() {}",
        b"",
    ],
)
def test_what_stays_source(text: bytes) -> None:
    assert not has_tests(text)
    assert without_tests(text) == text


def test_a_whole_file_may_be_tests() -> None:
    data = b"#![cfg(test)]\nuse super::*;\nfn helper() {}\n#[test]\nfn x() {}\n"
    assert without_tests(data).strip() == b""
    assert only_tests(data) == data


def test_modules_in_files_of_their_own_are_named() -> None:
    data = (
        b"#[cfg(test)]\nmod tests;\nmod other;\n#[cfg(test)] pub(super) mod fakes;\n#[cfg(test)] mod t {}\n"
    )
    assert modules_for_tests(data) == {"tests", "fakes"}
    assert modules_for_tests(data + b"mod tests;\n") == {"fakes"}


@pytest.mark.parametrize(
    "junk",
    [
        b"#[cfg(test)] mod tests {",
        b'#[test] fn x() { "',
        b"#[test] /* fn x() {}",
        b"#[test",
        b"#[cfg(test)]",
        b"#[test] fn x(",
        b'test r##"abc"#',
        b"mod a { #[cfg(test)] use }",
        b"\xff\xfe#[test] fn \x00(",
    ],
)
def test_what_cannot_be_read_counts_whole(junk: bytes) -> None:
    assert oracle_part(junk) == junk
    assert without_tests(junk) == b""


def test_source_that_is_half_written_leaves_the_tests_readable() -> None:
    data = b"fn f() { if x {\n" + TESTS
    assert oracle_part(data) == oracle_part(TESTS)


def test_junk_that_has_no_tests_is_source() -> None:
    assert oracle_part(b'fn f() { "') == b""


def test_frozen_tests_go_back_into_source_that_went_on() -> None:
    frozen = SOURCE + TESTS
    now = b"// more\n" + SOURCE.replace(b"cents }", b"cents: cents + 1 }") + TESTS.replace(b'"5"', b'"6"')
    assert with_tests_of(frozen, now) == now.replace(b'"6"', b'"5"')
    assert with_tests_of(frozen, SOURCE) == SOURCE + b"\n" + TESTS
    assert with_tests_of(frozen, frozen + b"#[test]\nfn more() {}\n") is None
    assert with_tests_of(frozen, b'#[test] fn x() { "') is None


def test_a_line_is_of_the_tests_or_not() -> None:
    data = SOURCE + TESTS
    first = SOURCE.count(b"\n") + 1
    assert is_test_line(data, first)
    assert is_test_line(data, first + 6)
    assert not is_test_line(data, first - 1)
