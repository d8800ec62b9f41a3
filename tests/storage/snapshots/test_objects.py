from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import copied, make_repo
from verdigris.core.errors import StorageError
from verdigris.storage.git import Git, users_git
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import head_moves
from verdigris.storage.snapshots.objects import LARGE, BlobReader, Elsewhere, Objects
from verdigris.storage.snapshots.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.gitrepo import GitRepo


ODD = "a \udcff\n\"b'"


@pytest.fixture
def two(repo: GitRepo) -> tuple[str, str]:
    """Trees in which all happens that may happen to a path."""
    copied(repo.root, _make_two, "two trees")
    old, new = (repo.root / ".git/two").read_text().split()
    return old, new


def _make_two(root: Path) -> None:
    repo = make_repo(root)
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
    repo.write(".git/two", f"{old} {_tree(repo)}")


def _tree(repo: GitRepo) -> str:
    repo.git("add", "--all", "--", ".", ":!module")
    return repo.git("write-tree")


@pytest.fixture
def git(repo: GitRepo) -> Git:
    return users_git(find_repository(repo.root))


@pytest.mark.parametrize(
    "ask",
    [
        lambda git, old, new: Trees(git).changes(old, new),
        lambda git, old, new: Trees(git).changes(new, old),
        lambda git, old, new: Trees(git).changes(old, old),
        lambda git, old, _: Trees(git).files(old),
        lambda git, old, _: Trees(git).entries(
            old, ["edited", "same", "same/deep/x", "no", "edited/x", "module"]
        ),
        lambda git, old, _: Trees(git).entries(old, [ODD, "link", "run"]),
        lambda git, old, _: Trees(git).read_many(
            old, ["edited", "same", "no", ODD, "link", "same/deep/x", "a/b"]
        ),
        lambda git, old, _: Trees(git).blobs([entry.blob for entry in Trees(git).files(old)]),
        lambda git, old, _: Trees(git).blobs([old, "1" * 40]),
        lambda git, old, _: Trees(git).compose(old, {"a/b": None, "new/er/x": ("100755", b"1"), ODD: None}),
        lambda git, old, _: Trees(git).compose(
            old, {"a-b": ("100644", b""), "a0": ("120000", b"a"), "no": None}
        ),
        lambda git, old, _: Trees(git).compose(old, {"same/deep/y": ("100644", b"1"), "same": None}),
        lambda git, old, _: Trees(git).compose(old, {"edited": None, "edited/x": ("100644", b"1")}),
        lambda git, old, _: Trees(git).compose(old, {"gone/x": None, "gone": ("100644", b"1")}),
        lambda git, old, _: Trees(git).compose(old, {f.path: None for f in Trees(git).files(old)}),
        lambda git, old, new: Trees(git).graft(old, new, ["edited", "gone/x", "link", "new/deep/x", "run"]),
        lambda git, old, new: Trees(git).graft(old, new, [c.path for c in Trees(git).changes(old, new)]),
        lambda git, old, new: Trees(git).graft(new, old, [c.path for c in Trees(git).changes(old, new)]),
    ],
)
def test_the_answers_are_those_of_git(
    git: Git, two: tuple[str, str], ask: Callable[[Git, str, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ask(git, *two)
    with monkeypatch.context() as patched:
        patched.setattr(Objects, "_read", _nowhere)
        patched.setattr(Objects, "_write", _nowhere)
        assert ask(git, *two) == here


def _nowhere(*_: object) -> bytes:
    raise Elsewhere


def test_no_program_is_started_for_what_lies_loose(
    git: Git, two: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Git, "call", _nowhere)
    assert [change.path for change in Trees(git).changes(*two)] == [
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
    assert Trees(git).read_many(two[0], ["edited"]) == {"edited": b"edited"}
    grafted = Trees(git).graft(*two, ["edited", "gone/x", "new/deep/x"])
    assert [change.path for change in Trees(git).changes(two[0], grafted)] == [
        "edited",
        "gone/x",
        "new/deep/x",
    ]


def test_what_is_packed_is_asked_of_git(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    repo.commit()
    head = repo.git("rev-parse", "HEAD^{tree}")
    listed = Trees(git).files(head)
    repo.git("repack", "-q", "-a", "-d")
    assert Trees(git).files(head) == listed
    with pytest.raises(Elsewhere):
        list(Objects(git.git_dir).files(head))


def test_files_and_message_of_a_commit_are_read_loose_or_packed(
    repo: GitRepo, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> list[object]:
        blob = Trees(git).blob(b"1")
        return [
            *(Trees(git).read_committed(commit, path) for path in ("a", "b")),
            *(Trees(git).blob_bytes(name) for name in (blob, "1" * 40)),
            Trees(git).read_message(commit).strip(),
        ]

    commit = repo.commit("Title\n\nA body.\n\nKey: value", a="1")
    repo.git("repack", "-q", "-a", "-d")
    packed = ask()
    assert packed == [b"1", None, b"1", None, "Title\n\nA body.\n\nKey: value"]
    repo.run("unpack-objects", "-q", stdin=_packed(repo))
    assert ask() == packed
    monkeypatch.setattr(Git, "call", _nowhere)
    assert Trees(git).read_message(commit).strip() == packed[-1]
    assert Trees(git).read_committed(commit, "a") == b"1"


def _packed(repo: GitRepo) -> bytes:
    """What the repository's only pack holds; it is taken away."""
    (file,) = (repo.root / ".git/objects/pack").glob("*.pack")
    data = file.read_bytes()
    for one in file.parent.iterdir():
        one.unlink()
    return data


def test_no_program_is_started_for_what_another_store_lends(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repo.commit(a="1", b="2")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    repo.git("clone", "-q", "--shared", "--no-checkout", str(repo.root), str(tmp_path / "borrower"))
    borrower = users_git(find_repository(tmp_path / "borrower"))
    monkeypatch.setattr(Git, "call", _nowhere)
    assert Trees(borrower).read_many(tree, ["a", "b"]) == {"a": b"1", "b": b"2"}
    made = Trees(borrower).compose(tree, {"a": None})
    assert [change.path for change in Trees(borrower).changes(head, made)] == ["a"]


@pytest.mark.parametrize("damage", [b"", b"no zlib"])
def test_what_is_damaged_is_asked_of_git(repo: GitRepo, git: Git, damage: bytes) -> None:
    blob = Trees(git).blob(b"text")
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
    assert [change.path for change in Trees(linked).changes(old, new)] == ["b"]
    assert head_moves.changes_between(linked, old, new) == Trees(linked).changes(old, new)


def test_content_under_the_name_of_another_is_not_believed(repo: GitRepo, git: Git) -> None:
    honest, lie = (Trees(git).blob(text) for text in (b"honest", b"a lie"))
    places = [repo.root / ".git/objects" / blob[:2] / blob[2:] for blob in (honest, lie)]
    places[0].unlink()
    places[1].rename(places[0])
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).blob(honest)


@pytest.mark.parametrize("name", ["HEAD", "", "../../../etc/passwd", "0" * 40])
def test_only_a_whole_name_is_looked_up(git: Git, name: str) -> None:
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).blob(name)


@pytest.mark.parametrize("path", [".git/config", "a/../b", "a//b", "a/.GIT/x", ".gitmodules"])
def test_a_path_that_git_refuses_is_asked_of_git(git: Git, two: tuple[str, str], path: str) -> None:
    with pytest.raises(Elsewhere):
        Objects(git.git_dir).write_tree(two[0], {path: ("120000", "1" * 40)})


def test_what_is_written_is_whole_and_git_reads_it(repo: GitRepo, git: Git, two: tuple[str, str]) -> None:
    data = b"\0" * 100_000 + b"text"
    made = Trees(git).compose(two[0], {"big": ("100644", data)})
    repo.git("fsck", "--strict", made)
    assert repo.git("cat-file", "-s", f"{made}:big") == str(len(data))
    assert not list((repo.root / ".git/objects").rglob("tmp_obj*"))


def test_a_store_of_longer_names_is_written_by_git(tmp_path: Path) -> None:
    root = tmp_path / "long"
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(root)], check=True)
    git = users_git(find_repository(root))
    blob = Trees(git).blob(b"text")
    assert (len(blob), Trees(git).blobs([blob])) == (64, [b"text"])


@pytest.fixture
def three(tmp_path: Path) -> GitRepo:
    """A repository with a small, an empty and a large file."""
    made = make_repo(tmp_path / "three")
    made.write("small.txt", "a\n")
    made.write("empty.txt", "")
    (made.root / "large.bin").write_bytes(b"\0" * LARGE + b"end")
    made.commit("three")
    return made


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_blobs_are_read_one_after_another_in_pieces(three: GitRepo, packed: bool) -> None:
    if packed:
        three.git("repack", "--quiet", "-a", "-d")
    names = [
        three.git("rev-parse", f"HEAD:{name}.{end}")
        for name, end in (("large", "bin"), ("empty", "txt"), ("small", "txt"))
    ]
    git = users_git(find_repository(three.root))
    with BlobReader(git) as reader:
        pieces = list(reader.pieces(names[0]))
        rest = [b"".join(reader.pieces(name)) for name in names[1:]]
    assert len(pieces) > 1
    assert (sum(map(len, pieces)), pieces[-1][-3:]) == (LARGE + 3, b"end")
    assert rest == [b"", b"a\n"]
    assert Trees(git).blob_sizes(names) == dict(zip(names, (LARGE + 3, 0, 2), strict=True))


def test_a_blob_that_is_lost_is_told(repo: GitRepo) -> None:
    with (
        BlobReader(users_git(find_repository(repo.root))) as reader,
        pytest.raises(StorageError, match="lost"),
    ):
        list(reader.pieces("1" * 40))
