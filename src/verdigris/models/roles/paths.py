"""Whether a path in an answer can be meant: one spelling per file, inside the project, nobody else's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.models.roles.showable import secret

if TYPE_CHECKING:
    from verdigris.models.roles.material import Material

_LONGEST = 240
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def plain(path: str) -> str:
    """Without a leading `./`, which is harmless."""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def path_fault(path: str) -> str | None:
    """Why a spelling is no path of the project, whatever the project holds."""
    parts = path.split("/")
    if not path or path == ".":
        return "it names no file"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "it is not relative to the project's root"
    if "\\" in path:
        return "folders are separated by `/`"
    if _CONTROL.search(path) or not path.isprintable():
        return "it holds a control character"
    if ".." in parts:
        return "`..` may lead outside of the project"
    if path.endswith("/"):
        return "it names a folder, not a file"
    if "" in parts or "." in parts:
        return "it has an empty part"
    return "it is too long" if len(path) > _LONGEST else None


def ownership_fault(path: str, material: Material) -> str | None:
    """Why it is not any role's to write."""
    folders = [part.lower() for part in path.split("/")]
    if ".git" in folders:
        return "it belongs to git"
    if folders[0] == ".tdd" or material.classify(path) is PathClass.SWITCH:
        return "it belongs to the machine, and no role writes it"
    if path == material.kata_path:
        return "it is the kata; if the kata is wrong, answer with the verdict kata-is-wrong"
    if secret(path):
        return "a file of that name may hold secrets, so no role writes it"
    return "it is not available" if path in material.withheld else None
