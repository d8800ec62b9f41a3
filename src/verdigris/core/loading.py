"""What the modules that a verdict's run loaded say about it: from where they may come, and what is odd."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.report import TestReport


def import_roots(source: Iterable[str]) -> tuple[str, ...]:
    """Folders from which the project's modules may be imported: above each package, and all above those."""
    paths = frozenset(path for path in source if path.endswith(".py"))
    roots: set[str] = set()
    for folder in {posixpath.dirname(path) for path in paths}:
        at = folder
        while at and f"{at}/__init__.py" in paths:
            at = posixpath.dirname(at)
        while at not in roots:
            roots.add(at)
            at = posixpath.dirname(at)
    return tuple(sorted(roots))


def from_elsewhere(report: TestReport) -> tuple[str, ...]:
    """Reasons to trust no result: other code was tested than the candidate's."""
    advice = "install the project as editable, or remove that copy"
    return tuple(f"loaded {each}: {advice}" for each in report.outside)
