from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.workspaces import NOBODY, workspace_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.gitrepo import GitRepo
    from verdigris.storage.snapshots.workspace import Workspace


@pytest.fixture
def workspace(repo: GitRepo) -> Workspace:
    return workspace_of(repo)


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[None]:
    """Permissions count, even where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if (folder.stat().st_uid == 0 and "pytest" in folder.name) or folder.name.startswith("popen-"):
            folder.chmod(folder.stat().st_mode | 0o011)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
