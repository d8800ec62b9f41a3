"""`tdd stub` on Go: in the test's own package or another of the module, with types that the text tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.tool_worlds import GO, GO_CONFIG, make_go_world, make_tool_world
from support.tools import why_not
from support.turns import World
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.languages.registry import beyond_stubs
from verdigris.turns.stub import Stubbed, write_stubs

MONEY_TEST = """\
package calc

import (
	"errors"
	"testing"
)

func TestMoney(t *testing.T) {
	m := NewMoney(1, "EUR")
	if m.Format() != "1 EUR" {
		t.Fatal(m.Format())
	}
	coin := Coin{Value: 5, Name: "five"}
	if coin.Value != 5 {
		t.Fatal(coin)
	}
	got, err := Split(10, []int{1, 2})
	if !errors.Is(err, ErrSplit) {
		t.Fatal(err)
	}
	want := 3.5
	if got != want {
		t.Fatal(got)
	}
	if !IsRound(Limit) {
		t.Fatal()
	}
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   int
		want string
	}{{"one", 1, "I"}} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Roman(tt.in); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
"""

OUTSIDE = """\
package calc_test

import (
	"testing"

	"example.com/demo/calc"
	"example.com/demo/shop"
)

func TestSub(t *testing.T) {
	if calc.Sub(3, calc.Add(1, 1)) != shop.Price() {
		t.Fatal()
	}
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_tool_world(tmp_path / "w", GO_CONFIG, GO)


def shown(world: World, path: str, text: str, *said: str) -> dict[str, str]:
    world.write(path, text)
    found = missing_stubs(world.project, path, said)
    for stub in found:
        before = (world.root / stub.path).read_bytes() if not stub.new else None
        assert beyond_stubs(stub.path, before, stub.whole.encode()) is None
    return {stub.path: stub.text for stub in found}


def test_types_come_from_what_a_call_is_given_and_compared_with(world: World) -> None:
    text = shown(world, "calc/money_test.go", MONEY_TEST)["calc/money.go"]
    for line in (
        "package calc",
        "func NewMoney(n int, s string) *Money {",
        "type Money struct {}",
        "func (m Money) Format() string {",
        "type Coin struct {",
        "\tValue int",
        "\tName string",
        "func Split(n int, items []int) (float64, error) {",
        "var ErrSplit error // STUB:TDD",
        "func Roman(in int) string {",
    ):
        assert line in text.splitlines()


def test_a_test_outside_asks_the_package_that_it_imports(world: World) -> None:
    found = shown(world, "calc/sub_test.go", OUTSIDE)
    assert found["calc/sub.go"].endswith('func Sub(a int, b int) any {\n\tpanic("STUB:TDD")\n}\n')
    assert found["shop/shop.go"] == 'package shop\n\nfunc Price() any {\n\tpanic("STUB:TDD")\n}\n'


JOIN = """\
package calc

import "testing"

func TestJoin(t *testing.T) {
	words := []string{"a b", "c"}
	if got := Count(0, Join(words)); got != 2 {
		t.Fatal(got)
	}
}
"""


def test_the_type_of_a_result_comes_from_the_function_that_takes_it(world: World) -> None:
    world.write("calc/split.go", "package calc\n\nfunc Count(from, to int, text string) int { return 0 }\n")
    found = shown(world, "calc/join_test.go", JOIN.replace("Count(0, Join", "Count(0, 1, Join"))
    assert "func Join(words []string) string {" in found["calc/join.go"]
    found = shown(world, "calc/join_test.go", JOIN)
    assert "func Join(words []string) int {" in found["calc/join.go"]


def test_what_is_declared_is_left_alone(world: World) -> None:
    assert shown(world, "calc/add_test.go", GO["calc/add_test.go"]) == {}


ENGINE = """\
package calc

type Engine struct {
	Group
	Name string
}

type Route struct {
	Name string
}

type Doer interface {
	Do()
}

func Build() (*Route, Doer) { return nil, nil }
"""
USES_ENGINE = """\
package calc

import "testing"

func TestEngine(t *testing.T) {
	e := &Engine{}
	e.Handle("/", 3)
	r := &Route{}
	if r.Match("/") {
		t.Fatal(r.limit)
	}
	got, doer := Build()
	if got.Find(1) != "x" || got.depth != 2 {
		t.Fatal(doer.Undo())
	}
}
"""


def test_an_existing_type_is_kept_and_grows(world: World) -> None:
    world.write("calc/engine.go", ENGINE)
    found = shown(world, "calc/engine_test.go", USES_ENGINE)
    assert found == {
        "calc/engine.go": "\tlimit any // STUB:TDD\n\n"
        'func (r *Route) Match(s string) bool {\n\tpanic("STUB:TDD")\n}\n'
    }


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("e.Handle undefined (type *Engine has no field or method Handle)", "func (e *Engine) Handle("),
        (
            "got.Find undefined (type *Route has no field or method Find)",
            "func (r *Route) Find(n int) string {",
        ),
        ("got.depth undefined (type *Route has no field or method depth)", "\tdepth int // STUB:TDD"),
    ],
)
def test_the_compiler_says_whose_member_is_missing(world: World, said: str, written: str) -> None:
    world.write("calc/engine.go", ENGINE)
    found = shown(world, "calc/engine_test.go", USES_ENGINE, f"calc/engine_test.go:7: {said}")
    assert written in found["calc/engine.go"]


def test_an_interface_gets_no_method(world: World) -> None:
    world.write("calc/engine.go", ENGINE)
    said = "doer.Undo undefined (type Doer has no field or method Undo)"
    assert "Undo" not in shown(world, "calc/engine_test.go", USES_ENGINE, said)["calc/engine.go"]


@pytest.mark.slow
@pytest.mark.usefixtures("recorded_tools")
def test_the_test_is_then_a_valid_red(tmp_path: Path) -> None:
    if why := why_not("go", "version"):
        pytest.skip(why)
    world = make_go_world(tmp_path / "w", GO_CONFIG, GO)
    world.write("calc/money_test.go", MONEY_TEST)
    tested = world.test("calc/money_test.go")
    assert "calc/money_test.go" in tested.stubs
    assert isinstance(write_stubs(world.project, "calc/money_test.go", cwd=world.root), Stubbed)
    for name in ("TestMoney", "TestTable"):  # one by one: a panic ends a run of Go's tests
        test = f"calc/money_test.go::{name}"
        assert {run.test_id: run.red for run in world.test(test).tests}[test] == "valid"
