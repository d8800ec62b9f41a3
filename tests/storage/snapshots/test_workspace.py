"""The worktree's snapshots against everything that the user's git may have been told."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import GitRepo, make_repo
from support.workspaces import NOBODY, workspace_of
from verdigris.core.errors import StorageError, UserError
from verdigris.storage.git import Git
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots import workspace as module
from verdigris.storage.snapshots.workspace import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verdigris.storage.snapshots.workspace import Workspace


RAW = b"$Id$\r\none\ntwo\r\n\xff\xfe"
PATH = "src/a.py"


def a_filter(repo: GitRepo) -> None:
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    repo.git("config", "filter.upper.smudge", "tr A-Z a-z")
    repo.git("config", "filter.upper.required", "true")
    repo.write(".gitattributes", "*.py filter=upper\n")


def crlf_conversion(repo: GitRepo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.git("config", "core.safecrlf", "true")
    (repo.home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n\teol = crlf\n")


def attributes_in_the_tree(repo: GitRepo) -> None:
    macro = "[attr]all text eol=crlf ident working-tree-encoding=UTF-16\n"
    repo.write(".gitattributes", macro + "*.py all\n")
    repo.write("src/.gitattributes", "* text=auto ident eol=lf working-tree-encoding=UTF-16 crlf=input\n")


def attributes_of_the_repository(repo: GitRepo) -> None:
    (repo.root / ".git/info").mkdir()
    (repo.root / ".git/info/attributes").write_text("*.py text eol=lf ident working-tree-encoding=UTF-16\n")


def attributes_of_the_user(repo: GitRepo) -> None:
    (repo.home / ".config/git").mkdir(parents=True)
    (repo.home / ".config/git/attributes").write_text("*.py text eol=lf ident\n")


def assume_unchanged(repo: GitRepo) -> None:
    repo.commit()
    repo.git("update-index", "--assume-unchanged", PATH)


def skip_worktree(repo: GitRepo) -> None:
    repo.commit()
    repo.git("update-index", "--skip-worktree", PATH)


def a_lying_fsmonitor(repo: GitRepo) -> None:
    hook = repo.write("fsmonitor", "#!/bin/sh\ntouch called\nprintf 'token\\0'\n", executable=True)
    repo.git("config", "core.fsmonitor", str(hook))


def hooks(repo: GitRepo) -> None:
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        repo.write(f"hooks/{name}", "#!/bin/sh\ntouch called\nexit 1\n", executable=True)
    repo.git("config", "core.hooksPath", str(repo.root / "hooks"))


def a_sparse_checkout(repo: GitRepo) -> None:
    repo.commit()
    repo.git("config", "core.sparseCheckout", "true")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/sparse-checkout").write_text("/docs/\n")


def the_environment(repo: GitRepo) -> None:
    """Set by the test itself."""


INFLUENCES: list[Callable[[GitRepo], None]] = [
    a_filter,
    crlf_conversion,
    attributes_in_the_tree,
    attributes_of_the_repository,
    attributes_of_the_user,
    assume_unchanged,
    skip_worktree,
    a_lying_fsmonitor,
    hooks,
    a_sparse_checkout,
    the_environment,
]


@pytest.mark.parametrize("influence", INFLUENCES)
def test_bytes_are_recorded_and_restored_raw_and_the_users_git_is_untouched(
    repo: GitRepo, influence: Callable[[GitRepo], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo.write(PATH, RAW)
    influence(repo)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.autocrlf'='input'")
    users = repo.fingerprint()
    workspace = workspace_of(repo)
    first = workspace.snapshot()
    repo.write(PATH, RAW[::-1])
    second = workspace.snapshot()
    assert (workspace.read(first, PATH), workspace.read(second, PATH)) == (RAW, RAW[::-1])
    assert workspace.lay(first, [PATH], expect=second) == ()
    assert repo.read(PATH) == RAW
    assert workspace.snapshot() == first
    assert repo.fingerprint() == users
    assert not list(repo.root.rglob("called"))
    assert not (tmp_path / "elsewhere").exists()


def test_index_head_stash_refs_and_config_stay_as_they_are(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(PATH, "committed")
    repo.commit()
    repo.write(PATH, "stashed")
    repo.git("stash", "push", "--quiet")
    repo.write(PATH, "staged")
    repo.git("add", PATH)
    repo.write(PATH, "edited")
    users = repo.fingerprint()
    tree = workspace.snapshot()
    repo.write(PATH, "edited again")
    workspace.lay(tree, [PATH], expect=workspace.snapshot())
    workspace.graft(tree, tree, [PATH])
    assert repo.fingerprint() == users
    assert repo.read(PATH) == b"edited"


def test_a_snapshot_outlives_gc_clean_and_the_worktrees_end(repo: GitRepo, tmp_path: Path) -> None:
    repo.write(PATH, "never committed")
    repo.commit()
    repo.git("worktree", "add", "--quiet", str(tmp_path / "side"))
    side = workspace_of(GitRepo(tmp_path / "side", repo.home))
    (tmp_path / "side/src/b.py").write_text("only there")
    tree = side.snapshot()
    repo.git("worktree", "remove", "--force", str(tmp_path / "side"))
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    repo.git("clean", "-ffdxq")
    workspace = workspace_of(repo)
    assert workspace.read_many(tree, [PATH, "src/b.py"]) == {
        PATH: b"never committed",
        "src/b.py": b"only there",
    }
    workspace.lay(tree, ["src/b.py"], expect=workspace.snapshot())
    assert repo.read("src/b.py") == b"only there"


def test_the_store_owns_what_the_repository_has_too(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(PATH, "committed and then thrown away")
    repo.commit()
    tree = workspace.snapshot()
    (repo.root / PATH).unlink()
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--amend", "--allow-empty", "--message", "nothing")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    assert workspace.read(tree, PATH) == b"committed and then thrown away"


def test_linked_worktrees_have_indexes_of_their_own(repo: GitRepo, tmp_path: Path) -> None:
    repo.write(PATH, "both")
    repo.commit()
    repo.git("worktree", "add", "--quiet", str(tmp_path / "side"))
    main, side = workspace_of(repo), workspace_of(GitRepo(tmp_path / "side", repo.home))
    assert main.snapshot() == side.snapshot()
    repo.write(PATH, "main only")
    assert (main.read(main.snapshot(), PATH), side.read(side.snapshot(), PATH)) == (b"main only", b"both")


def test_a_sha256_repository_works_the_same(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", object_format="sha256")
    workspace = workspace_of(repo)
    repo.write(PATH, "a")
    first = workspace.snapshot()
    repo.write(PATH, "b")
    second = workspace.snapshot()
    repo.write(PATH, "mine")
    (displaced,) = workspace.lay(first, [PATH], expect=second)
    assert (repo.read(PATH), workspace.blob_bytes(displaced.blob)) == (b"a", b"mine")
    assert workspace.graft(first, second, [PATH]) == second
    assert len(first) == 64


def test_an_empty_unborn_repository_has_an_empty_snapshot(workspace: Workspace) -> None:
    assert workspace.files(workspace.snapshot()) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_somebody_elses_repository_is_no_obstacle(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(PATH, "a")
    for path in (repo.root, *repo.root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    assert workspace.read(workspace.snapshot(), PATH) == b"a"


def test_a_busy_workspace_names_who_uses_it(
    repo: GitRepo, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT", 0.0)
    lock = find_repository(repo.root).lock("workspace")
    with hold_lock(lock, wait=None), pytest.raises(UserError, match=str(os.getpid())):
        workspace.snapshot()


def test_a_disk_that_fails_is_a_storage_error(repo: GitRepo, workspace: Workspace) -> None:
    repo.write(PATH, "a")
    objects = open_store(find_repository(repo.root)).git_dir / "objects"
    shutil.rmtree(objects)
    objects.write_text("in the way")
    with pytest.raises(StorageError, match="store"):
        workspace.snapshot()
    objects.unlink()
    objects.mkdir()
    assert workspace.read(workspace.snapshot(), PATH) == b"a"


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_the_store_has_the_repositorys_object_format(tmp_path: Path, object_format: str) -> None:
    found = find_repository(make_repo(tmp_path / "repo", object_format=object_format).root)
    git = open_store(found)
    assert git.git_dir == found.control / "store"
    assert git.run("rev-parse", "--show-object-format").decode().strip() == object_format


def test_a_store_is_made_without_git_and_git_finds_nothing_amiss(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(Git, "start", lambda _, *arguments: started.append(arguments[0]))
        git = open_store(find_repository(repo.root))
    assert started == []
    assert git.run("fsck", "--strict") == b""
    assert git.run("rev-parse", "--is-bare-repository") == b"false\n"


def test_a_repository_without_a_configuration_has_a_store_too(repo: GitRepo) -> None:
    (repo.root / ".git/config").unlink()
    found = find_repository(repo.root)
    assert open_store(found).run("rev-parse", "--show-object-format") == b"sha1\n"


def test_a_store_is_made_once_and_whole(repo: GitRepo) -> None:
    found = find_repository(repo.root)
    blob = open_store(found).run("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    assert open_store(found).run("cat-file", "blob", blob) == b"x"
    assert [path.name for path in found.control.iterdir()] == ["store"]


def test_whoever_loses_the_race_uses_the_winners_store(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_repository(repo.root)
    open_store(found)
    shutil.copytree(found.control / "store", found.control / "winner")
    shutil.rmtree(found.control / "store")
    real_mkdtemp = "tempfile.mkdtemp"

    def overtaken(prefix: str, dir: Path) -> str:  # noqa: A002 - the name is tempfile's
        (found.control / "winner").rename(found.control / "store")
        draft = dir / f"{prefix}draft"
        draft.mkdir()
        return os.fspath(draft)

    monkeypatch.setattr(real_mkdtemp, overtaken)
    (found.control / "winner" / "mark").touch()
    open_store(found)
    assert (found.control / "store" / "mark").exists()
    assert [path.name for path in found.control.iterdir()] == ["store"]


def test_a_place_that_cannot_be_written_is_a_storage_error(repo: GitRepo) -> None:
    found = find_repository(repo.root)
    found.control.write_text("in the way")
    with pytest.raises(StorageError, match="store"):
        open_store(found)
