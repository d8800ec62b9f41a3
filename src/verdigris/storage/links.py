"""Finds links that lead tests or source out of the worktree.

A link has the class of what it leads to. Where that is a file or a folder of the worktree, its real path
decides; where it is not, or lies where no snapshot looks, nothing that is read through the link can be frozen
or proven. What a person calls `generated` in tdd.yaml may lead anywhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.paths import LINK, PathClass, class_of_folder
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.scan import Installed

LOOKED_AT = 5_000
"""Files behind one link; among more than these, the name of the link decides."""
_ORDER = tuple(PathClass)


@value
class LinkOut:
    path: str
    """Relative to the worktree's root."""
    target: str
    cls: PathClass
    """The most protected class among what is read through the link."""


def links_out(project: Project, tree: str) -> tuple[LinkOut, ...]:
    """The links of a snapshot, as they lead now, through which tests, specs or source are read."""
    links = (entry.path for entry in project.workspace.files(tree) if entry.mode == LINK)
    return among(project, links)


def among(project: Project, links: Iterable[str]) -> tuple[LinkOut, ...]:
    from verdigris.storage.snapshots.scan import Installed

    top = os.path.realpath(project.root)
    installed = Installed(top, project.classify)
    found = []
    for path in links:
        target = os.path.realpath(f"{top}/{path}")
        if _is_recorded(target, top, installed):
            continue
        cls = _class_behind(path, target, project.classify)
        if cls is not PathClass.OTHER:
            found.append(LinkOut(path, target, cls))
    return tuple(found)


def refuse(links: tuple[LinkOut, ...]) -> Deny | None:
    """Why nothing can be claimed or proven while they are there."""
    if not links:
        return None
    return Deny("leads-out", explain(links[0]), remedy(links[0]))


def explain(link: LinkOut) -> str:
    return (
        f"{link.path} is a link that leads out of the worktree, to {link.target}: what is read there has no "
        "snapshot, so nobody can tell whether it changed."
    )


def remedy(link: LinkOut) -> str:
    return (
        f"put the files themselves at {link.path}; a person may name it under `generated:` in tdd.yaml, and "
        "what lies there is then nobody's to prove"
    )


def _is_recorded(target: str, top: str, installed: Installed) -> bool:
    """Whether snapshots look there."""
    if target == top:
        return True
    if not target.startswith(f"{top}/"):
        return False
    path = target[len(top) + 1 :]
    return path.split("/")[0] != ".git" and not installed.holds(path)


def _class_behind(path: str, target: str, classify: Callable[[str], PathClass]) -> PathClass:
    if not os.path.isdir(target):  # noqa: PTH112 - text
        return classify(path)
    from verdigris.languages.folders import walk_tree

    classes = {PathClass.OTHER}
    seen = 0
    for folder, _, names in walk_tree(target):
        prefix = path + folder[len(target) :]
        classes.update(classify(f"{prefix}/{name}") for name in names)
        seen += len(names)
        if seen > LOOKED_AT:
            return class_of_folder(path, classify)
    return min(classes, key=_ORDER.index)
