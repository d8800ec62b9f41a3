from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import canned
from support.gitrepo import GitRepo, make_repo
from support.turns import (
    CALC,
    CONFIG,
    MUL,
    SUB,
    SUB_ID,
    TEST_ADD,
    TEST_SUB,
    THEIRS,
    World,
    branch_off,
    make_world,
)
from verdigris.checks.observation import difference, find_unclaimed
from verdigris.core.actions import Deny, FileWrite, Write
from verdigris.core.events import Ground, HeadSeen, Resumed, Suspended
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.records import Actor
from verdigris.core.state import LaidAside, Phase, WorktreeState
from verdigris.storage.calls.call_records import folder_of
from verdigris.storage.project import Project, open_project
from verdigris.turns import refactor
from verdigris.turns.aside import lay_unclaimed_aside, restore
from verdigris.turns.claim_check import Claimed
from verdigris.turns.operation import operation
from verdigris.turns.person import switch_off, switch_on
from verdigris.turns.settle import settle


def looked(world: World) -> WorktreeState:
    """The state after a command that does nothing but look."""
    with operation(world.project) as state:
        return state


def loose(world: World) -> list[str]:
    """Source that no claim covers, as the next command sees it."""
    ground = looked(world).ground
    assert ground is not None
    return [u.path for u in find_unclaimed(world.project, ground, world.project.workspace.snapshot())]


@dataclass(frozen=True, slots=True)
class AgentsWorld(World):
    """The same project, at which an agent looks: what is committed there is its own work."""

    @property
    def project(self) -> Project:
        return open_project(self.root, Actor("agent", client="test"))


def by_agent(world: World) -> World:
    """A call of the agent has left its record, so that what git did may be its work."""
    calls = Path(folder_of(str(world.project.repo.private)))
    calls.mkdir(parents=True, exist_ok=True)
    (calls / "1").write_bytes(b"+".ljust(65))
    return AgentsWorld(world.repo)


@pytest.fixture
def forked(world: World) -> World:
    """`side` has a new module, an edited one, a new test, and has deleted another."""
    branch_off(
        world.repo,
        {"tests/test_theirs.py": "import theirs\n\n\ndef test_theirs():\n    assert theirs.theirs()\n"},
    )
    world.repo.write("tests/test_add.py", TEST_ADD)
    looked(world)
    return world


# -- two trees, apart by class -----------------------------------------------------------------


def test_a_difference_is_told_apart_by_class(world: World) -> None:
    before = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("README.md", "words\n")
    world.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-q"\n')
    found = difference(world.project, before, world.project.workspace.snapshot())
    assert [c.path for c in found.source] == ["calc.py"]
    assert found.oracle == ("pyproject.toml", "tests/test_sub.py")
    assert [c.path for c in found.other] == ["README.md"]
    assert set(found.protected) == {"calc.py", "pyproject.toml", "tests/test_sub.py"}


def test_a_mixed_file_whose_runner_keys_are_the_same_is_other(world: World) -> None:
    before = world.project.workspace.snapshot()
    world.write("pyproject.toml", '[project]\nname = "calc"\n')
    found = difference(world.project, before, world.project.workspace.snapshot())
    assert [c.path for c in found.other] == ["pyproject.toml"]


def test_a_deletion_is_unclaimed_and_a_stub_is_not(world: World) -> None:
    world.write("stub.py", "def later():  # STUB:TDD\n    raise NotImplementedError\n")
    (world.root / "calc.py").unlink()
    assert loose(world) == ["calc.py"]


# -- plain commits -----------------------------------------------------------------------------


def test_an_agents_commit_changes_nothing_and_a_persons_is_ground(world: World) -> None:
    before = looked(world)
    world.write("README.md", "words\n")
    commit = world.repo.commit("docs")
    after = looked(by_agent(world))
    assert (after.ground, after.phase) == (before.ground, before.phase)
    assert world.events(HeadSeen) == [HeadSeen(commit=commit, on="main")]
    assert looked(by_agent(world)) == after
    world.repo.commit("by a person", mine="x")
    assert looked(world).ground == world.project.workspace.snapshot()


