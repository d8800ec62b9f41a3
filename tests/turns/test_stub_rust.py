"""`tdd stub` on Rust: the module that a path leads to, its `mod` line, and types that the text tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.tool_worlds import RUST, RUST_CONFIG, make_tool_world
from support.tools import why_not
from support.turns import World
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.languages.registry import beyond_stubs
from verdigris.turns.stub import Stubbed, write_stubs

MONEY_TEST = """\
use demo::money::{Fault, Money};

#[test]
fn formats() {
    let m = Money::new(1, "EUR");
    assert_eq!(m.format(), "1 EUR");
    assert_eq!(m.amount, 1);
    assert!(m.is_round(&[1, 2]));
}

#[test]
fn fails() {
    assert_eq!(demo::money::parse("x"), Err(Fault::Empty));
    assert_eq!(demo::money::parse("1"), Ok(1));
    assert_eq!(demo::money::unit("1"), Some("EUR"));
    assert_eq!(demo::sub(3, 2), 1);
    assert_eq!(demo::add(3, 2), 5);
}
"""
INSIDE = """\
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        let got = half(4.0);
        assert_eq!(got, add(1, 1) as f64);
        assert_eq!(half(2.0), 1.0);
        assert_eq!(names(vec!["a"]).unwrap(), 3);
    }
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_tool_world(tmp_path / "w", RUST_CONFIG, RUST)


def shown(world: World, path: str, text: str) -> dict[str, str]:
    world.write(path, text)
    found = missing_stubs(world.project, path)
    for stub in found:
        before = (world.root / stub.path).read_bytes() if not stub.new else None
        assert beyond_stubs(stub.path, before, stub.whole.encode()) is None
    return {stub.path: stub.text for stub in found}


def test_a_new_module_with_its_types(world: World) -> None:
    found = shown(world, "tests/money.rs", MONEY_TEST)
    root, money = found["src/lib.rs"].splitlines(), found["src/money.rs"].splitlines()
    assert "pub mod money;" in root
    assert "pub fn sub(_a: i32, _b: i32) -> i32 {" in root
    for line in (
        "pub struct Money {",
        "    pub amount: i32,",
        "    pub fn new(_number: i32, _text: &str) -> Self {",
        "    pub fn format(&self) -> String {",
        "    pub fn is_round(&self, _items: &[i32]) -> bool {",
        "pub fn parse(_text: &str) -> Result<i32, Fault> {",
        "pub fn unit(_text: &str) -> Option<&'static str> {",
        "pub enum Fault {",
        "    Empty,",
    ):
        assert line in money


def test_a_test_among_the_source_asks_its_own_module(world: World) -> None:
    stub = shown(world, "src/lib.rs", INSIDE)["src/lib.rs"]
    assert stub.splitlines()[0] == "pub fn half(_number: f64) -> f64 {"
    assert "pub fn names(_items: Vec<&str>) -> Result<i32, String> {" in stub.splitlines()
    whole = missing_stubs(world.project, "src/lib.rs")[0].whole
    assert whole.index("pub fn half") < whole.index("#[cfg(test)]")


def test_what_is_declared_is_left_alone(world: World) -> None:
    assert shown(world, "tests/add.rs", RUST["tests/add.rs"]) == {}


@pytest.mark.slow
@pytest.mark.usefixtures("recorded_tools")
def test_the_test_is_then_a_valid_red(world: World) -> None:
    if why := why_not("cargo", "--version"):
        pytest.skip(why)
    world.write("tests/money.rs", MONEY_TEST)
    assert isinstance(write_stubs(world.project, "tests/money.rs", cwd=world.root), Stubbed)
    tested = world.test("tests/money.rs")
    assert {run.test_id: run.red for run in tested.tests} == {
        "tests/money.rs::formats": "valid",
        "tests/money.rs::fails": "valid",
    }, tested.report


@pytest.mark.slow
@pytest.mark.usefixtures("recorded_tools")
def test_so_is_one_among_the_source(world: World) -> None:
    if why := why_not("cargo", "--version"):
        pytest.skip(why)
    world.write("src/lib.rs", INSIDE)
    assert "src/lib.rs" in world.test("src/lib.rs").stubs
    assert isinstance(write_stubs(world.project, "src/lib.rs", cwd=world.root), Stubbed)
    assert [run.red for run in world.test("src/lib.rs").tests if run.test_id.endswith("halves")] == ["valid"]
