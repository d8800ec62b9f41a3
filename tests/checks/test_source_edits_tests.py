"""Rust's tests among source: the gate, the tripwire, claims and settlements hold them apart from the rest."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_world
from verdigris.checks import source_edits
from verdigris.checks.observation import difference
from verdigris.checks.source_edits import on_disk, only_for_tests
from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.gates.quick.fallback import refresh
from verdigris.gates.quick.quick import _is_allowed
from verdigris.storage import quick_state
from verdigris.storage.project import Project, open_project
from verdigris.turns.claim_check import Claimed
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.test_bug import report_bug
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.write import write

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.turns.tripwire import Tripped

RUST = "  - root: .\n    language: rust\n    runner: cargo\n"
LIB = "src/lib.rs"
SOURCE = "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n"
TESTS = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
"""
STUB = "\npub fn half(_a: i64) -> i64 {\n    todo!()\n}\n"
HALVES = TESTS.replace(
    "    #[test]", "    #[test]\n    fn halves() {\n        assert_eq!(half(4), 2);\n    }\n\n    #[test]"
)
HELPER = """\
use super::*;

fn check(n: i64) {
    assert_eq!(add(n, n), 2 * n);
}

#[test]
fn twice() {
    check(2);
}
"""
RED = "src/lib.rs::tests::halves"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(
        tmp_path / "repo", RUST, **{LIB: SOURCE + TESTS, "Cargo.toml": '[package]\nname = "money"\n'}
    )


@pytest.fixture
def green(world: World) -> World:
    world.write(LIB, SOURCE + STUB + HALVES)
    world.red_by_record(RED)
    assert isinstance(world.claim(RED, LIB), Claimed)
    return world


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "session", "claude"))


def wrote(world: World, text: str, path: str = LIB) -> Decision:
    return write(agent(world), {path: text.encode()}, cwd=world.root)


def called(world: World, path: str, text: str) -> Tripped:
    assert not before_call(agent(world))
    subprocess.run(["tee", path], cwd=world.root, input=text.encode(), stdout=subprocess.DEVNULL, check=True)
    return after_call(agent(world))


def test_in_red_tests_are_free_and_the_rest_may_gain_stubs(world: World) -> None:
    assert isinstance(wrote(world, SOURCE + HALVES), Allow)
    assert isinstance(wrote(world, SOURCE + STUB + HALVES), Allow)
    denied = wrote(world, SOURCE + STUB.replace("todo!()", "_a / 2") + HALVES)
    assert isinstance(denied, Deny)
    assert denied.rule == "red-first"


def test_in_green_the_rest_is_free_and_tests_are_frozen(green: World) -> None:
    done = STUB.replace("todo!()", "_a / 2")
    assert isinstance(wrote(green, SOURCE + done + HALVES), Allow)
    assert isinstance(wrote(green, SOURCE + done + HALVES.replace("    fn", "  fn")), Allow)
    for tests in (
        HALVES.replace("2);", "4);"),
        "",
        HALVES + "#[test]\nfn more() {}\n",
        HALVES.replace("}", "", 1),
    ):
        denied = wrote(green, SOURCE + done + tests)
        assert isinstance(denied, Deny), tests
        assert denied.rule == "frozen-oracle"
        assert LIB in denied.reason
        assert "test-bug" in denied.next
    assert isinstance(wrote(green, "#[test]\nfn more() {}\n", "src/more.rs"), Deny)
    assert isinstance(wrote(green, "pub fn more() {}\n", "src/more.rs"), Allow)


def test_the_quick_entry_leaves_such_source_to_the_slow_one(green: World) -> None:
    assert refresh(green.project)
    known = quick_state.read(str(green.project.repo.private))
    assert known is not None
    assert not _is_allowed(known, LIB)


