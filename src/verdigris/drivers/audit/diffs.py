"""Reads what each change of a report did to source and tests, for a page to show."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.errors import NotARepository
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.drivers.audit.report import AuditReport, UnitReport
    from verdigris.storage.git import Git

MOST_LINES = 500
"""Of one change."""
_LARGEST = 1 << 18
"""Bytes of a file that is shown."""
_DIFF = ("--literal-pathspecs", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")


def read_diffs(start: Path, report: AuditReport) -> dict[str, str]:
    """Diffs by commit; none of a change whose trees are not here, as where a report is shown elsewhere."""
    try:
        git = users_git(find_repository(start))
    except NotARepository:
        return {}
    found = {unit.commit.id: _read_diff(git, unit) for unit in report.units if unit.paths}
    return {commit: text for commit, text in found.items() if text}


def _read_diff(git: Git, unit: UnitReport) -> str:
    large = {path for tree in (unit.before, unit.after) for path in _list_large(git, tree, unit.paths)}
    shown = [path for path in unit.paths if path not in large]
    output = git.call(*_DIFF, unit.before, unit.after, "--", *shown) if shown else None
    lines = os.fsdecode(output.stdout).splitlines() if output is not None and output.code == 0 else []
    rest = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    return "\n".join((*lines[:MOST_LINES], *rest, *(f"… {path} is large" for path in sorted(large))))


def _list_large(git: Git, tree: str, paths: tuple[str, ...]) -> Iterator[str]:
    listed = git.call("--literal-pathspecs", "ls-tree", "-r", "-l", "-z", "--full-tree", tree, "--", *paths)
    for row in null_split(listed.stdout) if listed.code == 0 else ():
        about, _, path = row.partition("\t")
        size = about.split()[-1]
        if size.isdecimal() and int(size) > _LARGEST:
            yield path
