from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.storage.git import Git, users_git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import head_moves, trees
from verdigris.storage.snapshots.objects import Elsewhere, Objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.gitrepo import GitRepo

ODD = "a \udcff\n\"b'"


@pytest.fixture
def two(repo: GitRepo) -> tuple[str, str]:
    """Trees in which all happens that may happen to a path."""
    for path in (
        "same/deep/x",
        "gone/x",
        "edited",
        "file-then-folder",
        "folder-then-file/x",
        ODD,
        "a.b",
        "a/b",
    ):
        repo.write(path, path.encode(errors="surrogateescape"))
    repo.write("run", "1", executable=True)
    (repo.root / "link").symlink_to("edited")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    old = _tree(repo)
    repo.git("rm", "-q", "-r", "-f", "gone", "file-then-folder", "folder-then-file", "link")
    for path in ("edited", "file-then-folder/x", "folder-then-file", "link", "new/deep/x"):
        repo.write(path, f"new {path}")
    (repo.root / "run").chmod(0o644)
    return old, _tree(repo)


def _tree(repo: GitRepo) -> str:
    repo.git("add", "--all", "--", ".", ":!module")
    return repo.git("write-tree")


@pytest.fixture
def git(repo: GitRepo) -> Git:
    return users_git(find_repository(repo.root))


@pytest.mark.parametrize(
    "ask",
    [
        trees.changes,
        lambda git, old, new: trees.changes(git, new, old),
        lambda git, old, new: trees.changes(git, old, old),
        lambda git, old, _: trees.files(git, old),
        lambda git, old, _: trees.entries(
            git, old, ["edited", "same", "same/deep/x", "no", "edited/x", "module"]
        ),
        lambda git, old, _: trees.entries(git, old, [ODD, "link", "run"]),
        lambda git, old, _: trees.read_many(
            git, old, ["edited", "same", "no", ODD, "link", "same/deep/x", "a/b"]
        ),
        lambda git, old, _: trees.blobs(git, [entry.blob for entry in trees.files(git, old)]),
        lambda git, old, _: trees.blobs(git, [old, "1" * 40]),
    ],
)
def test_the_answers_are_those_of_git(
    git: Git, two: tuple[str, str], ask: Callable[[Git, str, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ask(git, *two)
    with monkeypatch.context() as patched:
        patched.setattr(Objects, "_read", _nowhere)
        assert ask(git, *two) == here


def _nowhere(*_: object) -> bytes:
    raise Elsewhere


def test_no_program_is_started_for_what_lies_loose(
    git: Git, two: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Git, "call", _nowhere)
    assert [change.path for change in trees.changes(git, *two)] == [
        "edited",
        "file-then-folder",
        "file-then-folder/x",
        "folder-then-file",
        "folder-then-file/x",
        "gone/x",
        "link",
        "new/deep/x",
        "run",
    ]
    assert trees.read_many(git, two[0], ["edited"]) == {"edited": b"edited"}


def test_what_is_packed_is_asked_of_git(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    repo.commit()
    head = repo.git("rev-parse", "HEAD^{tree}")
    listed = trees.files(git, head)
    repo.git("repack", "-q", "-a", "-d")
    assert trees.files(git, head) == listed
    with pytest.raises(Elsewhere):
        list(Objects(git.git_dir).files(head))


@pytest.mark.parametrize("damage", [b"", b"no zlib"])
def test_what_is_damaged_is_asked_of_git(repo: GitRepo, git: Git, damage: bytes) -> None:
    blob = trees.store_blob(git, b"text")
    file: Path = repo.root / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(damage)
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).blob(blob)


def test_a_commit_stands_for_its_tree_in_a_linked_worktree_too(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = repo.commit(a="1"), repo.commit(b="2")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = users_git(find_repository(tmp_path / "linked"))
    monkeypatch.setattr(Git, "call", _nowhere)
    assert [change.path for change in trees.changes(linked, old, new)] == ["b"]
    assert head_moves.between(linked, old, new) == trees.changes(linked, old, new)


def test_content_under_the_name_of_another_is_not_believed(repo: GitRepo, git: Git) -> None:
    honest, lie = (trees.store_blob(git, text) for text in (b"honest", b"a lie"))
    places = [repo.root / ".git/objects" / blob[:2] / blob[2:] for blob in (honest, lie)]
    places[0].unlink()
    places[1].rename(places[0])
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).blob(honest)


@pytest.mark.parametrize("name", ["HEAD", "", "../../../etc/passwd", "0" * 40])
def test_only_a_whole_name_is_looked_up(git: Git, name: str) -> None:
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).blob(name)
