"""A turn whose foundation changed: no verdict until its reds are proven anew, on the turn's start tree."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.checks.foundation.frozen import changed
from verdigris.core.events import Settled, Suspended, Violation
from verdigris.core.verdict import Kind, Verdict
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.state import Turn
    from verdigris.storage.project import Project

_FEW = 3
_FOLDERS = (
    re.compile(r"^(.*?(?:site-packages|dist-packages|node_modules)/(?:@[^/]+/)?[^/]+)/"),
    re.compile(r"^(.*?(?:site-packages|dist-packages|node_modules|lib/python[\d.]+))/"),
)
"""A package, and the environment that holds it."""
CHANGED = "changed since the claim; the tests run on it"


def undermined(project: Project, turn: Turn, tree: str, loaded: Iterable[str] = ()) -> Verdict | None:
    """None while all is as it was frozen. Otherwise `tdd test` of the claims resumes; no edit is touched.

    `loaded`: by the verdict's run, where it was made.
    """
    paths = changed(project, turn.foundation, turn.founded, loaded)
    if not paths:
        return None
    reasons = tuple(f"{what} {CHANGED}" for what in folded(paths))
    now = head(project.repo)
    project.record(
        *(Violation(path=path, what=CHANGED) for path in folded(paths)),
        Settled(turn=turn.id, verdict=Kind.TAMPERED, tree=tree, reasons=reasons),
        Suspended(turn=turn.id, tree=turn.tree, commit=now.commit, on=now.branch, why=reasons[0]),
        sync=True,
    )
    return Verdict(Kind.TAMPERED, reasons)


def folded(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Many files of one package are told as one, many packages as their folder: an upgrade changes them."""
    told = {path: path for path in paths}
    for folder in _FOLDERS:
        above = {what: found[1] for what in set(told.values()) if (found := folder.match(f"{what}/"))}
        number = Counter(above.values())
        told = {
            path: above[what] if number[above.get(what, "")] > _FEW else what for path, what in told.items()
        }
    count = Counter(told.values())
    return tuple(f"{what}: {count[what]} files" if count[what] > 1 else what for what in count)
