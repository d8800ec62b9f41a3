from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.damage import empty, truncate
from verdigris.core.errors import StorageError
from verdigris.core.paths import EXECUTABLE, FILE, LINK, Change, Entry
from verdigris.storage.snapshots import trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.gitrepo import GitRepo
    from verdigris.storage.snapshots.workspace import Workspace

ODD = [
    "a b.py",
    "quo\"te'.py",
    "new\nline.py",
    "carriage\r",
    "tab\t.py",
    os.fsdecode(b"latin-\xfc.py"),
    ":(top)x",
    "-x",
]


def test_changes_are_sorted_and_say_what_became_of_each_path(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/z.py", "z")
    repo.write("src/m.py", "m")
    repo.write("src/a.py", "a")
    old = workspace.snapshot()
    (repo.root / "src/z.py").unlink()
    (repo.root / "src/m.py").chmod(0o755)
    repo.write("src/b.py", "z")
    new = workspace.snapshot()
    blob = {data: workspace.blob(data.encode()) for data in "amz"}
    assert workspace.changes(old, new) == (
        Change("src/b.py", None, None, FILE, blob["z"]),
        Change("src/m.py", FILE, blob["m"], EXECUTABLE, blob["m"]),
        Change("src/z.py", FILE, blob["z"], None, None),
    )
    assert workspace.changes(new, new) == ()


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_recorded_listed_and_read(repo: GitRepo, workspace: Workspace, name: str) -> None:
    empty = workspace.snapshot()
    repo.write(f"src/{name}", "odd")
    tree = workspace.snapshot()
    assert workspace.files(tree) == (Entry(f"src/{name}", FILE, workspace.blob(b"odd")),)
    assert workspace.read(tree, f"src/{name}") == b"odd"
    assert workspace.read(empty, f"src/{name}") is None
    assert [change.path for change in workspace.changes(empty, tree)] == [f"src/{name}"]
    assert workspace.graft(empty, tree, [f"src/{name}"]) == tree


def test_read_many_tells_files_links_folders_and_nothing_apart(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/empty.py", "")
    repo.write("src/bytes.py", b"\0\r\n\xff missing\n")
    (repo.root / "src/link").symlink_to("bytes.py")
    tree = workspace.snapshot()
    asked = ["src/empty.py", "src", "src/none.py", "src/bytes.py", "src/link", "src/link/x", "src/empty.py"]
    assert workspace.read_many(tree, asked) == {
        "src/empty.py": b"",
        "src": None,
        "src/none.py": None,
        "src/bytes.py": b"\0\r\n\xff missing\n",
        "src/link": b"bytes.py",
        "src/link/x": None,
    }
    assert workspace.read_many(tree, []) == {}


def test_a_lost_tree_is_an_error_not_an_absence(workspace: Workspace) -> None:
    lost = "1" * 40
    for ask in (
        workspace.files,
        lambda tree: workspace.read(tree, "a"),
        lambda tree: workspace.changes(tree, tree + "1"),
    ):
        with pytest.raises(StorageError):
            ask(lost)


@pytest.mark.parametrize("damage", [Path.unlink, empty, truncate])
def test_so_is_a_lost_blob(repo: GitRepo, workspace: Workspace, damage: Callable[[Path], None]) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    blob = workspace.blob(b"a")
    damage(workspace.git.git_dir / "objects" / blob[:2] / blob[2:])
    with pytest.raises(StorageError):
        workspace.read_many(tree, ["src/a.py", "src/none.py"])


def test_entries_of_many_paths_are_those_of_few(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    repo.write("src/b/c.py", "c")
    tree = workspace.snapshot()
    few = workspace.entries(tree, ["src/b/c.py", "src/b", "none"])
    many = workspace.entries(tree, ["src/b/c.py", "src/b", *map(str, range(trees.ASK_BY_PATH))])
    assert few == many == {"src/b/c.py": Entry("src/b/c.py", FILE, workspace.blob(b"c"))}


def test_a_graft_takes_only_the_named_paths(repo: GitRepo, workspace: Workspace) -> None:
    for name in ("kept", "edited", "deleted"):
        repo.write(f"src/{name}.py", "old")
    base = workspace.snapshot()
    repo.write("src/kept.py", "new")
    repo.write("src/edited.py", "new", executable=True)
    (repo.root / "src/deleted.py").unlink()
    (repo.root / "src/added").symlink_to("kept.py")
    donor = workspace.snapshot()
    grafted = workspace.graft(base, donor, ["src/edited.py", "src/deleted.py", "src/added", "src/nowhere.py"])
    found = {
        entry.path: (entry.mode, workspace.read(grafted, entry.path)) for entry in workspace.files(grafted)
    }
    assert found == {
        "src/added": (LINK, b"kept.py"),
        "src/edited.py": (EXECUTABLE, b"new"),
        "src/kept.py": (FILE, b"old"),
    }
    assert workspace.graft(base, donor, []) == base
    assert workspace.snapshot() == donor


def test_a_graft_turns_folders_into_files_and_back(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/x/a.py", "a")
    folder = workspace.snapshot()
    (repo.root / "src/x/a.py").unlink()
    (repo.root / "src/x").rmdir()
    repo.write("src/x", "file")
    file = workspace.snapshot()
    both = ["src/x", "src/x/a.py"]
    assert workspace.graft(folder, file, both) == file
    assert workspace.graft(file, folder, both) == folder


def test_a_blob_is_kept_as_it_is(workspace: Workspace) -> None:
    blob = workspace.blob(b"\r\n\0")
    assert workspace.blob_bytes(blob) == b"\r\n\0"
    assert workspace.blob_bytes("2" * 40) is None


LINES = [f"line {number}\n" for number in range(9)]


def test_a_three_way_merge_joins_what_lies_apart(repo: GitRepo, workspace: Workspace) -> None:
    sides = []
    for changed in ((), (0,), (8,), (0, 8)):
        repo.write("src/a.py", "".join("new\n" if n in changed else line for n, line in enumerate(LINES)))
        sides.append(workspace.snapshot())
    base, ours, theirs, both = sides
    assert workspace.merge_path(base, ours, theirs, "src/a.py") == workspace.read(both, "src/a.py")
    assert workspace.merge_path(base, base, theirs, "src/a.py") == workspace.read(theirs, "src/a.py")
    assert workspace.merge_path(base, ours, base, "src/a.py") == workspace.read(ours, "src/a.py")


def test_a_merge_that_conflicts_is_none(repo: GitRepo, workspace: Workspace) -> None:
    sides = []
    for data in (b"base\n", b"ours\n", b"theirs\n", b"\0binary"):
        repo.write("src/a.py", data)
        sides.append(workspace.snapshot())
    (repo.root / "src/a.py").unlink()
    deleted = workspace.snapshot()
    base, ours, theirs, binary = sides
    assert workspace.merge_path(base, ours, theirs, "src/a.py") is None
    assert workspace.merge_path(base, binary, theirs, "src/a.py") is None
    assert workspace.merge_path(base, ours, deleted, "src/a.py") is None
    assert workspace.merge_path(base, base, deleted, "src/a.py") is None
    assert workspace.merge_path(deleted, ours, theirs, "src/a.py") is None
    assert workspace.merge_path(deleted, deleted, theirs, "src/a.py") == b"theirs\n"
