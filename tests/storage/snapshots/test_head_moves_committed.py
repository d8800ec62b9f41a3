from __future__ import annotations

import os
import tempfile
from pathlib import Path

from support.gitrepo import GitRepo, make_repo
from verdigris.core.paths import EXECUTABLE, FILE, LINK
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.head_moves import clean_entries, list_commit, read_as_checked_out

ODD = os.fsdecode(b"line\nbreak \xff.py")


def test_a_listing_tells_files_links_and_submodules(repo: GitRepo, tmp_path: Path) -> None:
    library = make_repo(tmp_path / "library")
    library.commit("a library", lib="x")
    repo.write(ODD, "odd")
    repo.write("tool", "t", executable=True)
    (repo.root / "link").symlink_to("tool")
    allowed = ("-c", "protocol.file.allow=always")
    repo.git(*allowed, "submodule", "--quiet", "add", str(library.root), "vendor")
    listed = list_commit(find_repository(repo.root), repo.commit())
    modes = {entry.path: entry.mode for entry in listed.files}
    assert modes == {".gitmodules": FILE, ODD: FILE, "link": LINK, "tool": EXECUTABLE}
    assert listed.submodules == ("vendor",)


def test_what_lies_there_as_a_checkout_would_write_it_is_unchanged(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.py text eol=crlf\n")
    repo.write("same.py", "a\r\n")
    repo.write("edited.py", "a\r\n")
    repo.write("deleted.py", "a\r\n")
    repo.write("mode.py", "a\r\n")
    found = find_repository(repo.root)
    entries = list_commit(found, repo.commit()).files
    repo.write("edited.py", "b\r\n")
    (repo.root / "deleted.py").unlink()
    (repo.root / "mode.py").chmod(0o755)
    assert clean_entries(found, entries) == {".gitattributes", "same.py"}


def test_a_worktree_is_seen_though_its_repository_lies_in_another_temporary_folder(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:
        repo = make_repo(Path(elsewhere) / "repo")
        commit = repo.commit(a="x")
        repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
        found = find_repository(tmp_path / "linked")
        assert clean_entries(found, list_commit(found, commit).files) == {"a"}


def test_the_bytes_are_those_of_a_checkout(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.py text eol=crlf\n*.txt filter=broken\n")
    repo.write("a.py", "a\r\n")
    repo.write(ODD, "odd\r\n")
    repo.write("b.txt", "b\n")
    (repo.root / "link.py").symlink_to("a.py")
    found = find_repository(repo.root)
    entries = {entry.path: entry for entry in list_commit(found, repo.commit()).files}
    repo.git("config", "filter.broken.smudge", "false")
    repo.git("config", "filter.broken.required", "true")
    bytes_of = {path: read_as_checked_out(found, entry) for path, entry in entries.items()}
    assert bytes_of["a.py"] == b"a\r\n"
    assert bytes_of[ODD] == b"odd\r\n"
    assert bytes_of["link.py"] == b"a.py"
    assert bytes_of["b.txt"] == b"b\n"