def test_tests_that_an_agent_committed_are_compared_until_a_verdict_accepts_them(world: World) -> None:
    """Else a commit would hide what the suite lost, as soon as anybody looks."""
    before = looked(world).ground
    world.write("tests/test_add.py", TEST_ADD.replace("== 5", "is not None"))
    world.repo.commit("weaker")
    assert looked(by_agent(world)).ground == before
    assert looked(world).ground == before
    world.repo.commit("by a person", mine="x")
    ground = looked(world).ground
    assert ground is not None
    assert world.project.workspace.read(ground, "tests/test_add.py") == TEST_ADD.encode()
    assert world.project.workspace.read(ground, "mine") == b"x"


def test_source_that_an_agent_committed_in_a_turn_is_set_aside_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    agents = by_agent(world)
    agents.green_by_record()
    world.write("calc.py", CALC + MUL)
    world.repo.commit("unearned")
    assert agents.settle().verdict.kind == "still-red"
    world.write("calc.py", CALC + MUL + "\n\nA = 1\n")
    assert agents.settle().aside == "a1"
    assert world.read("calc.py") == CALC
    assert loose(agents) == []
    assert loose(world) == []


def test_an_unclaimed_edit_stays_unclaimed_when_an_agent_commits_it(world: World) -> None:
    world = by_agent(world)
    world.write("calc.py", CALC + SUB)
    world.repo.commit("no red")
    assert loose(world) == ["calc.py"]
    world.repo.git("commit", "--quiet", "--amend", "--message", "still none")
    assert loose(world) == ["calc.py"]
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    denied = world.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "source-before-red"


def test_a_commit_in_an_open_turn_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    canned.can(monkeypatch)
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    turn = world.state.turn
    world.repo.commit("work in progress")
    assert looked(world).turn == turn
    assert world.settle().accepted == (SUB_ID,)
    assert loose(world) == []


def test_a_new_branch_here_changes_nothing(world: World) -> None:
    world.green_by_record()
    world.repo.git("switch", "--quiet", "--create", "feature")
    state = looked(world)
    assert (state.phase, state.turn and state.turn.suspended) == (Phase.GREEN, False)
    assert state.head is not None
    assert state.head.on == "feature"


# -- HEAD moves in red -------------------------------------------------------------------------


def by_switch(world: World, tmp_path: Path) -> None:
    world.repo.git("switch", "--quiet", "side")


def by_merge(world: World, tmp_path: Path) -> None:
    world.write("mine.md", "mine\n")
    world.repo.commit("mine")
    world.repo.git("merge", "--quiet", "--no-edit", "side")


def by_rebase(world: World, tmp_path: Path) -> None:
    world.write("mine.md", "mine\n")
    world.repo.commit("mine")
    world.repo.git("rebase", "--quiet", "side")


def by_pull(world: World, tmp_path: Path) -> None:
    mate = world.repo.clone(tmp_path / "mate")
    mate.git("merge", "--quiet", "origin/side")
    world.repo.git("pull", "--quiet", "--ff-only", str(mate.root), "main")


MOVES = [by_switch, by_merge, by_rebase, by_pull]


@pytest.mark.parametrize("move", MOVES)
def test_a_move_in_red_brings_new_ground(
    forked: World, tmp_path: Path, move: Callable[[World, Path], None]
) -> None:
    move(forked, tmp_path)
    assert loose(forked) == []
    state = forked.state
    assert (state.phase, state.turn) == (Phase.RED, None)
    assert state.ground is not None
    assert forked.project.workspace.read(state.ground, "calc.py") == (CALC + MUL).encode()
    assert forked.project.workspace.read(state.ground, "tests/test_add.py") is None
    grounds = [e for e in forked.events(Ground) if isinstance(e, Ground)]
    assert grounds[-1].why == "HEAD moved"
    assert {"calc.py", "theirs.py", "tests/test_add.py"} <= set(grounds[-1].paths)


