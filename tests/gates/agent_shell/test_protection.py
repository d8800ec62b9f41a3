"""An agent's shell writes the worktree, temporary folders and caches, and nothing that a person runs next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cage import NOBODY
from support.shelled import Shelled
from support.turns import World
from verdigris.gates.agent_shell import git_regions, places
from verdigris.storage.repository import find_repository

REFUSED = {
    "start-up file of a shell": "echo x >> ~/.bashrc",
    "client's settings that are not there yet": "mkdir -p ~/.claude && echo '{}' > ~/.claude/settings.json",
    "client's other file": "echo '{}' > ~/.claude.json",
    "git's settings of the person": "git config --global core.fsmonitor x",
    "a program": "mkdir -p ~/.local/bin && echo x > ~/.local/bin/tdd",
    "a program on PATH": 'echo x > "$(dirname "$(command -v tdd)")/git"',
    "the home moved aside": "mv ~ ~2",
    "what holds the home moved aside": 'cd / && mv "$(dirname ~)" /tmp/other.$$',
    "beside the worktree, in the home": "mkdir ~/project",
    "git's configuration": "git config core.fsmonitor x",
    "git's configuration by hand": "echo '[alias]' >> .git/config",
    "git's configuration replaced": "cp .git/config c && mv c .git/config",
    "a hook of git's": "echo x > .git/hooks/pre-commit",
    "hooks replaced": "mv .git/hooks h && mkdir .git/hooks",
    "attributes": "echo '* filter=x' > .git/info/attributes",
    "other contents of a commit": "git replace $(git rev-parse HEAD^{tree}) $(git mktree < /dev/null)",
    "the system": "touch /etc/claude-code.json /usr/local/bin/x",
}


def test_what_a_person_runs_next_cannot_be_written(red: Shelled) -> None:
    home = red.folder / "home"
    red.run("true")  # caches are made
    before = sorted(map(str, home.glob("*")))
    for what, done in red.run_each(REFUSED).items():
        assert done.code != 0, what
        assert any(sign in done.err for sign in ("Read-only", "busy", "ermission denied")), (what, done.err)
    assert sorted(map(str, home.glob("*"))) == before
    assert list(red.folder.joinpath("bin").iterdir()) == [red.folder / "bin/tdd"]
    config = red.root.joinpath(".git/config").read_text()
    assert "fsmonitor" not in config
    assert "alias" not in config
    assert red.root.joinpath(".git/info/attributes").read_text() == ""
    assert not red.root.joinpath(".git/hooks/pre-commit").exists()


def test_settings_of_a_client_elsewhere_and_by_a_link(red: Shelled) -> None:
    elsewhere, target = red.folder / "config of claude", red.folder / "dot.json"
    elsewhere.mkdir()
    target.write_text("{}")
    settings = red.folder / "home/.claude/settings.json"
    settings.parent.mkdir()
    settings.symlink_to(target)
    red.own()
    done = red.run(
        'echo x > "$CLAUDE_CONFIG_DIR/settings.json"; echo x > ~/.claude/settings.json; echo x > ../../free',
        env={"CLAUDE_CONFIG_DIR": str(elsewhere)},
    )
    assert done.err.count("Read-only file system") == 2, done.err
    assert (list(elsewhere.iterdir()), target.read_text()) == ([], "{}")
    assert (red.folder / "free").exists(), "it lies in a temporary folder"
    settings.unlink()
    settings.parent.rmdir()


def test_temporary_folders_and_caches_can_be_written(red: Shelled, tmp_path: Path) -> None:
    own = red.folder / "home/own tmp"
    own.mkdir(exist_ok=True)
    red.own()
    command = (
        'for f in /tmp /var/tmp /dev/shm "$TMPDIR" ~/.cache/pip ~/.cache/uv; do'
        ' mkdir -p "$f" && touch "$f/x.$$" && rm "$f/x.$$" || exit; done; mktemp'
    )
    done = red.run(command, env={"TMPDIR": str(own)})
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(str(own))


def test_what_a_commit_runs_is_no_cache(red: Shelled) -> None:
    folder = red.folder / "home/.cache/pre-commit"
    folder.mkdir(parents=True, exist_ok=True)
    red.own()
    red.run("true", env={"ENV": "/changed"})
    assert red.run("echo x > ~/.cache/pre-commit/x", env={"ENV": "/changed"}).code != 0
    assert list(folder.iterdir()) == []
    folder.rmdir()


GIT = {
    "commit": "echo a > a.txt && git add a.txt && git commit -qm a",
    "branch": "git branch b1 && git switch -qc b2 && git branch -qD b1 && git switch -q main",
    "stash": "echo b > b.txt && git add b.txt && git stash -q && git stash pop -q && git rm -qf b.txt",
    "fetch": "git clone -q . /tmp/clone.$$ && git fetch -q /tmp/clone.$$ && rm -rf /tmp/clone.$$",
    "tag": "git tag -a v1 -m v1 && git tag -d v1",
    "merge": "git switch -qc m; git commit -q --allow-empty -m m; git switch -q main; git merge -q --no-ff m",
    "rebase": "git commit -q --allow-empty -m c && git rebase -q HEAD~1",
    "housekeeping": "git gc -q && git pack-refs --all && git fsck",
    "bisect": "git bisect start && git bisect reset",
    "another repository": "cd $(mktemp -d) && git init -q . && git config a.b c && rm -rf $PWD",
}


def test_git_works(red: Shelled) -> None:
    for what, done in red.run_each({what: f"set -e; {script}" for what, script in GIT.items()}).items():
        assert done.code == 0, (what, done.err)
        assert "ead-only" not in done.err, what


def test_another_worktree_of_the_persons_cannot_be_written_and_one_that_the_agent_adds_can(
    one: Shelled,
) -> None:
    theirs, ours = one.folder / "theirs", one.folder / "ours"
    one.world.repo.git("worktree", "add", "-q", str(theirs), "-b", "theirs")
    one.own()
    done = one.run(f"echo x > {theirs}/notes.txt; mv {theirs} {theirs}2; echo x > .git/worktrees/theirs/HEAD")
    assert done.err.count("Read-only file system") == 2, done.err
    assert theirs.joinpath("notes.txt").read_text() == "notes\n"
    assert one.run(f"git worktree add -q {ours} -b ours").code == 0
    done = one.run(f"cd {ours} && echo x > new.txt && git add new.txt && git commit -qm x && git config a.b")
    assert "ead-only" not in done.err
    assert ours.joinpath("new.txt").read_text() == "x\n"
    one.world.repo.git("worktree", "remove", "--force", str(theirs))
    one.world.repo.git("worktree", "remove", "--force", str(ours))


def test_a_linked_worktree_leaves_the_main_one_alone(one: Shelled) -> None:
    linked = one.folder / "linked"
    one.world.repo.git("worktree", "add", "-q", str(linked), "-b", "linked")
    one.own()
    repo = find_repository(linked)
    regions = git_regions.git_regions(repo)
    assert regions[str(one.root)] is regions[str(one.root / ".git/HEAD")] is False
    assert regions[str(repo.git_dir)] is regions[str(one.root / ".git")] is True
    assert regions[f"{repo.git_dir}/commondir"] is False
    one.world.repo.git("worktree", "remove", "--force", str(linked))


def test_configuration_and_hooks_of_submodules_are_no_agents(world: World) -> None:
    repo = world.repo
    inner = repo.root / ".git/modules/a/modules/b"
    subprocess.run(["git", "init", "-q", "--bare", inner], check=True)
    subprocess.run(["git", "init", "-q", "--bare", inner.parents[1]], check=True)
    regions = git_regions.git_regions(find_repository(repo.root))
    for folder in (inner, inner.parents[1]):
        assert regions[f"{folder}/config"] is False
        assert regions[f"{folder}/hooks"] is False


def test_hooks_that_git_takes_from_the_worktree_are_no_agents(world: World) -> None:
    repo = world.repo
    assert git_regions.hooks_in(repo.root, os.environ) == []
    repo.git("config", "core.hooksPath", ".husky")
    assert git_regions.hooks_in(repo.root, os.environ) == []
    (repo.root / ".husky").mkdir()
    assert git_regions.hooks_in(repo.root, os.environ) == [str(repo.root / ".husky")]


def test_a_cache_is_made_where_its_tool_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, home = tmp_path / "tools", tmp_path / "home"
    tools.mkdir()
    home.mkdir()
    (tools / "cargo").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tools))
    places.make_folders({"HOME": str(home), "PATH": str(tools)}, ["~/.config/tool"])
    found = {str(path.relative_to(home)) for path in home.rglob("*")}
    assert {".cache/pip", ".cargo/registry", ".cargo/git", ".config/tool"} <= found
    assert ".npm" not in found


def test_a_cache_in_a_folder_that_the_user_may_not_read_is_unused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    environment = {"HOME": str(tmp_path), "CARGO_HOME": f"{closed}/cargo", "PATH": ""}
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        places.make_folders(environment, (f"{closed}/more",))
        regions = {
            **places.outside_regions(environment),
            **places.allowed_regions(environment, [f"{closed}/more"]),
        }
    finally:
        os.seteuid(user)
    assert not [path for path in regions if path.startswith(f"{closed}/") and os.access(path, os.F_OK)]


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "TMPDIR"])
def test_a_variable_that_names_the_home_or_more_opens_nothing(tmp_path: Path, variable: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for named in (home, "/"):
        regions = places.outside_regions({"HOME": str(home), variable: str(named)})
        assert regions[str(home)] is False
        assert "/" not in regions


def test_what_the_configuration_names_can_be_written(one: Shelled) -> None:
    yaml = one.root / "tdd.yaml"
    before = yaml.read_text()
    yaml.write_text(
        f"{before}\nsandbox: {{write: [{one.folder}/home/.config/tool, {one.root}/.git/config]}}\n"
    )
    done = one.run("echo x > ~/.config/tool/a && git config a.b c && echo x > ~/.config/other")
    yaml.write_text(before)
    assert (done.code, done.err.count("Read-only file system")) == (1, 1)
    assert (one.folder / "home/.config/tool/a").read_text() == "x\n"
    assert one.world.repo.git("config", "a.b") == "c"
