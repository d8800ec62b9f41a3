"""The kernel's own object store: a git folder without refs, with raw bytes, where nothing is pruned."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.storage.git import Git, store_git

if TYPE_CHECKING:
    from verdigris.storage.repository import Repository

# excludesFile is named because its default lies under the user's HOME.
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignoreCase = false
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\thooksPath = /dev/null
\texcludesFile = /dev/null
\tprotectNTFS = false
\tprotectHFS = false
\tcompression = 1
[extensions]
\tobjectFormat = {algorithm}
[gc]
\tauto = 0
[index]
\tversion = 4
"""
ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding\n"
"""Stronger than any `.gitattributes` in the tree: no byte is converted."""


def open_store(repo: Repository) -> Git:
    """The store of `repo`, made on first use."""
    store = repo.control / "store"
    git = store_git(repo, store)
    if not store.is_dir():
        try:
            _make(repo, store)
        except OSError as error:
            raise StorageError(
                f"cannot make the store {store}: {error.strerror}",
                hint="make that folder writable and try again",
            ) from error
    return git


def _make(repo: Repository, store: Path) -> None:
    import shutil
    import tempfile

    repo.control.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="store.", dir=repo.control))
    git = store_git(repo, draft)
    asked = git.call("config", "--file", str(repo.common_dir / "config"), "extensions.objectformat")
    algorithm = os.fsdecode(asked.stdout).strip() or "sha1"
    git.run("init", "--quiet", "--template=", f"--object-format={algorithm}")
    config = (
        CONFIG if algorithm != "sha1" else CONFIG.replace("[extensions]\n\tobjectFormat = {algorithm}\n", "")
    )
    (draft / "config").write_text(config.format(version=0 if algorithm == "sha1" else 1, algorithm=algorithm))
    (draft / "info").mkdir(exist_ok=True)
    (draft / "info" / "attributes").write_text(ATTRIBUTES)
    try:
        draft.rename(store)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not store.is_dir():
            raise
