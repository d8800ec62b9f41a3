"""Rounds of a user of vitest, of Rust and of Go: what they write first, and what they try to get round."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.hooks import Client
from support.node_tools import installed, present
from support.pages import project_files
from support.tool_worlds import GO_CONFIG, NODE_CONFIG, RUST_CONFIG, make_go_world, make_tool_world
from support.tools import why_not
from support.turns import World
from verdigris.core.actions import Deny
from verdigris.core.state import LaidAside
from verdigris.core.verdict import Kind
from verdigris.turns.aside import lay_unclaimed_aside
from verdigris.turns.claim_check import Claimed
from verdigris.turns.person import revise
from verdigris.turns.refactor import Begun, begin, end
from verdigris.turns.settle import Settlement
from verdigris.turns.test_bug import report_bug

pytestmark = pytest.mark.slow
LATER = project_files("cart_later")
"""Tests that users write in the projects below."""


def edit(world: World, path: str, old: str, new: str) -> str:
    """As the client would: the hook is asked, and what it allows is written."""
    text = world.read(path)
    assert text.count(old) == 1, (old, text)
    file = str(world.root / path)
    said = Client(world).before("Edit", file_path=file, old_string=old, new_string=new)
    if said == "pass":
        world.write(path, text.replace(old, new))
    return said


def red(world: World, *words: str) -> str:
    """The one valid red that a run finds."""
    [found] = [run.test_id for run in world.test(*words).tests if run.red == "valid"]
    return found


def refactored(world: World) -> Settlement:
    done = end(world.project)
    assert isinstance(done, Settlement)
    return done


# -- TypeScript -------------------------------------------------------------------------------

NODE = project_files("cart_node")
CART, CART_TEST = NODE["src/cart.ts"], NODE["src/cart.test.ts"]
CHEAPEST = """
export function cheapest(items: Item[]): Item | undefined {
  return [...items].sort((a, b) => a.price - b.price)[0];
}
"""


@pytest.fixture
def vitest(tmp_path: Path) -> World:
    present()
    return make_tool_world(tmp_path / "cart", NODE_CONFIG, NODE, installed("vitest@2"))


@pytest.mark.usefixtures("compared_tools")
def test_vitest_with_the_hook_between(vitest: World) -> None:
    assert vitest.test().passed
    assert edit(vitest, "src/cart.ts", "sum + item.price", "sum - item.price") == "red-first"
    vitest.write("src/cheapest.test.ts", LATER["src/cheapest.test.ts"])
    assert red(vitest, "src/cheapest.test.ts::cheapest") == "cheapest"
    assert edit(vitest, "src/cart.ts", CART, CART + CHEAPEST) == "pass"
    assert [claim.implied for claim in vitest.state.claims.values()] == [True]
    assert edit(vitest, "src/cheapest.test.ts", '.toBe("b")', ".toBeTruthy()") == "frozen-oracle"
    assert edit(vitest, "vitest.config.ts", "{}", '{ exclude: ["src/cart.test.ts"] }') == "frozen-oracle"
    assert vitest.settle().verdict.kind is Kind.ACCEPTED


@pytest.mark.usefixtures("recorded_tools")
def test_vitest_tests_that_are_configured_away_and_a_table_with_another_row(vitest: World) -> None:
    assert vitest.test().passed
    vitest.write("src/cheapest.test.ts", LATER["src/cheapest.test.ts"])
    vitest.write("vitest.config.ts", 'export default { test: { exclude: ["src/cart.test.ts"] } };\n')
    vitest.claimed(red(vitest, "src/cheapest.test.ts"), "src/cart.ts")
    vitest.write("src/cart.ts", CART + CHEAPEST)
    verdict = vitest.settle().verdict
    assert verdict.kind is Kind.WEAKENED
    assert any("src/cart.test.ts::total › adds [5] to 5: " in reason for reason in verdict.reasons)
    report_bug(vitest.project, ["src/cheapest.test.ts:7"], "the configuration hides others", cwd=vitest.root)
    vitest.write("vitest.config.ts", "export default { test: {} };\n")
    vitest.write("src/cart.test.ts", CART_TEST.replace("[[5], 5]", "[[6], 6]"))
    vitest.claimed(red(vitest, "src/cheapest.test.ts"), "src/cart.ts")
    assert vitest.settle().verdict.kind is Kind.ACCEPTED
    assert isinstance(begin(vitest.project, uncovered=False), Begun)
    (vitest.root / "src/cheapest.test.ts").rename(vitest.root / "src/lowest.test.ts")
    assert refactored(vitest).verdict.kind is Kind.ACCEPTED


@pytest.mark.usefixtures("recorded_tools")
def test_vitest_titles_that_are_expressions_and_a_receiver_without_a_name(vitest: World) -> None:
    vitest.write("src/money.test.ts", LATER["src/money.test.ts"])
    stub = CART + "\n// STUB:TDD\nexport class Money {\n  constructor(public amount: number) {}\n}\n"
    assert edit(vitest, "src/cart.ts", CART, stub) == "pass"
    assert red(vitest, "src/money.test.ts") == "src/money.test.ts::1 euro"
    good = "  format(): string {\n    return `${this.amount} EUR`;\n  }\n}\n"
    made = stub.replace("// STUB:TDD\n", "").removesuffix("}\n") + good
    assert edit(vitest, "src/cart.ts", stub, made) == "pass"
    assert vitest.settle().verdict.kind is Kind.ACCEPTED


# -- Rust -------------------------------------------------------------------------------------

LIB = project_files("cart_cargo")["src/lib.rs"]
MODULE = "#[cfg(test)]\nmod tests {\n"
AVERAGE_STUB = "pub fn average(_prices: &[u32]) -> u32 {\n    todo!() // STUB:TDD\n}\n\n"
AVERAGE = "pub fn average(prices: &[u32]) -> u32 {\n    total(prices) / prices.len() as u32\n}\n\n"
AVERAGE_TEST = """\
    #[test]
    fn average_of_two() {
        assert_eq!(average(&[1, 2]), 2);
    }

