"""Workspaces on real repositories, with a simple rule for path classes."""

from __future__ import annotations

from support.gitrepo import GitRepo
from verdigris.core.paths import PathClass
from verdigris.storage.repository import find_repository
from verdigris.storage.snapshots.workspace import Workspace

NOBODY = 65534


def classify(path: str) -> PathClass:
    """`src` and `lib` hold source, `tests` tests."""
    match path.split("/", maxsplit=1)[0]:
        case "src" | "lib":
            return PathClass.SOURCE
        case "tests":
            return PathClass.TEST
        case "tdd.yaml":
            return PathClass.SWITCH
        case _:
            return PathClass.OTHER


def workspace_of(repo: GitRepo) -> Workspace:
    return Workspace(find_repository(repo.root), classify)
