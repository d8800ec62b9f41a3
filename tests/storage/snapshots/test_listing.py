"""The tree that is made from the last one, or from nothing, is the tree that git would make."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.workspaces import classify, workspace_of
from verdigris.core.errors import UserError
from verdigris.core.paths import CACHES, PathClass
from verdigris.storage.git import Git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.listing import LARGE_OTHER
from verdigris.storage.snapshots.workspace import Workspace, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.gitrepo import GitRepo


@pytest.fixture
def git_starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first words of each git that is started."""
    found: list[str] = []
    start = Git.start

    def counted(git: Git, *arguments: str) -> Callable[[bytes], object]:
        found.append(arguments[0])
        return start(git, *arguments)

    monkeypatch.setattr(Git, "start", counted)
    return found


def by_git(repo: GitRepo) -> str:
    """The tree by git's own rules: all that no `.gitignore` excludes, and what has a class in any case."""
    with tempfile.TemporaryDirectory() as folder:
        git = open_store(find_repository(repo.root)).with_index(Path(folder, "index"))
        kept = [path for path in _files(repo.root) if classify(path) is not PathClass.OTHER]
        without = (f":(exclude,glob)**/{name}/**" for name in (*CACHES, ".venv"))
        git.run("--no-literal-pathspecs", "add", "--all", "--", ".", *without)
        if kept:
            git.run("add", "--force", "--", *kept)
        large = [path for path in _files(repo.root) if (repo.root / path).lstat().st_size > LARGE_OTHER]
        git.run("update-index", "--force-remove", "--", *large)
        return os.fsdecode(git.run("write-tree")).strip()


