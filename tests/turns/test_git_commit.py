from __future__ import annotations

import pytest

from support.turns import World
from verdigris.core.events import Committed, Committing, NotCommitted
from verdigris.storage.git import git
from verdigris.turns.git import CommitIdentity, CommitRefused, commit
from verdigris.turns.operation import operation

BOT = CommitIdentity("Bot", "bot@example.org")
MESSAGE = "feat: a line\n\n# kept, though it looks like a comment\n\nTDD-Step: 2\n"


@pytest.fixture(autouse=True)
def apart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in world.repo.environment.items():
        monkeypatch.setenv(name, value)


def intent(world: World, *paths: str) -> Committing:
    store = world.project.workspace
    return Committing(
        step=2,
        role="implementor",
        parent=world.repo.head(),
        tree=store.snapshot(),
        message=store.blob(MESSAGE.encode()),
        paths=paths,
    )


def hook(world: World, name: str, text: str) -> None:
    path = world.repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{text}\n", executable=True)
    assert path.exists()


def test_what_is_named_is_committed_and_nothing_else(world: World) -> None:
    world.write("new file.txt", "new\n")
    world.write("left.txt", "left\n")
    made = commit(world.project, intent(world, "new file.txt"), BOT)
    assert made == world.repo.head()
    assert world.repo.git("log", "-1", "--format=%an <%ae>/%cn") == "Bot <bot@example.org>/Ada"
    assert world.repo.git("log", "-1", "--format=%B").strip() == MESSAGE.strip()
    assert world.repo.git("status", "--porcelain") == "?? left.txt"
    assert world.events(Committed) == [Committed(step=2, role="implementor", commit=str(made))]


def test_who_has_no_name_commits_as_the_author(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    git(world.root, "config", "user.useConfigOnly", "true")
    world.write("new.txt", "new\n")
    assert isinstance(commit(world.project, intent(world, "new.txt"), BOT), str)
    assert world.repo.git("log", "-1", "--format=%cn") == "Bot"


def test_a_hook_that_refuses_leaves_the_judged_tree_and_says_why(world: World) -> None:
    hook(world, "pre-commit", "echo no good; echo spoilt > calc.py; exit 1")
    before = world.read("calc.py")
    world.write("new.txt", "new\n")
    refused = commit(world.project, intent(world, "new.txt"), BOT)
    assert isinstance(refused, CommitRefused)
    assert "no good" in refused.output
    assert (refused.by_content, refused.why) == (True, "a hook refused the commit: no good")
    assert world.read("calc.py") == before
    assert world.repo.git("status", "--porcelain") == "?? new.txt"
    assert [event.step for event in world.events(NotCommitted) if isinstance(event, NotCommitted)] == [2]


def test_a_hook_sees_no_hidden_variable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hush")
    hook(world, "pre-commit", "echo seen:$A_KEY. > .git/seen")
    world.write("new.txt", "new\n")
    commit(world.project, intent(world, "new.txt"), BOT, hidden=["A_KEY"])
    assert world.read(".git/seen") == "seen:.\n"


def test_a_commit_that_a_kill_cut_off_is_taken_in_or_undone(world: World) -> None:
    world.write("new.txt", "new\n")
    wanted = intent(world, "new.txt")
    world.project.record(wanted)
    world.repo.git("add", "new.txt")
    with operation(world.project):
        pass
    assert world.repo.git("status", "--porcelain") == "?? new.txt"
    world.project.record(wanted)
    world.repo.git("add", "new.txt")
    world.repo.run("commit", "--quiet", "--file=-", stdin=MESSAGE.encode())
    with operation(world.project):
        pass
    assert [type(e) for e in world.events(Committed, NotCommitted)] == [NotCommitted, Committed]
    assert world.state.intent is None


def test_a_signer_that_fails_is_no_fault_of_the_content(world: World) -> None:
    world.repo.git("config", "commit.gpgsign", "true")
    world.repo.git("config", "gpg.program", "false")
    world.write("new.txt", "new\n")
    refused = commit(world.project, intent(world, "new.txt"), BOT)
    assert isinstance(refused, CommitRefused)
    assert (refused.by_content, "gpg failed to sign" in refused.why) == (False, True)


def test_a_hook_may_add_trailers_and_not_take_them(world: World) -> None:
    hook(world, "commit-msg", "echo 'Change-Id: 1' >> $1")
    world.write("new.txt", "new\n")
    assert isinstance(commit(world.project, intent(world, "new.txt"), BOT), str)
    hook(world, "commit-msg", "echo short > $1")
    before = world.repo.head()
    world.write("new.txt", "newer\n")
    refused = commit(world.project, intent(world, "new.txt"), BOT)
    assert isinstance(refused, CommitRefused)
    assert (refused.by_content, "TDD-Step: 2" in refused.why) == (False, True)
    assert (world.repo.head(), world.read("new.txt")) == (before, "newer\n")
