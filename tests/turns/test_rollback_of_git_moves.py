from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import GitRepo, copied
from support.killing import rehearse
from support.turns import CALC, MUL, SUB, TEST_ADD, World, make_world
from verdigris.core.events import Ground, MovingBack, SwitchedOff
from verdigris.core.records import Actor
from verdigris.gates.agent_shell import agent_git
from verdigris.storage.project import Project, open_project
from verdigris.turns import rollback
from verdigris.turns.git import sync
from verdigris.turns.operation import operation
from verdigris.turns.tripwire.calls import after_call, before_call

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.turns.tripwire import Tripped

READ_ONLY = "mount --bind tests tests && mount -o remount,ro,bind tests || exit 99\n"
"""What the sandbox does to the tests in green."""
THEIRS = TEST_ADD.replace("5", "6")


AGENT = Actor("agent", "session", "claude")


def agent(world: World) -> Project:
    return open_project(world.root, AGENT)


def shell(world: World, script: str, *, caged: bool = False) -> int:
    argv = ["unshare", "--mount", "--map-root-user"] if caged else []
    argv += ["bash", "-c", READ_ONLY + script if caged else script]
    done = subprocess.run(argv, cwd=world.root, env=world.repo.environment, capture_output=True, check=False)
    if (done.returncode in {99, 1} and b"mount" in done.stderr + done.stdout) or b"unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.decode()}")
    return done.returncode


def call(world: World, script: str, *, caged: bool = False) -> Tripped:
    before_call(agent(world))
    shell(world, script, caged=caged)
    return after_call(agent(world))


def stands(world: World) -> dict[str, object]:
    """All that git and a reader of the tree would see."""
    git = world.repo.git
    return {
        "head": (world.root / ".git/HEAD").read_text(),
        "commit": world.repo.head(),
        "main": git("rev-parse", "main"),
        "status": git("status", "--porcelain"),
        "staged": git("diff", "--cached", "--name-status"),
        "stashes": git("stash", "list", "--format=%H"),
        "unfinished": (world.root / ".git/MERGE_HEAD").exists()
        or (world.root / ".git/rebase-merge").exists(),
        "files": {
            os.fspath(p.relative_to(world.root)): p.read_bytes()
            for p in sorted(world.root.rglob("*"))
            if p.is_file() and ".git" not in p.parts
        },
    }


def prepare(root: Path) -> World:
    """`side` edits source and a test, and has a file of its own; `docs` edits notes only."""
    return World(copied(root, _make_branches, "red before git moves"))


def prepare_green(root: Path) -> World:
    return World(copied(root, lambda place: into_green(_make_branches(place)), "green before git moves"))


def _make_branches(root: Path) -> World:
    world = make_world(root, **{"notes.md": "ours\n"})
    git = world.repo.git
    git("switch", "--quiet", "--create", "side")
    world.write("calc.py", CALC + MUL)
    world.write("tests/test_add.py", THEIRS)
    world.write("theirs.md", "theirs\n")
    world.repo.commit("side")
    git("switch", "--quiet", "--create", "docs", "main")
    world.write("notes.md", "theirs\n")
    world.repo.commit("docs")
    git("switch", "--quiet", "main")
    return world


def into_green(world: World) -> World:
    world.green_by_record()
    world.write("other.py", "X = 1\n")
    return world


@pytest.fixture
def red(tmp_path: Path) -> World:
    return prepare(tmp_path / "repo")


@pytest.fixture
def green(tmp_path: Path) -> World:
    return prepare_green(tmp_path / "repo")


