from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import canned
from support.killing import listing
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import LayingAside
from verdigris.core.records import Actor
from verdigris.core.state import LaidAside, Phase
from verdigris.core.turn_events import next_aside
from verdigris.core.value import replace
from verdigris.turns import aside
from verdigris.turns.aside import drop, lay_unclaimed_aside, list_displaced_files, restore
from verdigris.turns.claim_check import Claimed
from verdigris.turns.person import switch_off, switch_on
from verdigris.turns.test_bug import report_bug

ODD = [
    "with space.py",
    "quo\"te's.py",
    "line\nbreak.py",
    os.fsdecode(b"not-utf8-\xff.py"),
    "deep/er/$HOME.py",
    "-dash.py",
    ":(top)magic.py",
]
LINES = "".join(f"a{n} = {n}\n" for n in range(1, 10))


def lay(world: World, why: str = "two strikes") -> LaidAside:
    """The turn's source edits go, as after two strikes, and the turn with them."""
    state = world.state
    assert state.turn is not None
    tree = world.project.workspace.snapshot()
    changed = world.project.workspace.changes(state.turn.tree, tree)
    paths = tuple(c.path for c in changed if world.project.classify(c.path) == "source")
    intent = LayingAside(aside=next_aside(state), paths=paths, edited=tree, start=state.turn.tree, why=why)
    world.project.record(intent)
    aside.carry_out(world.project, intent)
    return world.state.aside[intent.aside]


def conflict_free(done: tuple[str, ...] | Deny) -> tuple[str, ...]:
    assert not isinstance(done, Deny), done
    return done


def test_every_kind_of_edit_goes_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    world = make_world(
        tmp_path / "repo",
        "    source: ['**/*']\n",
        **{"tool.py": "#!/bin/sh\n", "gone.py": "X = 1\n", "crlf.py": "a = 1\r\n", "plain.py": "P = 1\n"},
    )
    (world.root / "link.py").symlink_to("calc.py")
    switch_off(world.project, "to put a link into the ground")
    switch_on(world.project)
    world.green_by_record(".")
    start = listing(world.root)
    (world.root / "tool.py").chmod(0o755)
    (world.root / "gone.py").unlink()
    (world.root / "link.py").unlink()
    (world.root / "link.py").symlink_to("elsewhere.py")
    (world.root / "plain.py").unlink()
    (world.root / "plain.py").symlink_to("tool.py")
    world.write("crlf.py", b"a = 1\r\nb = 2\r\n\n")
    world.write("data.bin.py", bytes(range(256)))
    world.write("new/module.py", "")
    for number, name in enumerate(ODD):
        world.write(name, f"N = {number}\n")
    edited = listing(world.root)
    laid = lay(world)
    assert listing(world.root) == start
    assert not (world.root / "new").exists()
    assert set(ODD) < set(laid.paths)
    world.green_by_record(".")
    assert set(conflict_free(restore(world.project, laid.id))) == set(laid.paths)
    assert listing(world.root) == edited
    assert world.whole()


def test_index_head_stash_and_other_files_are_untouched(world: World) -> None:
    world.write("calc.py", "# stashed\n")
    world.repo.git("stash", "--quiet")
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    world.repo.git("add", "calc.py", "tests/test_sub.py")
    world.write("calc.py", CALC + SUB + MUL)
    world.write("notes.md", "mine\n")
    before = world.repo.fingerprint()
    laid = lay(world)
    assert world.read("calc.py") == CALC
    world.green_by_record()
    conflict_free(restore(world.project, laid.id))
    assert world.repo.fingerprint() == before
    assert world.read("notes.md") == "mine\n"
    assert world.read("calc.py") == CALC + SUB + MUL


def test_what_was_restored_is_not_laid_aside_any_more(world: World) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    laid = lay(world)
    world.green_by_record()
    conflict_free(restore(world.project, laid.id))
    assert world.state.aside == {}
    assert world.state.phase is Phase.GREEN


@pytest.fixture
def moving(tmp_path: Path) -> World:
    """A module with an edit of its last line set aside, and green again."""
    world = make_world(tmp_path / "repo", **{"many.py": LINES})
    world.green_by_record("many.py")
    world.write("many.py", LINES + "last = 1\n")
    lay(world)
    world.green_by_record("many.py")
    return world


def test_a_restore_is_a_three_way_merge_where_the_tree_moved_on(moving: World) -> None:
    moving.write("many.py", "first = 1\n" + LINES)
    (moving.root / "many.py").chmod(0o755)
    assert conflict_free(restore(moving.project, "a1")) == ("many.py",)
    assert moving.read("many.py") == "first = 1\n" + LINES + "last = 1\n"
    assert (moving.root / "many.py").stat().st_mode & 0o111


