"""What a call could add to git's folder is gone when a person's next git looks."""

from __future__ import annotations

import shutil
import time

import pytest

from support.shelled import Shelled
from verdigris.storage.repository import find_repository


@pytest.mark.parametrize("name", ["commondir", "config.worktree"])
def test_a_pointer_to_another_folder_is_removed(red: Shelled, name: str) -> None:
    done = red.run(f"git init -q --bare /tmp/evil.$$; echo /tmp/evil.$$ > .git/{name}; rm -rf /tmp/evil.$$")
    assert f"[tdd] {red.root}/.git/{name} was removed" in done.err
    assert not (red.root / ".git" / name).exists()


FORGED = (
    'fake=$(printf "tree %s\\nauthor p <p@p> 1 +0000\\ncommitter p <p@p> 1 +0000\\n\\nforged\\n"'
    " $(git rev-parse HEAD^{tree}) | git hash-object -t commit -w --stdin); "
)
HISTORIES = {
    "grafts": "git rev-parse HEAD > .git/info/grafts",
    "a shallow line": "git rev-parse HEAD > .git/shallow",
    "a packed replacement": FORGED
    + 'echo "$fake refs/replace/$(git rev-parse HEAD)" >> .git/packed-refs; git log -1 --format=%s',
    "a replacement among packed refs": FORGED
    + 'git pack-refs --all; sed -i "$ a $fake refs/replace/$(git rev-parse HEAD)" .git/packed-refs',
}


@pytest.mark.parametrize("command", HISTORIES.values(), ids=HISTORIES.keys())
def test_another_history_than_the_commits_have_is_put_back(one: Shelled, command: str) -> None:
    repo = one.world.repo
    repo.git("commit", "-q", "--allow-empty", "-m", "above")
    before = repo.git("log", "--format=%H %s")
    done = one.run(command)
    assert "another history than the commits have" in done.err
    assert repo.git("log", "--format=%H %s") == before
    assert repo.git("status", "--short") == ""


def test_a_clone_without_history_can_be_deepened(one: Shelled) -> None:
    """Where the parents are not there, `shallow` says the truth."""
    top = one.world.repo.git("rev-parse", "HEAD")
    done = one.run(
        f"at=$(mktemp -d)/s && git clone -q --depth 1 file://{one.root} $at && git -C $at log --format=%H"
    )
    assert done.out.split() == [top]


def test_a_pointer_in_a_main_worktrees_folder_does_not_lead_the_kernel_away(one: Shelled) -> None:
    pointer = one.root / ".git/commondir"
    pointer.write_text("/elsewhere\n")
    try:
        assert find_repository(one.root).control == one.root / ".git/tdd"
    finally:
        pointer.unlink()


def test_a_repository_inside_is_taken_out_of_the_index(red: Shelled) -> None:
    done = red.run("git init -q sub && git -C sub commit -q --allow-empty -m a && git add sub")
    assert "[tdd] sub is a repository of its own, and was taken out of the index" in done.err
    assert red.run("git ls-files --stage sub; rm -rf sub").out == ""


def test_a_persons_submodule_keeps_its_configuration_and_its_place_in_the_index(one: Shelled) -> None:
    repo = one.world.repo
    for name in ("inside", "apart"):
        repo.git("init", "-q", name)
        repo.git("-C", name, "commit", "-q", "--allow-empty", "-m", "a")
        repo.git("add", name)
    (one.root / ".git/modules").mkdir()
    (one.root / "apart/.git").rename(one.root / ".git/modules/apart")
    (one.root / "apart/.git").write_text("gitdir: ../.git/modules/apart\n")
    repo.git("-C", "apart", "config", "core.worktree", "../../../apart")
    repo.git("commit", "-qm", "submodules", "--", "inside", "apart")
    done = one.run("git -C inside config a.b c; git -C apart config a.b c", env={"ENV": "/new card"})
    assert done.err.count("could not") == 2, done.err
    done = one.run("git rm -q --cached inside apart; git status --short", env={"ENV": "/new card"})
    done = one.run("git reset -q; git ls-files inside apart", env={"ENV": "/new card"})
    assert (done.out, done.err) == ("apart\ninside\n", "")
    repo.git("rm", "-q", "--cached", "inside", "apart")
    for folder in ("inside", "apart", ".git/modules"):
        shutil.rmtree(one.root / folder)


def test_a_process_left_behind_writes_nothing_in_gits_folder(red: Shelled) -> None:
    command = "(sleep 1; echo x > later; echo x > .git/commondir; touch ended) >/dev/null 2>&1 & echo $!"
    red.run(command)
    deadline = time.monotonic() + 30
    while not (red.root / "ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (red.root / "later").read_text() == "x\n", "the worktree stays open to it"
    assert not (red.root / ".git/commondir").exists()
    red.run("rm later ended")


def test_one_that_keeps_a_file_there_open_is_ended(red: Shelled) -> None:
    done = red.run("exec 9> .git/held; sleep 60 >/dev/null 2>&1 & echo $!")
    assert red.run(f"rm .git/held; ps -p {int(done.out)}").code == 1, "it still runs"


def test_nor_does_one_in_mounts_of_its_own(red: Shelled) -> None:
    later = "touch in-time; sleep 1; echo x > .git/commondir; touch ended"
    red.run(f"unshare -Urm sh -c '{later}' >/dev/null 2>&1 & until [ -e in-time ]; do sleep 0.05; done")
    time.sleep(1.5)
    assert not (red.root / ".git/commondir").exists()
    assert not (red.root / "ended").exists(), "git's folder cannot be closed to it"
    red.run("rm in-time")