MOVES = [
    "git switch -q side",
    "git checkout -q --detach side",
    "git merge -q side",
    "git rebase -q side",
    "git cherry-pick side",
    "git reset -q --hard side",
    "git commit -q --allow-empty -m x; git switch -q side",
    "git symbolic-ref HEAD refs/heads/side; git reset -q --hard",
    "git merge -q side; git status",
    "git stash -u -q",
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """In green; what a test does to it goes back."""
    return prepare_green(tmp_path_factory.mktemp("shared") / "repo")


@pytest.mark.parametrize("caged", [False, True], ids=["bare", "caged"])
@pytest.mark.parametrize("script", MOVES)
def test_a_move_over_frozen_tests_goes_back_whole(shared: World, script: str, *, caged: bool) -> None:
    before = stands(shared)
    tripped = call(shared, script, caged=caged)
    assert stands(shared) == before
    assert "tdd sync --" in tripped.text
    turn = shared.state.turn
    assert turn is not None
    assert not turn.suspended


@pytest.mark.parametrize("caged", [False, True], ids=["bare", "caged"])
def test_a_merge_leaves_nothing_that_it_added(green: World, *, caged: bool) -> None:
    before = stands(green)
    assert call(green, "git merge -q --no-ff -m m side", caged=caged).moved_back
    assert stands(green) == before


STAY = [
    "git switch -q docs",
    "git switch -q -c new",
    "git merge -q docs",
    "git commit -q --allow-empty -m x",
    "git add tests/test_sub.py other.py && git commit -q -m x",
    "git commit -q --allow-empty -m x; git reset -q --soft HEAD~1",
    "git reset -q --soft docs",
    "git reset -q docs",
    "echo y >> notes.md; git stash -q -- notes.md",
    "echo y >> notes.md; git reset -q --hard",
    "git checkout -q side -- calc.py",
    "git restore --source=side calc.py",
    "git tag t; git branch b; git gc -q; git pack-refs --all",
]


@pytest.mark.parametrize("script", STAY)
def test_a_move_beside_what_is_protected_stays(green: World, script: str) -> None:
    before_call(agent(green))
    assert shell(green, script) == 0
    there = stands(green)
    assert not after_call(agent(green))
    assert stands(green) == there
    assert not before_call(agent(green))


@pytest.mark.parametrize("script", ["git reset -q --soft side", "git reset -q side"])
def test_a_reset_that_leaves_frozen_tests_behind_head_goes_back(green: World, script: str) -> None:
    """The commit may be anybody's: the next one would undo its tests."""
    before = stands(green)
    assert call(green, script).moved_back == ("tests/test_add.py",)
    assert stands(green) == before


def test_what_was_edited_in_the_same_call_is_kept_in_the_store(green: World) -> None:
    call(green, "git switch -q side; echo more >> calc.py")
    assert green.read("calc.py") == CALC
    (back,) = [e for e in green.events(MovingBack) if isinstance(e, MovingBack)]
    assert green.project.workspace.read(back.found, "calc.py") == (CALC + MUL + "more\n").encode()


def test_conflicts_of_a_merge_go_back(green: World) -> None:
    green.write("calc.py", CALC + SUB)
    green.repo.commit("ours")
    before = stands(green)
    assert call(green, "git merge -q side").moved_back
    assert stands(green) == before
    assert call(green, "git rebase -q side").moved_back
    assert stands(green) == before


def test_a_stash_that_comes_off_over_frozen_tests_is_on_again(red: World) -> None:
    red.write("tests/test_add.py", THEIRS)
    red.repo.git("stash", "--quiet")
    world = into_green(red)
    before = stands(world)
    assert call(world, "git stash pop -q").moved_back
    assert stands(world) == before


def test_in_red_source_of_another_branch_needs_a_sync(red: World) -> None:
    red.repo.git("update-ref", "refs/remotes/origin/side", "side")
    before = stands(red)
    tripped = call(red, "git switch -q side")
    assert tripped.moved_back == ("calc.py",)
    assert stands(red) == before
    before_call(agent(red))
    sync(agent(red), ("switch", "--quiet", "side"), agents_git=agent_git)
    assert not after_call(agent(red))
    assert red.read("calc.py") == CALC + MUL
    assert not call(red, "true")


def test_what_a_sync_brings_stays_also_while_off(red: World) -> None:
    red.repo.git("switch", "--quiet", "side")
    red.write("tdd.yaml", red.read("tdd.yaml") + "red: assertion\n")
    red.repo.commit("another configuration")
    red.repo.git("switch", "--quiet", "main")
    red.project.record(SwitchedOff(why="a spike"))
    assert call(red, "git switch -q side").moved_back == ("tdd.yaml",)
    before_call(agent(red))
    sync(red.project, ("switch", "--quiet", "side"))
    assert not after_call(agent(red))
    assert red.read("tdd.yaml").endswith("assertion\n")


def test_a_verb_in_the_same_call_does_not_make_it_ground(red: World) -> None:
    before_call(agent(red))
    before = stands(red)
    grounds = len(red.events(Ground))
    shell(red, "git switch -q side")
    with operation(agent(red)):
        assert stands(red) == before
    assert len(red.events(Ground)) == grounds
    assert after_call(agent(red)).moved_back == ("calc.py",)
    assert not call(red, "true")


def test_a_person_moves_as_ever(green: World) -> None:
    call(green, "true")
    green.repo.git("stash", "--quiet", "-u")
    green.repo.git("switch", "--quiet", "side")
    tripped = before_call(agent(green))
    assert not tripped.moved_back
    assert green.read("calc.py") == CALC + MUL
    assert not call(green, "true")


def test_in_a_linked_worktree(red: World, tmp_path: Path) -> None:
    red.repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "main")
    linked = World(GitRepo(tmp_path / "linked", red.repo.home))
    before_call(agent(linked))
    shell(linked, "git switch -q side")
    assert after_call(agent(linked)).moved_back == ("calc.py",)
    assert linked.repo.git("status", "--porcelain") == ""
    assert linked.repo.head() == red.repo.head()


@pytest.mark.parametrize("step", ["_move_head", "_finish_as_before", "_write_back", "_move_stash"])
def test_cut_short_between_git_and_files(green: World, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before_call(agent(green))
    before = stands(green)
    shell(green, "echo y >> notes.md; git stash -q; git switch -q side")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rollback, step, cut)
        with pytest.raises(KeyboardInterrupt):
            after_call(agent(green))
    with operation(green.project):
        pass
    after = stands(green)
    assert after.pop("files") == {**before.pop("files"), "notes.md": b"ours\ny\n"}  # type: ignore[dict-item]
    assert after.pop("status") == f" M notes.md\n{before.pop('status')}".strip()
    assert after == before


def test_links_in_gits_folder_lead_no_byte_of_ours_elsewhere(green: World) -> None:
    git = green.root / ".git"
    names = ("index.tdd", "moves-draft", "moves-index", "MERGE_MSG", "sequencer")
    links = "; ".join(f"ln -s ../aside/{name} .git/{name}" for name in names)
    tripped = call(green, f"mkdir aside; {links}; git switch -q side")
    assert tripped.moved_back
    assert list((green.root / "aside").iterdir()) == []
    assert not (git / "index").is_symlink()


@pytest.mark.slow
def test_killed_while_moving_back(green: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The next command is the agent's: before an intent is in the log, a person's would take the move in.
    monkeypatch.setattr("support.killing.operation", lambda p: operation(replace(p, actor=AGENT)))
    before_call(agent(green))
    before = stands(green)
    shell(green, "git switch -q side")

    def whole(world: World) -> object:
        after_call(agent(world))
        return stands(world) == before or pytest.fail("neither here nor there")

    done = rehearse(
        green, tmp_path / "stage", lambda w: after_call(agent(w)), again=True, keeps=False, check=whole
    )
    assert done.kills >= 4