def test_an_edit_carried_over_a_switch_stays_unclaimed(forked: World) -> None:
    forked.write("extra.py", "X = 1\n")
    forked.repo.git("switch", "--quiet", "side")
    assert loose(forked) == ["extra.py"]


def test_what_is_committed_here_and_switched_to_in_one_stretch_stays_unclaimed(forked: World) -> None:
    forked = by_agent(forked)
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("no red")
    forked.repo.git("switch", "--quiet", "side")
    forked.repo.git("switch", "--quiet", "main")
    assert loose(forked) == ["calc.py"]


def test_what_was_committed_here_without_a_red_is_no_ground_on_the_way_back(forked: World) -> None:
    forked = by_agent(forked)
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("no red")
    assert loose(forked) == ["calc.py"]
    forked.repo.git("switch", "--quiet", "side")
    assert loose(forked) == []
    forked.repo.git("switch", "--quiet", "main")
    assert loose(forked) == ["calc.py"]


@pytest.mark.parametrize(
    "argv",
    [
        ("merge", "--quiet", "--no-ff", "--no-edit", "work"),
        ("cherry-pick", "work"),
        ("rebase", "--quiet", "work"),
    ],
)
@pytest.mark.parametrize("seen", [True, False])
def test_nor_when_it_is_brought_over_from_its_branch(
    forked: World, argv: tuple[str, ...], *, seen: bool
) -> None:
    forked = by_agent(forked)
    forked.repo.git("switch", "--quiet", "--create", "work")
    forked.write("extra.py", "def extra():\n    return 1\n")
    forked.repo.commit("no red")
    assert loose(forked) == ["extra.py"]
    forked.repo.git("switch", "--quiet", "main")
    assert not seen or loose(forked) == []
    forked.repo.commit("mine", mine="x")
    forked.repo.git(*argv)
    assert loose(forked) == ["extra.py"]


def test_nor_when_it_was_committed_in_another_worktree(forked: World, tmp_path: Path) -> None:
    forked = by_agent(forked)
    other = by_agent(added(forked, tmp_path / "other"))
    other.write("extra.py", "def extra():\n    return 1\n")
    other.repo.commit("no red")
    assert loose(other) == ["extra.py"]
    forked.repo.git("merge", "--quiet", "other")
    assert loose(forked) == ["extra.py"]


def test_what_was_committed_while_off_comes_along(forked: World) -> None:
    switch_off(forked.project, "by hand")
    forked.repo.git("switch", "--quiet", "--create", "work")
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("by hand")
    looked(forked)
    forked.repo.git("switch", "--quiet", "main")
    looked(forked)
    switch_on(forked.project)
    forked.repo.git("switch", "--quiet", "work")
    assert loose(forked) == []