def test_a_shell_that_changes_both_keeps_what_it_may(green: World) -> None:
    done = STUB.replace("todo!()", "_a / 2")
    tripped = called(green, LIB, SOURCE + done + HALVES.replace("2);", "4);"))
    assert tripped.put_back == (LIB,)
    assert "It decides the verdict" in tripped.text
    assert green.read(LIB) == SOURCE + done + HALVES
    assert not called(green, LIB, SOURCE + done + "\n\n" + HALVES)


def test_in_red_the_source_of_a_shell_goes_back_and_its_tests_stay(world: World) -> None:
    tripped = called(world, LIB, SOURCE.replace("a + b", "a - b") + HALVES)
    assert tripped.put_back == (LIB,)
    assert world.read(LIB) == SOURCE + HALVES


def test_a_settlement_of_changed_tests_is_tampered(green: World) -> None:
    done = STUB.replace("todo!()", "_a / 2")
    green.write(LIB, SOURCE + done + HALVES.replace("2);", "4);"))
    settled = settle(agent(green))
    assert isinstance(settled, Settlement)
    assert settled.verdict.kind == "tampered"
    assert green.read(LIB) == SOURCE + done + HALVES


def test_a_claim_sees_what_the_tests_among_source_lost(world: World) -> None:
    world.write(LIB, SOURCE + STUB + HALVES.replace("assert_eq!(add(1, 2), 3)", "assert!(add(1, 2) > 0)"))
    world.red_by_record(RED)
    denied = world.claim(RED, LIB)
    assert isinstance(denied, Deny)
    assert denied.rule == "weakened"


def test_a_claim_sees_source_that_was_written_before_the_red(world: World) -> None:
    world.write(LIB, SOURCE.replace("a + b", "b + a") + STUB + HALVES)
    world.red_by_record(RED)
    denied = world.claim(RED, LIB)
    assert isinstance(denied, Deny)
    assert denied.rule == "source-before-red"


def test_a_test_bug_names_a_line_of_the_tests(green: World) -> None:
    line = (SOURCE + STUB + HALVES).splitlines().index("        assert_eq!(half(4), 2);") + 1
    reported = report_bug(green.project, [f"{LIB}:{line}"], "four", cwd=green.root)
    assert not isinstance(reported, Deny)
    assert green.state.phase is Phase.RED


def test_a_module_that_only_tests_load_is_theirs_as_a_whole(world: World) -> None:
    world.write(LIB, SOURCE + TESTS + "#[cfg(test)]\nmod checks;\n")
    assert only_for_tests("src/checks.rs", on_disk(world.project))
    assert isinstance(wrote(world, HELPER, "src/checks.rs"), Allow)
    world.red_by_record("src/checks.rs::checks::twice")
    assert isinstance(world.claim("src/checks.rs::checks::twice", LIB), Claimed)
    denied = wrote(world, HELPER.replace("2 * n", "n"), "src/checks.rs")
    assert isinstance(denied, Deny)
    assert denied.rule == "frozen-oracle"
    tree = world.project.workspace.snapshot()
    assert source_edits.test_texts(world.project, tree, ["src/checks.rs"]) == {"src/checks.rs": HELPER}
    world.write("src/checks.rs", HELPER.replace("2 * n", "n"))
    found = difference(world.project, tree, world.project.workspace.snapshot())
    assert (found.oracle, found.source) == (("src/checks.rs",), ())


def test_source_does_not_become_a_test_by_a_second_declaration(world: World) -> None:
    world.write("src/calc.rs", "pub fn one() -> u8 {\n    1\n}\n")
    before = world.project.workspace.snapshot()
    world.write(LIB, "mod calc;\n" + SOURCE + "#[cfg(test)]\nmod calc;\n")
    assert not only_for_tests("src/calc.rs", on_disk(world.project))
    world.write("src/calc.rs", "pub fn one() -> u8 {\n    2\n}\n")
    found = difference(world.project, before, world.project.workspace.snapshot())
    assert "src/calc.rs" in [change.path for change in found.source]