def test_a_restore_of_what_is_there_already_is_no_conflict(moving: World) -> None:
    moving.write("many.py", LINES + "last = 1\n")
    conflict_free(restore(moving.project, "a1"))
    assert moving.read("many.py") == LINES + "last = 1\n"


def other_text(path: Path) -> None:
    path.write_text(LINES + "other = 1\n")


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("calc.py")


STUB = "\n\ndef sub(a, b):  # STUB:TDD\n    raise NotImplementedError\n"


@pytest.mark.parametrize("path", ["calc.py", "fresh.py"])
def test_what_comes_back_takes_the_place_of_a_stub(world: World, path: str) -> None:
    """Where a test needs the name to fail at all, it was declared meanwhile."""
    before = CALC if path == "calc.py" else ""
    world.write(path, before + SUB)
    assert isinstance(lay_unclaimed_aside(world.project), LaidAside)
    world.write(path, before + STUB)
    world.green_by_record(path)
    assert world.read(path) == before + SUB
    assert world.state.aside == {}


@pytest.mark.parametrize("move", [other_text, link, os.unlink])
def test_a_conflict_changes_nothing(moving: World, move: Callable[[Path], None]) -> None:
    move(moving.root / "many.py")
    before = listing(moving.root)
    denied = restore(moving.project, "a1")
    assert isinstance(denied, Deny)
    assert denied.rule == "restore-conflict"
    assert "many.py" in denied.reason
    assert "tdd restore a1 --show" in denied.next
    assert listing(moving.root) == before
    assert list(moving.state.aside) == ["a1"]
    assert moving.state.intent is None


def test_a_deletion_comes_back_where_the_tree_did_not_move_or_deleted_it_too(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"many.py": LINES})
    for delete_first in (False, True):
        world.green_by_record("many.py")
        (world.root / "many.py").unlink()
        laid = lay(world)
        assert world.read("many.py") == LINES
        world.green_by_record("many.py")
        if delete_first:
            (world.root / "many.py").unlink()
        conflict_free(restore(world.project, laid.id))
        assert not (world.root / "many.py").exists()
        lay(world)


def test_show_reads_and_changes_nothing(moving: World) -> None:
    before = listing(moving.root)
    assert "+last = 1" in aside.show(moving.project, "a1")
    assert listing(moving.root) == before


@pytest.mark.parametrize("ask", [restore, aside.show])
def test_an_unknown_id_names_the_known_ones(moving: World, ask: Callable[..., object]) -> None:
    with pytest.raises(UserError, match="'a7'") as caught:
        ask(moving.project, "a7")
    assert caught.value.hint == "known: a1"


def test_an_unknown_id_where_nothing_is_laid_aside(world: World) -> None:
    world.green_by_record()
    with pytest.raises(UserError) as caught:
        restore(world.project, "a1")
    assert caught.value.hint == "`tdd status` lists what is set aside"


