"""What a call promised is kept by whoever reads its record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.storage.calls import call_records
from verdigris.storage.calls.call_promise import CallPromise
from verdigris.storage.calls.git_folders import GitFolder
from verdigris.storage.calls.path_folders import PathFolders

if TYPE_CHECKING:
    from pathlib import Path


def test_of_a_killed_call_programs_and_pointers_are_undone_by_its_record(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "repo", tmp_path / "bin"
    private = str(root / ".git/tdd/worktrees/main")
    for folder in (root / "bin", elsewhere, root / ".git/tdd/worktrees/main"):
        folder.mkdir(parents=True)
    (elsewhere / "node").write_bytes(b"\x7fELF")
    (elsewhere / "node").chmod(0o755)
    programs = PathFolders(str(root), f"{root}/bin:{elsewhere}", [f"{root}/bin"])
    promise = CallPromise(GitFolder(str(root), private).look(), programs)
    os.close(call_records.open_record(private, "make", "s1", promise))
    (root / "bin/node").write_text("#!/bin/sh\n")
    (root / ".git/commondir").write_text("/evil\n")
    said = call_records.finish_left(private)
    assert [line.partition(" ")[0] for line in said] == [f"{root}/.git/commondir", f"{root}/bin/node"]
    assert not (root / "bin/node").exists()
    assert not (root / ".git/commondir").exists()
    assert call_records.finish_left(private) == []