"""
AVERAGE_ID = "src/lib.rs::tests::average_of_two"


@pytest.fixture
def crate(tmp_path: Path) -> World:
    if why := why_not("cargo", "--version"):
        pytest.skip(why)
    return make_tool_world(tmp_path / "cart", RUST_CONFIG, project_files("cart_cargo"))


@pytest.mark.usefixtures("recorded_tools")
def test_rust_with_tests_in_the_source_file(crate: World) -> None:
    """A wrong test, beside the code that it asks for: each goes back and comes again on its own."""
    lib = "src/lib.rs"
    assert edit(crate, lib, "    #[test]\n", AVERAGE_TEST + "    #[test]\n") == "pass"
    assert edit(crate, lib, MODULE, AVERAGE + MODULE) == "red-first"
    assert edit(crate, lib, MODULE, AVERAGE_STUB + MODULE) == "pass"
    assert red(crate, AVERAGE_ID) == AVERAGE_ID
    assert edit(crate, lib, AVERAGE_STUB, AVERAGE) == "pass"
    assert edit(crate, lib, "&[1, 2]), 2)", "&[1, 2]), 1)") == "frozen-oracle"
    assert crate.settle().verdict.kind is Kind.STILL_RED
    line = 1 + crate.read(lib)[: crate.read(lib).index("average(&[")].count("\n")
    report_bug(crate.project, [f"{lib}:{line}"], "rounds down", cwd=crate.root)
    assert AVERAGE_STUB in crate.read(lib)
    assert edit(crate, lib, "&[1, 2]), 2)", "&[1, 2]), 1)") == "pass"
    crate.claimed(red(crate, AVERAGE_ID), lib)
    assert AVERAGE in crate.read(lib)
    assert crate.settle().verdict.kind is Kind.ACCEPTED


@pytest.mark.usefixtures("recorded_tools")
def test_rust_tests_move_to_a_file_of_their_own(crate: World) -> None:
    assert isinstance(begin(crate.project, uncovered=False), Begun)
    code, _, tests = LIB.partition(MODULE)
    crate.write("src/lib.rs", code + "#[cfg(test)]\nmod tests;\n")
    crate.write("src/tests.rs", tests.rstrip().removesuffix("}").replace("of_nothing", "is_nothing"))
    assert refactored(crate).verdict.kind is Kind.ACCEPTED
    crate.write("src/tests.rs", "")
    crate.write("tests/average.rs", "#[test]\nfn of_one() {\n    assert_eq!(cart::average(&[2]), 2);\n}\n")
    crate.write("src/lib.rs", code + AVERAGE_STUB + "#[cfg(test)]\nmod tests;\n")
    one = red(crate, "tests/average.rs")
    denied = crate.claim(one, "src/lib.rs")
    assert isinstance(denied, Deny)
    assert denied.rule == "weakened"
    revise(crate.project, ["src/tests.rs::tests::is_nothing"], "nobody asks")
    assert isinstance(crate.claim(one, "src/lib.rs"), Claimed)


@pytest.mark.usefixtures("compared_tools")
def test_rust_an_answer_that_cannot_be_unwrapped_is_a_red(crate: World) -> None:
    """But not what the test itself needed before it asked."""
    stub = "// STUB:TDD\npub fn parse(_text: &str) -> Result<u32, String> {\n    Err(String::new())\n}\n\n"
    assert edit(crate, "src/lib.rs", MODULE, stub + MODULE) == "pass"
    crate.write("tests/parse.rs", LATER["tests/parse.rs"])
    found = {run.test_id.rpartition("::")[2]: run.red for run in crate.test("tests/parse.rs").tests}
    assert found == {"unwraps": "valid", "returns": "valid", "opens": "not-behaviour"}


# -- Go ---------------------------------------------------------------------------------------

SUM, SUM_TEST = (project_files("cart_go")[path] for path in ("sum.go", "sum_test.go"))
MAX = """
func Max(prices []int) int {
	best := 0
	for _, price := range prices {
		if price > best {
			best = price
		}
	}
	return best
}
"""
MAX_STUB = '\nfunc Max(prices []int) int {\n\tpanic("STUB:TDD")\n}\n'


@pytest.fixture
def module(tmp_path: Path) -> World:
    if why := why_not("go", "version"):
        pytest.skip(why)
    return make_go_world(tmp_path / "cart", GO_CONFIG, project_files("cart_go"))


@pytest.mark.usefixtures("compared_tools")
def test_go_a_row_of_a_table_is_one_red(module: World) -> None:
    row = '\t\t{"refunds do not count", []int{-1, 2}, 2},\n'
    module.write("sum_test.go", SUM_TEST.replace('\t\t{"two', f'{row}\t\t{{"two'))
    runs = module.test("./...").tests
    assert [run.test_id for run in runs if run.red == "valid"] == [
        "sum_test.go::TestTotal",
        "sum_test.go::TestTotal/refunds_do_not_count",
    ]
    assert edit(module, "sum.go", "sum += price", "sum += max(price, 0)") == "pass"
    assert list(module.state.claims) == ["sum_test.go::TestTotal/refunds_do_not_count"]
    assert edit(module, "sum_test.go", row, "") == "frozen-oracle"
    assert module.settle().verdict.kind is Kind.ACCEPTED


@pytest.mark.usefixtures("recorded_tools")
def test_go_code_before_its_test_steps_aside_for_a_stub_and_comes_back(module: World) -> None:
    assert module.test().passed
    module.write("sum.go", SUM + MAX)
    assert isinstance(lay_unclaimed_aside(module.project), LaidAside)
    module.write("max_test.go", LATER["max_test.go"])
    module.write("sum_test.go", f"//go:build never\n\n{SUM_TEST}")
    module.write("sum.go", SUM + MAX_STUB)
    module.claimed(red(module, "max_test.go"), "sum.go")
    assert module.read("sum.go") == SUM + MAX
    verdict = module.settle().verdict
    assert verdict.kind is Kind.WEAKENED
    assert "sum_test.go::TestTotal" in verdict.reasons[0]