def _files(root: Path) -> list[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return [str(path) for path in paths if ".git" not in path.parts]


def first(repo: GitRepo) -> None:
    for path in ("src/a.py", "src/deep/er/b.py", "tests/test_a.py", "notes.md", "build/out.txt"):
        repo.write(path, f"{path}\n")
    repo.write(".gitignore", "build\n*.log\n")
    workspace_of(repo).snapshot()


def edit(repo: GitRepo) -> None:
    repo.write("src/a.py", "edited")


def add(repo: GitRepo) -> None:
    repo.write("tests/unit/new/test_b.py", "new")


def remove_the_last_of_a_folder(repo: GitRepo) -> None:
    (repo.root / "src/deep/er/b.py").unlink()


def remove_folders(repo: GitRepo) -> None:
    (repo.root / "src/deep/er/b.py").unlink()
    (repo.root / "src/deep/er").rmdir()
    (repo.root / "src/deep").rmdir()


def make_executable(repo: GitRepo) -> None:
    (repo.root / "src/a.py").chmod(0o755)


def edit_what_has_no_class(repo: GitRepo) -> None:
    repo.write("notes.md", "other notes")


def fill_a_cache(repo: GitRepo) -> None:
    repo.write("docs/__pycache__/a.cpython-311.pyc", "code")
    repo.write("src/a.py", "edited")


@pytest.mark.parametrize(
    "change",
    [
        edit,
        add,
        remove_the_last_of_a_folder,
        remove_folders,
        make_executable,
        edit_what_has_no_class,
        fill_a_cache,
    ],
)
def test_another_process_makes_the_next_tree_without_git(
    repo: GitRepo, change: Callable[[GitRepo], None], git_starts: list[str]
) -> None:
    first(repo)
    git_starts.clear()
    change(repo)
    tree = workspace_of(repo).snapshot()
    assert git_starts == []
    assert workspace_of(repo).snapshot() == tree
    assert git_starts == []
    assert tree == by_git(repo)


@pytest.mark.parametrize("ignored", ["", "build\n*.log\n"])
def test_of_the_first_tree_git_says_only_what_is_ignored(
    repo: GitRepo, ignored: str, git_starts: list[str]
) -> None:
    for path in ("src/a.py", "src/deep/b.py", "build/out.txt", "docs/x.log", "src/c.log"):
        repo.write(path, f"{path}\n", executable=path == "src/a.py")
    if ignored:
        repo.write(".gitignore", ignored)
        repo.write("docs/.gitignore", "!x.log\n")
    open_store(find_repository(repo.root))
    git_starts.clear()
    tree = workspace_of(repo).snapshot()
    assert git_starts == ["--no-literal-pathspecs"]
    assert tree == by_git(repo)


def test_a_worktree_that_is_gone_has_no_tree(repo: GitRepo, tmp_path: Path) -> None:
    repo.write("a.py", "A = 1\n")
    repo.commit("a")
    repo.git("worktree", "add", "--quiet", str(tmp_path / "other"))
    workspace = Workspace(find_repository(tmp_path / "other"), classify)
    workspace.snapshot()
    shutil.rmtree(tmp_path / "other")
    with pytest.raises(UserError, match="is gone"):
        workspace.snapshot()


def test_an_empty_worktree_has_the_empty_tree(repo: GitRepo, git_starts: list[str]) -> None:
    open_store(find_repository(repo.root))
    git_starts.clear()
    tree = workspace_of(repo).snapshot()
    assert git_starts == []
    assert tree == by_git(repo)


def ignore_less(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.log\n")


def add_what_has_no_class(repo: GitRepo) -> None:
    repo.write("more.md", "x")
    repo.write("more.log", "x")


def change_what_is_ignored(repo: GitRepo) -> None:
    repo.write("build/out.txt", "other")


def put_a_link(repo: GitRepo) -> None:
    (repo.root / "src/a.py").unlink()
    (repo.root / "src/a.py").symlink_to("deep/er/b.py")


def put_a_folder_for_a_file(repo: GitRepo) -> None:
    (repo.root / "src/a.py").unlink()
    repo.write("src/a.py/b.py", "x")


def put_a_file_for_a_folder(repo: GitRepo) -> None:
    remove_folders(repo)
    repo.write("src/deep", "x")


def nest_a_repository(repo: GitRepo) -> None:
    repo.write("src/inner/.git/HEAD", "ref: refs/heads/x\n")
    repo.write("src/inner/c.py", "x")


def grow(repo: GitRepo) -> None:
    repo.write("notes.md", "x" * (10 * 1024 * 1024 + 1))


def put_a_module_into_a_cache(repo: GitRepo) -> None:
    repo.write("src/__pycache__/a.py", "x")


def put_an_environment(repo: GitRepo) -> None:
    for path in (".venv/bin/python", ".venv/lib/python3.11/site-packages/x.py", ".venv/pyvenv.cfg"):
        repo.write(path, "x")


@pytest.mark.parametrize(
    "change",
    [
        ignore_less,
        add_what_has_no_class,
        change_what_is_ignored,
        put_a_link,
        put_a_folder_for_a_file,
        put_a_file_for_a_folder,
        nest_a_repository,
        grow,
        put_a_module_into_a_cache,
        put_an_environment,
    ],
)
def test_also_where_more_changes_than_files_the_tree_is_gits(
    repo: GitRepo, change: Callable[[GitRepo], None]
) -> None:
    first(repo)
    change(repo)
    assert workspace_of(repo).snapshot() == by_git(repo)
    repo.write("tests/test_a.py", "edited")
    assert workspace_of(repo).snapshot() == by_git(repo)


@pytest.mark.parametrize("change", [add_what_has_no_class, change_what_is_ignored])
def test_of_what_has_no_class_git_says_only_whether_it_is_ignored(
    repo: GitRepo, change: Callable[[GitRepo], None], git_starts: list[str]
) -> None:
    first(repo)
    git_starts.clear()
    change(repo)
    tree = workspace_of(repo).snapshot()
    assert git_starts == ["--no-literal-pathspecs"]
    assert tree == by_git(repo)


@pytest.mark.parametrize("seed", range(4))
def test_any_row_of_changes_ends_in_the_tree_that_git_makes(repo: GitRepo, seed: int) -> None:
    """By one process and by others in turn; several changes between two snapshots."""
    chance = random.Random(seed)
    changes = [
        *(edit, add, remove_the_last_of_a_folder, make_executable, edit_what_has_no_class, fill_a_cache),
        *(ignore_less, add_what_has_no_class, change_what_is_ignored, put_a_link, put_a_module_into_a_cache),
    ]
    first(repo)
    workspace = workspace_of(repo)
    for step in range(25):
        for change in chance.sample(changes, chance.randint(1, 2)):
            if change is remove_the_last_of_a_folder and not (repo.root / "src/deep/er/b.py").exists():
                repo.write("src/deep/er/b.py", str(step))
            elif change in {edit, put_a_link}:
                (repo.root / "src/a.py").unlink()
                repo.write("src/a.py", str(step))
                change(repo)
            else:
                change(repo)
        workspace = workspace if chance.random() < 0.5 else workspace_of(repo)
        assert workspace.snapshot() == by_git(repo), f"step {step}"


def test_two_writes_within_one_tick_are_not_taken_for_one(repo: GitRepo) -> None:
    first(repo)
    for number in range(20):
        path = repo.write("src/a.py", f"{number:02}")
        workspace = workspace_of(repo)
        assert workspace.read(workspace.snapshot(), "src/a.py") == path.read_bytes()


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"format": 0}', b"\0" * 100])
def test_a_damaged_note_is_as_good_as_none(repo: GitRepo, damaged: bytes) -> None:
    first(repo)
    (find_repository(repo.root).private / "listing.json").write_bytes(damaged)
    edit(repo)
    assert workspace_of(repo).snapshot() == by_git(repo)


def test_another_version_of_us_begins_anew(repo: GitRepo, git_starts: list[str]) -> None:
    """Its tree may hold what ours would not."""
    first(repo)
    note = find_repository(repo.root).private / "listing.json"
    repo.write("left-out.md")
    other = {**json.loads(note.read_text()), "tree": by_git(repo), "format": [3, "0.0.0"]}
    (repo.root / "left-out.md").unlink()
    note.write_text(json.dumps(other))
    git_starts.clear()
    tree = workspace_of(repo).snapshot()
    assert git_starts != []
    assert tree == by_git(repo)


def test_a_file_that_changes_while_it_is_read_is_read_again(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first(repo)
    path = repo.write("src/a.py", "one")
    real = os.open

    def open_and_change(name: str | Path, *args: int, **named: int) -> int:
        file = real(name, *args, **named)
        if str(name).endswith("src/a.py"):
            monkeypatch.setattr(os, "open", real)
            path.write_text("two")
        return file

    monkeypatch.setattr(os, "open", open_and_change)
    workspace: Workspace = workspace_of(repo)
    assert workspace.read(workspace.snapshot(), "src/a.py") == b"two"
