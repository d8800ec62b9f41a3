from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import StorageError, UserError
from verdigris.core.paths import EXECUTABLE, FILE, LINK
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.restoration import Displaced

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo
    from verdigris.storage.snapshots.workspace import Workspace


def listing(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link, and every folder that is empty, outside the git folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = os.fspath(path.relative_to(root))
        if name.split("/")[0] == ".git":
            continue
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            found[name] = (LINK, os.fsencode(path.readlink()))
        elif stat.S_ISREG(state.st_mode):
            found[name] = (EXECUTABLE if state.st_mode & 0o100 else FILE, path.read_bytes())
        elif not any(path.iterdir()):
            found[name] = ("empty folder", b"")
    return found


def empty(root: Path) -> None:
    for path in sorted((root / "src").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def first_state(repo: GitRepo) -> None:
    repo.write("src/edited.py", "old" * 100)
    repo.write("src/mode.sh", "same", executable=True)
    repo.write("src/deleted.py", "gone later")
    repo.write("src/folder/becomes/file.py", "f")
    repo.write("src/file", "becomes folder")
    (repo.root / "src/link").symlink_to("edited.py")
    (repo.root / "src/relinked").symlink_to("edited.py")
    repo.write("src/becomes_link", "file")
    repo.write(os.fsdecode(b"src/odd \xff\n'\".py"), "odd")


def second_state(repo: GitRepo) -> None:
    repo.write("src/edited.py", "new", executable=True)
    repo.write("src/mode.sh", "same")
    repo.write("src/added/deep/down.py", "added")
    repo.write("src/folder/becomes", "a file now")
    repo.write("src/file/inner.py", "in a folder now")
    repo.write("src/link", "a file now")
    (repo.root / "src/relinked").symlink_to("nowhere")
    (repo.root / "src/becomes_link").symlink_to("file")
    repo.write("src/same.py", "both")


def two_trees(repo: GitRepo, workspace: Workspace) -> tuple[str, str, list[str]]:
    """Two trees that differ in every way, the second of which lies in the worktree."""
    (repo.root / "src").mkdir()
    first_state(repo)
    first = workspace.snapshot()
    empty(repo.root)
    second_state(repo)
    second = workspace.snapshot()
    return first, second, [change.path for change in workspace.changes(first, second)]


def test_every_kind_of_change_is_laid_both_ways(repo: GitRepo, workspace: Workspace) -> None:
    first, second, paths = two_trees(repo, workspace)
    there = listing(repo.root)
    assert workspace.lay(first, paths, expect=second) == ()
    assert workspace.snapshot() == first
    assert "empty folder" not in {mode for mode, _ in listing(repo.root).values()}
    assert workspace.lay(second, paths, expect=first) == ()
    assert listing(repo.root) == there


def test_only_the_named_paths_are_touched(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    repo.write("src/b.py", "b")
    tree = workspace.snapshot()
    repo.write("src/a.py", "edited")
    repo.write("src/b.py", "edited")
    workspace.lay(tree, ["src/a.py"], expect=workspace.snapshot())
    assert (repo.read("src/a.py"), repo.read("src/b.py")) == (b"a", b"edited")


def test_unexpected_bytes_are_laid_over_and_kept(repo: GitRepo, workspace: Workspace) -> None:
    old = workspace.snapshot()
    for name in ("expected", "already", "unexpected", "mode", "deleted"):
        repo.write(f"src/{name}.py", name)
    expect = workspace.snapshot()
    (repo.root / "src/deleted.py").unlink()
    (repo.root / "src/already.py").unlink()
    repo.write("src/unexpected.py", b"mine \xff")
    (repo.root / "src/mode.py").chmod(0o755)
    paths = [entry.path for entry in workspace.files(expect)]
    displaced = workspace.lay(old, paths, expect=expect)
    assert displaced == (
        Displaced("src/mode.py", workspace.blob(b"mode"), EXECUTABLE),
        Displaced("src/unexpected.py", workspace.blob(b"mine \xff"), FILE),
    )
    assert listing(repo.root) == {}


def test_what_stands_in_the_way_is_kept_too(repo: GitRepo, workspace: Workspace, tmp_path: Path) -> None:
    repo.write("src/x/a.py", "a")
    repo.write("src/y", "y")
    tree = workspace.snapshot()
    empty(repo.root)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("theirs")
    (repo.root / "src/x").symlink_to(outside)
    repo.write("src/y/mine.py", "mine")
    repo.write("src/y/node_modules/z.js", "z")
    (repo.root / "src/y/empty").mkdir()
    displaced = workspace.lay(tree, ["src/x/a.py", "src/y"], expect=tree)
    kept = {d.path: (d.mode, workspace.blob_bytes(d.blob)) for d in displaced}
    assert kept == {
        "src/x": (LINK, os.fsencode(outside)),
        "src/y/mine.py": (FILE, b"mine"),
        "src/y/node_modules/z.js": (FILE, b"z"),
    }
    assert workspace.snapshot() == tree
    assert (outside / "a.py").read_text() == "theirs"


def test_a_deletion_beyond_a_link_is_no_deletion(repo: GitRepo, workspace: Workspace, tmp_path: Path) -> None:
    tree = workspace.snapshot()
    (tmp_path / "a.py").write_text("theirs")
    (repo.root / "src").symlink_to(tmp_path)
    assert workspace.lay(tree, ["src/a.py"], expect=tree) == ()
    assert (tmp_path / "a.py").read_text() == "theirs"
    assert (repo.root / "src").is_symlink()


def test_laying_what_lies_there_changes_nothing(repo: GitRepo, workspace: Workspace) -> None:
    path = repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    before = path.stat()
    workspace.lay(tree, ["src/a.py", "src/none.py"], expect=tree)
    assert path.stat() == before or path.stat().st_ctime_ns == before.st_ctime_ns


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".git/config", "a/.GIT/x", "a\0b"]
)
def test_a_path_outside_the_worktree_is_refused(workspace: Workspace, path: str) -> None:
    tree = workspace.snapshot()
    with pytest.raises(UserError, match="no path in the worktree"):
        workspace.lay(tree, [path], expect=tree)


@pytest.mark.usefixtures("unprivileged")
def test_a_read_only_folder_is_named(repo: GitRepo, workspace: Workspace) -> None:
    old = workspace.snapshot()
    path = repo.write("src/sub/a.py", "a")
    tree = workspace.snapshot()
    path.parent.chmod(0o555)
    try:
        with pytest.raises(StorageError, match=r"cannot delete 'src/sub/a\.py': Permission denied"):
            workspace.lay(old, ["src/sub/a.py"], expect=tree)
    finally:
        path.parent.chmod(0o755)
    assert workspace.lay(old, ["src/sub/a.py"], expect=tree) == ()
    assert listing(repo.root) == {}


LAY = """
import os, pathlib, signal, sys
from verdigris.core.paths import PathClass
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.workspace import Workspace

root, first, second, left = sys.argv[1:5]
paths = sys.stdin.buffer.read().split(b"\\0")
left = int(left)

def counted(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            if name == "write":
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(os, name, call)

workspace = Workspace(find_repository(pathlib.Path(root)), lambda _: PathClass.SOURCE)
for name in ("unlink", "rmdir", "mkdir", "symlink", "ftruncate", "fchmod", "write", "replace"):
    counted(name)
workspace.lay(first, [os.fsdecode(path) for path in paths], expect=second)
"""


def lay_and_be_killed(repo: GitRepo, first: str, second: str, paths: list[str], step: int) -> bool:
    """Lay in a process that kills itself before the given change of the disk; whether it got that far."""
    argv = [sys.executable, "-c", LAY, str(repo.root), first, second, str(step)]
    done = subprocess.run(argv, input=b"\0".join(map(os.fsencode, paths)), check=False, capture_output=True)
    assert done.returncode in {0, -9}, done.stderr
    return done.returncode != 0


@pytest.mark.slow
def test_killed_at_any_step_the_same_call_finishes_the_job(repo: GitRepo, workspace: Workspace) -> None:
    first, second, paths = two_trees(repo, workspace)
    step = 1
    while True:
        repo.write("src/edited.py", "a person's own bytes")
        killed = lay_and_be_killed(repo, first, second, paths, step)
        displaced = workspace.lay(first, paths, expect=second)
        assert [(d.path, workspace.blob_bytes(d.blob)) for d in displaced] == [
            ("src/edited.py", b"a person's own bytes")
        ], step
        assert workspace.snapshot() == first, step
        if not killed:
            break
        assert workspace.lay(second, paths, expect=first) == ()
        step += 1
    assert step > 25


def test_what_was_displaced_is_told_again_until_something_else_is_laid(
    repo: GitRepo, workspace: Workspace
) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    repo.write("src/a.py", "b")
    expect = workspace.snapshot()
    repo.write("src/a.py", "mine")
    told = workspace.lay(tree, ["src/a.py"], expect=expect)
    assert [d.path for d in told] == ["src/a.py"]
    assert workspace.lay(tree, ["src/a.py"], expect=expect) == told
    assert workspace.lay(expect, ["src/a.py"], expect=tree) == ()
    assert workspace.lay(tree, ["src/a.py"], expect=expect) == ()


def test_a_finished_call_does_not_excuse_a_new_beginning_of_the_bytes(
    repo: GitRepo, workspace: Workspace
) -> None:
    repo.write("src/a.py", "abc")
    tree = workspace.snapshot()
    workspace.lay(tree, ["src/a.py"], expect=tree)
    repo.write("src/a.py", "ab")
    assert [d.blob for d in workspace.lay(tree, ["src/a.py"], expect=tree)] == [workspace.blob(b"ab")]


def test_damaged_notes_are_no_obstacle(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    (find_repository(repo.root).private / "laying.json").write_text("{")
    assert workspace.lay(tree, ["src/a.py"], expect=tree) == ()


def test_a_lost_object_is_said_before_anything_is_touched(repo: GitRepo, workspace: Workspace) -> None:
    repo.write("src/a.py", "a")
    tree = workspace.snapshot()
    repo.write("src/a.py", "b")
    expect = workspace.snapshot()
    blob = workspace.blob(b"a")
    (find_repository(repo.root).control / "store/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StorageError, match=r"lost 'src/a\.py'"):
        workspace.lay(tree, ["src/a.py"], expect=expect)
    assert repo.read("src/a.py") == b"b"