def test_what_was_accepted_and_committed_here_is_ground_on_the_way_back(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    forked.green_by_record()
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("not settled yet")
    looked(forked)
    forked.repo.commit("docs", docs="x")
    assert forked.settle().verdict.accepted
    for branch in ("side", "main", "side", "main"):
        forked.repo.git("switch", "--quiet", branch)
        assert loose(forked) == []
    assert forked.read("calc.py") == CALC + SUB


def test_going_back_to_before_accepted_work_is_no_edit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    canned.can(monkeypatch)
    world.repo.git("switch", "--quiet", "--create", "feature")
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    world.repo.commit("earned")
    for branch in ("main", "feature", "main"):
        assert loose(world) == []
        world.repo.git("switch", "--quiet", branch)
    assert loose(world) == []
    world.repo.git("merge", "--quiet", "--no-ff", "--no-edit", "feature")
    assert loose(world) == []
    assert world.read("calc.py") == CALC + SUB


def test_accepted_work_that_is_committed_and_merged_in_one_stretch_is_ground(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    mate = world.repo.clone(tmp_path / "mate")
    mate.write("calc.py", f'"""Sums."""\n\n\n{CALC}')
    mate.commit("a docstring")
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    world.repo.commit("earned")
    world.repo.git("pull", "--quiet", "--no-rebase", "--no-edit", str(mate.root), "main")
    assert world.read("calc.py") == f'"""Sums."""\n\n\n{CALC}{SUB}'
    assert loose(world) == []


# -- HEAD moves under a turn -------------------------------------------------------------------


@pytest.fixture
def turn(forked: World) -> World:
    """Green on `main`, with an edit that `side` does not touch."""
    forked.green_by_record("*.py")
    forked.write("minus.py", SUB.lstrip())
    return forked


@pytest.mark.parametrize("move", [by_switch, by_pull])
def test_a_move_under_a_turn_suspends_it(
    turn: World, tmp_path: Path, move: Callable[[World, Path], None]
) -> None:
    move(turn, tmp_path)
    state = looked(turn)
    assert state.turn is not None
    assert (state.phase, state.turn.suspended) == (Phase.GREEN, True)
    assert turn.project.workspace.read(state.turn.tree, "theirs.py") == THEIRS.encode()
    assert turn.project.workspace.read(state.turn.tree, "minus.py") is None
    assert turn.read("minus.py") == SUB.lstrip()
    assert len(turn.events(Suspended)) == 1


def test_in_a_suspended_turn_source_and_settlement_and_claims_are_denied(turn: World) -> None:
    turn.repo.git("switch", "--quiet", "side")
    settled = settle(turn.project)
    claimed = turn.claim(SUB_ID, "calc.py")
    write = Write((FileWrite("minus.py", PathClass.SOURCE, b"", b"x = 1\n"),))
    written = decide(turn.state, write, turn.project.settings)
    for denied in (settled, claimed, written):
        assert isinstance(denied, Deny)
        assert (denied.rule, denied.next) == ("suspended", f"`tdd test {SUB_ID}`")


def test_a_red_proven_on_the_new_ground_resumes_the_turn(
    turn: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    turn.repo.git("switch", "--quiet", "side")
    tested = turn.test(SUB_ID)
    assert (tested.resumed, [run.red for run in tested.tests]) == (True, ["valid"])
    assert turn.read("minus.py") == SUB.lstrip()
    (resumed,) = turn.events(Resumed)
    assert isinstance(resumed, Resumed)
    assert turn.state.claims[SUB_ID].red == resumed.reds[SUB_ID]
    assert turn.settle().accepted == (SUB_ID,)
    assert loose(turn) == []


@pytest.mark.slow
def test_a_red_is_really_run_again_on_the_new_ground(forked: World) -> None:
    forked.green()
    forked.write("minus.py", SUB.lstrip())
    forked.write("calc.py", CALC)
    forked.repo.git("switch", "--quiet", "side")
    assert forked.test(SUB_ID).resumed
    forked.write("calc.py", CALC + MUL + "\n\nfrom minus import sub  # noqa: E402\n")
    assert forked.settle().accepted == (SUB_ID,)


def test_a_claim_that_is_green_on_the_new_ground_is_given_up(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    mul = "tests/test_mul.py::test_mul"
    forked.write("tests/test_mul.py", TEST_SUB.replace("sub", "mul"))
    forked.write("tests/test_sub.py", TEST_SUB)
    forked.red_by_record(SUB_ID, mul)
    for test_id in (SUB_ID, mul):
        forked.claim(test_id, "minus.py")
    forked.write("minus.py", "")
    forked.repo.git("switch", "--quiet", "side")
    assert forked.test().resumed
    state = forked.state
    assert (list(state.claims), state.phase) == ([SUB_ID], Phase.GREEN)


def test_where_every_claim_is_green_on_the_new_ground_the_edits_are_laid_aside(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    mul = "tests/test_mul.py::test_mul"
    forked.write("tests/test_mul.py", TEST_SUB.replace("sub", "mul"))
    forked.red_by_record(mul)
    forked.claim(mul, "times.py")
    forked.write("times.py", "def times(a, b):\n    return a * b\n")
    forked.repo.git("switch", "--quiet", "side")
    assert not forked.test(mul).resumed
    state = forked.state
    assert (state.phase, state.turn, state.claims) == (Phase.RED, None, {})
    assert state.aside["a1"].paths == ("times.py",)
    assert not (forked.root / "times.py").exists()
    assert forked.read("calc.py") == CALC + MUL


def test_a_turn_whose_test_went_with_the_branch_ends_and_nothing_is_lost(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    forked.repo.git("switch", "--quiet", "--create", "feature")
    forked.green_by_record()
    forked.write("calc.py", CALC + SUB)
    forked.repo.git("add", "tests/test_sub.py")
    forked.repo.git("commit", "--quiet", "--message", "the test")
    looked(forked)
    forked.repo.git("switch", "--quiet", "main")
    state = looked(forked)
    assert state.turn is not None
    assert state.turn.suspended
    tested = forked.test(SUB_ID)
    assert tested.given_up is not None
    assert (tested.given_up.aside, forked.state.phase, forked.read("calc.py")) == ("a1", Phase.RED, CALC)
    forked.repo.git("switch", "--quiet", "feature")
    forked.test(SUB_ID)
    assert isinstance(forked.claim(SUB_ID), Claimed)
    assert restore(forked.project, "a1") == ("calc.py",)
    assert forked.settle().accepted == (SUB_ID,)


def test_in_a_suspended_turn_another_test_is_run_by_its_name(
    turn: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    turn.repo.git("switch", "--quiet", "side")
    turn.write("tests/test_mul.py", TEST_SUB.replace("sub", "mul"))
    tested = turn.test("tests/test_mul.py")
    assert {run.test_id for run in tested.tests} == {"tests/test_mul.py::test_mul"}
    assert not tested.resumed
    assert tested.next == f"`tdd test {SUB_ID}` on the new baseline"
    assert turn.test("tests").resumed


def test_a_turns_own_edits_are_no_ground_on_the_way_back(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    forked.green_by_record()
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("not settled yet")
    looked(forked)
    forked.repo.git("switch", "--quiet", "side")
    looked(forked)
    forked.repo.git("switch", "--quiet", "main")
    assert forked.test(SUB_ID).resumed
    assert forked.read("calc.py") == CALC + SUB
    assert forked.settle().accepted == (SUB_ID,)


def test_a_move_under_a_refactor_is_not_laid_aside_with_it(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.can(monkeypatch)
    refactor.begin(forked.project, uncovered=False)
    forked.write("extra.py", "X = 1\n")
    forked.repo.git("switch", "--quiet", "side")
    assert looked(forked).phase is Phase.REFACTOR
    refactor.abort(forked.project)
    assert forked.state.aside["a1"].paths == ("extra.py",)
    assert (forked.read("calc.py"), forked.read("theirs.py")) == (CALC + MUL, THEIRS)


# -- a worktree that the log has not seen ------------------------------------------------------


def added(world: World, root: Path) -> World:
    """A linked worktree, made behind the kernel's back."""
    world.repo.git("worktree", "add", "--quiet", "-b", root.name, str(root))
    return World(GitRepo(root, world.repo.home))


def test_source_edited_in_an_unseen_worktree_is_not_ground(tmp_path: Path) -> None:
    odd = os.fsdecode(b"line\nbreak \xff.py")
    world = make_world(tmp_path / "repo", **{"gone.py": "X = 1\n", "mode.py": "M = 1\n", odd: "O = 1\n"})
    other = added(world, tmp_path / "other")
    other.write("calc.py", CALC + SUB)
    other.write("new.py", "N = 1\n")
    other.write(odd, "O = 2\n")
    other.write("tests/test_sub.py", TEST_SUB)
    other.write("notes.md", "mine\n")
    (other.root / "gone.py").unlink()
    (other.root / "mode.py").chmod(0o755)
    ground = looked(other).ground
    assert ground is not None
    workspace = other.project.workspace
    assert workspace.read_many(ground, ["calc.py", "new.py", "gone.py", odd]) == {
        "calc.py": CALC.encode(),
        "new.py": None,
        "gone.py": b"X = 1\n",
        odd: b"O = 1\n",
    }
    assert workspace.read(ground, "tests/test_sub.py") == TEST_SUB.encode()
    changed = {c.path for c in workspace.changes(ground, workspace.snapshot())}
    assert changed == {"calc.py", "new.py", "gone.py", "mode.py", odd}
    laid = lay_unclaimed_aside(other.project)
    assert isinstance(laid, LaidAside)
    assert other.read("calc.py") == CALC


def test_a_clean_unseen_worktree_is_ground_as_it_stands(world: World, tmp_path: Path) -> None:
    other = added(world, tmp_path / "other")
    assert looked(other).ground == other.project.workspace.snapshot()
    assert loose(other) == []


def test_source_committed_in_an_unseen_worktree_is_not_ground(world: World, tmp_path: Path) -> None:
    world = by_agent(world)
    other = by_agent(added(world, tmp_path / "other"))
    other.repo.commit("docs", docs="x")
    other.write("calc.py", CALC + SUB)
    other.repo.commit("no red")
    ground = looked(other).ground
    assert ground is not None
    assert other.project.workspace.read(ground, "calc.py") == CALC.encode()
    assert loose(other) == ["calc.py"]


def test_a_flag_in_the_index_hides_no_edit_from_the_first_look(world: World, tmp_path: Path) -> None:
    other = added(world, tmp_path / "other")
    other.repo.git("update-index", "--assume-unchanged", "calc.py")
    other.write("calc.py", CALC + SUB)
    assert loose(other) == ["calc.py"]


def test_line_endings_of_a_checkout_are_no_edit(world: World, tmp_path: Path) -> None:
    world.write(".gitattributes", "*.py text eol=crlf\n")
    world.repo.commit("line endings")
    other = added(world, tmp_path / "other")
    crlf = CALC.replace("\n", "\r\n").encode()
    assert other.repo.read("calc.py") == crlf
    assert loose(other) == []
    again = added(world, tmp_path / "again")
    again.write("calc.py", crlf + b"X = 1\r\n")
    ground = looked(again).ground
    assert ground is not None
    assert again.project.workspace.read(ground, "calc.py") == crlf


def test_source_of_a_submodule_is_taken_as_it_stands(world: World, tmp_path: Path) -> None:
    library = make_repo(tmp_path / "library")
    library.write("lib.py", "L = 1\n")
    library.commit("a library")
    world.repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "vendor"
    )
    world.repo.commit("a submodule")
    clone = World(world.repo.clone(tmp_path / "clone"))
    clone.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert loose(clone) == []


def test_where_head_is_unborn_the_tree_as_it_stands_is_ground(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write("tdd.yaml", CONFIG)
    repo.write("calc.py", CALC)
    world = World(repo)
    assert open_project(repo.root, Actor()).state().ground is None
    assert looked(world).ground == world.project.workspace.snapshot()


def test_a_stub_that_was_committed_is_there_again_after_a_reset(world: World) -> None:
    """What was accepted after it is given up with it; nothing of it has to be earned once more."""
    stubbed = CALC + "\n\ndef sub(a, b):  # STUB:TDD\n    return 0\n"
    world.write("calc.py", stubbed)
    world.write("tests/test_sub.py", TEST_SUB)
    world.repo.commit("test: a red with its stub")
    world.claimed()
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    world.repo.commit("feat: sub")
    looked(world)
    world.repo.git("reset", "--quiet", "--hard", "HEAD~1")
    assert world.read("calc.py") == stubbed
    assert loose(world) == []
    world.claimed()


def test_what_was_never_earned_is_not_earned_by_going_back_to_it(world: World) -> None:
    world = by_agent(world)
    world.write("calc.py", CALC + MUL)
    world.repo.commit("unearned")
    assert loose(world) == ["calc.py"]
    world.write("calc.py", CALC)
    world.repo.commit("taken back")
    looked(world)
    world.repo.git("reset", "--quiet", "--hard", "HEAD~1")
    assert loose(world) == ["calc.py"]
