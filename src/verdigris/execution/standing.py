"""Whether the tree stood still while its tests ran: bytes alone do not tell, they may have been put back.

Asked only while processes of an agent's calls live: each keeps the rights of the phase that it began in.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.core.protection import above
from verdigris.languages.oraclepart import is_mixed
from verdigris.storage import stat_cache
from verdigris.storage.opencall import alive
from verdigris.storage.snapshots.mapped import shared

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def standing(project: Project, tree: str) -> list[stat_cache.Row]:
    """How all looks that a verdict rests on: source, tests, and the folders that tests are looked for in."""
    if not alive(str(project.repo.private)):
        return []
    paths = [e.path for e in project.workspace.files(tree)]
    classes = {path: project.classify(path) for path in paths}
    judged = [path for path, cls in classes.items() if cls is not PathClass.OTHER or is_mixed(path, cls)]
    tests = (path for path in judged if classes[path] is PathClass.TEST)
    folders = {"", *(folder for path in tests for folder in above(path))}
    root = os.fsencode(project.root)
    return [stat_cache.stamp(root, os.fsencode(path)) for path in (*judged, *sorted(folders))]


def stirred(project: Project, before: list[stat_cache.Row]) -> tuple[str, ...]:
    """What was touched since, or could be without a trace."""
    if not before:
        return ()
    touched = dict.fromkeys(stat_cache.differs(os.fsencode(project.root), before))
    hidden = shared(project.repo.private)
    touched |= dict.fromkeys(path for path, _, inode, *_ in before if inode in hidden)
    return tuple(os.fsdecode(path) or "." for path in touched)
