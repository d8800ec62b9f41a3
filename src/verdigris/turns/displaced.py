"""Bytes that had to make way, found in the log and kept in the store: newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.storage.project import Project


@value
class Kept:
    path: str
    blob: str
    seq: int
    """The event that tells of it."""
    ts: int


def kept(project: Project, path: str | None = None) -> Iterator[Kept]:
    """Of this worktree; all, or those of one path."""
    for record in project.log.records(reverse=True):
        told = record.data.get("displaced")
        if record.worktree != project.repo.worktree or not isinstance(told, list | tuple):
            continue
        for each in told:
            name, _, blob = each.rpartition(" ")
            if path in {None, name}:
                yield Kept(name, blob, record.seq, record.ts)
