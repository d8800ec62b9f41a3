from __future__ import annotations

from pathlib import Path

import pytest

from support.tool_worlds import GO, GO_CONFIG, NODE, NODE_CONFIG, RUST, RUST_CONFIG, make_tool_world
from support.turns import SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.checks.weakening import describe_weakening, find_losses
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import Revised
from verdigris.languages.findings import Weakening
from verdigris.turns.claim_check import Claimed
from verdigris.turns.person import revise

WEAKER = TEST_ADD.replace("== 5", "> 0")
GUARDED = TEST_ADD.replace("assert", "if 0: assert")


def claimed(world: World) -> Claimed | Deny:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    return world.claim(SUB_ID, "calc.py")


@pytest.mark.parametrize(
    "text",
    [
        WEAKER,
        "",
        TEST_ADD.replace("def test_add", "def add_test"),
        GUARDED,
    ],
    ids=["weaker", "removed", "renamed-away", "guarded"],
)
def test_a_claim_is_refused_while_the_suite_lost_something(world: World, text: str) -> None:
    world.write("tests/test_add.py", text)
    denied = claimed(world)
    assert isinstance(denied, Deny)
    assert denied.rule == "weakened"
    assert "tests/test_add.py" in denied.reason


def test_a_deleted_test_file_is_a_loss(world: World) -> None:
    (world.root / "tests/test_add.py").unlink()
    denied = claimed(world)
    assert isinstance(denied, Deny)
    assert denied.rule == "weakened"


@pytest.mark.parametrize("name", ["tests/test_add.py", "tests/test_add.py::test_add", "tests"])
def test_a_persons_reason_lifts_it_and_stays_in_the_log(world: World, name: str) -> None:
    world.write("tests/test_add.py", WEAKER)
    assert revise(world.project, [name], "sums are only known to be positive") == (name,)
    assert isinstance(claimed(world), Claimed)
    (event,) = world.events(Revised)
    assert isinstance(event, Revised)
    assert event.why == "sums are only known to be positive"


def test_a_revision_needs_a_reason(world: World) -> None:
    with pytest.raises(UserError):
        revise(world.project, ["tests/test_add.py"], "  ")


@pytest.mark.parametrize(
    "text",
    [
        TEST_ADD.replace("def test_add", "def test_adds_numbers"),
        TEST_ADD + "    assert calc.add(0, 0) == 0\n",
        TEST_ADD.replace("assert calc.add(2, 3) == 5", "total = calc.add(2, 3)\n    assert total == 5"),
        TEST_ADD.replace("import calc\n", "import calc  # the calculator\n"),
    ],
    ids=["renamed", "stronger", "reflowed", "comment"],
)
def test_renaming_reformatting_and_more_assertions_are_not_a_fight(world: World, text: str) -> None:
    world.write("tests/test_add.py", text)
    assert isinstance(claimed(world), Claimed)


def test_what_a_class_no_longer_inherits_from_another_file_is_a_loss(tmp_path: Path) -> None:
    contract = "class Contract:\n    def test_it(self):\n        assert self.one == 1\n"
    box = "from contract import Contract\n\n\nclass TestBox(Contract):\n    one = 1\n"
    world = make_world(tmp_path / "repo", **{"tests/contract.py": contract, "tests/test_box.py": box})
    world.write("tests/test_box.py", box.replace("(Contract)", ""))
    denied = claimed(world)
    assert isinstance(denied, Deny)
    assert "TestBox::test_it" in denied.reason


@pytest.mark.parametrize(
    ("config", "files", "path", "before"),
    [
        (NODE_CONFIG, NODE, "test/add.test.js", "it("),
        (RUST_CONFIG, RUST, "tests/add.rs", "#[test]"),
        (GO_CONFIG, GO, "calc/add_test.go", "func Test"),
    ],
    ids=["node", "rust", "go"],
)
def test_an_annotations_slug_is_a_name_in_every_language(
    tmp_path: Path, config: str, files: dict[str, str], path: str, before: str
) -> None:
    text = files[path].replace(before, f"// @tdd-id: sum\n{before}")
    world = make_tool_world(tmp_path / "repo", config, {**files, path: text})
    world.write(path, text[: text.index("// @tdd-id")])
    tree = world.project.workspace.snapshot()
    assert find_losses(world.project, world.state, tree).blocking
    revise(world.project, ["sum"], "nobody adds any more")
    assert not find_losses(world.project, world.state, tree).blocking


@pytest.mark.quick
def test_a_check_that_reads_as_before_is_not_told_as_a_change_of_its_text() -> None:
    same = Weakening("changed", "tests/test_a.py", 9, "assert size == LIMIT", "assert size == LIMIT")
    assert describe_weakening(same) == (
        "tests/test_a.py:9: changed: `assert size == LIMIT` reads as before; names in it come from elsewhere"
    )
    other = Weakening("changed", "tests/test_a.py", 9, "assert a == 1", "assert a == 2")
    assert describe_weakening(other) == "tests/test_a.py:9: changed: was `assert a == 1` is `assert a == 2`"
