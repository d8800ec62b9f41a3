"""Files as text, from the worktree or from a tree; bytes that are not UTF-8 survive as surrogates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.storage.project import Project


def text_of(project: Project, path: str) -> str | None:
    """A file of the worktree; None when it cannot be read."""
    try:
        return (project.root / path).read_text("utf-8", "surrogateescape")
    except OSError:
        return None


def texts_at(project: Project, tree: str, paths: Iterable[str]) -> dict[str, str]:
    """Those of `paths` that the tree has."""
    contents = project.workspace.read_many(tree, list(paths))
    return {p: data.decode("utf-8", "surrogateescape") for p, data in contents.items() if data is not None}