def test_in_red_a_person_restores_what_an_agent_has_to_claim_first(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    laid = lay_unclaimed_aside(world.project)
    assert isinstance(laid, LaidAside)
    denied = restore(replace(world.project, actor=Actor("agent", "s1", "claude")), laid.id)
    assert isinstance(denied, Deny)
    assert denied.rule == "not-in-phase"
    assert restore(world.project, laid.id) == ("calc.py",)
    assert world.read("calc.py") == CALC + SUB


def test_tests_of_an_aborted_refactor_do_not_come_back_into_a_frozen_oracle(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verdigris.turns import refactor

    canned.can(monkeypatch)
    refactor.begin(world.project, uncovered=False)
    world.write("calc.py", "# better\n" + CALC)
    world.write("tests/test_add.py", "# better\n" + TEST_ADD)
    refactor.abort(world.project)
    assert (world.read("calc.py"), world.read("tests/test_add.py")) == (CALC, TEST_ADD)
    world.green_by_record()
    denied = restore(world.project, "a1")
    assert isinstance(denied, Deny)
    assert (denied.rule, world.read("calc.py")) == ("frozen-oracle", CALC)
    report_bug(world.project, ["tests/test_sub.py:5"], "not now", cwd=world.root)
    refactor.begin(world.project, uncovered=False)
    assert set(conflict_free(restore(world.project, "a1"))) == {"calc.py", "tests/test_add.py"}
    assert world.read("tests/test_add.py") == "# better\n" + TEST_ADD


def test_aside_makes_way_for_a_red_and_the_claim_brings_the_edits_back(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("extra.py", "def more():\n    return 1\n")
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "source-before-red"
    laid = lay_unclaimed_aside(world.project)
    assert isinstance(laid, LaidAside)
    assert (laid.paths, world.read("calc.py")) == (("calc.py", "extra.py"), CALC)
    assert world.read("tests/test_sub.py") == TEST_SUB
    world.red_by_record(SUB_ID)
    claimed = world.claim(SUB_ID, "calc.py")
    assert isinstance(claimed, Claimed)
    assert claimed.restored == ("calc.py", "extra.py")
    assert (world.read("calc.py"), world.state.aside) == (CALC + SUB, {})


def test_aside_leaves_stubs_where_they_are(world: World) -> None:
    stub = "def later():  # STUB:TDD\n    raise NotImplementedError\n"
    world.write("stub.py", stub)
    world.write("calc.py", CALC + SUB)
    laid = lay_unclaimed_aside(world.project)
    assert isinstance(laid, LaidAside)
    assert laid.paths == ("calc.py",)
    assert world.read("stub.py") == stub


def test_aside_of_nothing_is_nothing(world: World) -> None:
    assert lay_unclaimed_aside(world.project) is None


def test_aside_has_no_place_in_a_turn(world: World) -> None:
    world.green_by_record()
    denied = lay_unclaimed_aside(world.project)
    assert isinstance(denied, Deny)
    assert denied.rule == "not-in-phase"


def test_edits_of_a_test_bug_that_no_longer_fit_are_held_back_and_kept(world: World) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    report_bug(world.project, ["tests/test_sub.py:5"], "wrong", cwd=world.root)
    switch_off(world.project, "a person multiplies meanwhile")
    world.write("calc.py", CALC + MUL)
    switch_on(world.project)
    world.red_by_record(SUB_ID)
    claimed = world.claim(SUB_ID, "calc.py")
    assert isinstance(claimed, Claimed)
    assert (claimed.restored, claimed.held_back) == ((), ("a1",))
    assert list(world.state.aside) == ["a1"]


IMPORTER = "def load(text):\n    return text.split(',')\n"
TEST_LOAD = "import importer\n\n\ndef test_load():\n    assert importer.load('a,b') == ('a', 'b')\n"
LOAD_ID = "tests/test_load.py::test_load"


@pytest.fixture
def abandoned(world: World) -> World:
    """An edit of calc.py that was set aside and forgotten, and a red about another module."""
    world.write("importer.py", IMPORTER)
    world.repo.commit("importer")
    world.write("calc.py", CALC + SUB)
    assert isinstance(lay_unclaimed_aside(world.project), LaidAside)
    world.write("tests/test_load.py", TEST_LOAD)
    world.red_by_record(LOAD_ID)
    return world


@pytest.mark.parametrize("targets", [(), ("importer.py",)])
def test_what_is_set_aside_does_not_come_back_with_a_claim_about_something_else(
    abandoned: World, targets: tuple[str, ...]
) -> None:
    """FH F5."""
    claimed = abandoned.claim(LOAD_ID, *targets)
    assert isinstance(claimed, Claimed)
    assert (claimed.restored, abandoned.read("calc.py")) == ((), CALC)
    assert list(abandoned.state.aside) == ["a1"]


@pytest.mark.parametrize("targets", [(), ("calc.py",), ("*.py",)])
def test_it_comes_back_with_a_claim_of_its_file_or_of_a_test_that_imports_it(
    abandoned: World, targets: tuple[str, ...]
) -> None:
    abandoned.write("tests/test_sub.py", TEST_SUB)
    abandoned.red_by_record(SUB_ID)
    claimed = abandoned.claim(SUB_ID, *targets)
    assert isinstance(claimed, Claimed)
    assert (claimed.restored, abandoned.read("calc.py")) == (("calc.py",), CALC + SUB)


def test_what_is_dropped_is_kept_as_displaced(abandoned: World) -> None:
    dropped = drop(abandoned.project, "a1")
    assert dropped == ("calc.py",)
    assert abandoned.state.aside == {}
    (kept,) = list_displaced_files(abandoned.project, "calc.py")
    assert abandoned.project.workspace.blob_bytes(kept.blob) == (CALC + SUB).encode()
    with pytest.raises(UserError):
        drop(abandoned.project, "a1")


def test_a_turn_that_ends_without_edits_leaves_no_empty_entry(world: World) -> None:
    """FH F5: test-bug left entries without files for ever."""
    world.green_by_record()
    report_bug(world.project, ["tests/test_sub.py:5"], "wrong", cwd=world.root)
    assert (world.state.phase, world.state.turn, world.state.aside) == ("red", None, {})


def test_what_gives_way_to_edits_that_come_back_is_kept(world: World) -> None:
    """A comment in the same lines is no more than a stub, yet somebody wrote it."""
    world.write("calc.py", CALC.replace("a + b", "b + a"))
    assert isinstance(lay_unclaimed_aside(world.project), LaidAside)
    commented = CALC.replace("a + b", "a + b  # as in school")
    world.write("calc.py", commented)
    assert restore(world.project, "a1") == ("calc.py",)
    assert world.read("calc.py") == CALC.replace("a + b", "b + a")
    (kept,) = list_displaced_files(world.project, "calc.py")
    assert world.project.workspace.blob_bytes(kept.blob) == commented.encode()
