"""Finds what is wrong with one edit of a role: its path, its owner, its shape, the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdigris.core.languages import has_tests_in_source
from verdigris.core.paths import PathClass
from verdigris.models.roles.context import Material, Tree, secret

if TYPE_CHECKING:
    from verdigris.models.roles import Role
    from verdigris.models.roles.answer import RoleAnswer, RoleEdit


_LONGEST = 240
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def plain(path: str) -> str:
    """Takes off a leading `./`, which is harmless."""
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


def ownership_fault(path: str, material: Material, brief: str) -> str | None:
    """Why it is not any role's to write. `brief`: what the file that says what is to be built is called."""
    if path in material.own:
        return None
    folders = [part.lower() for part in path.split("/")]
    if ".git" in folders:
        return "it belongs to git"
    if folders[0] == ".tdd" or material.classify(path) is PathClass.SWITCH:
        return "it belongs to the machine, and no role writes it"
    if path == material.kata_path:
        return f"it is the {brief}; if the {brief} is wrong, answer with the verdict {brief}-is-wrong"
    if secret(path):
        return "a file of that name may hold secrets, so no role writes it"
    return "it is not available" if path in material.withheld else None


def rule_fault(edit: RoleEdit, role: Role, material: Material, tree: Tree) -> str | None:
    paths = (plain(path) for path in (edit.path, edit.to) if path is not None)
    classes = frozenset(map(material.classify, paths))
    if PathClass.SPEC in classes:
        return "it is specification, and no role changes it"
    if role.only_own and not material.own.issuperset(paths_of(edit)):
        return f"the {role} writes {', '.join(sorted(material.own)) or 'nothing'} alone"
    found = (object_to(edit, tree) for cls, object_to in role.objections if cls in classes)
    return next(filter(None, found), None)


def may_hold_tests(path: str, material: Material) -> bool:
    """Some languages have tests inside their source files."""
    return material.classify(path) is PathClass.TEST or has_tests_in_source(path)


def find_nested(answer: RoleAnswer) -> Iterator[str]:
    written = [plain(edit.to or edit.path) for edit in answer.edits if edit.action != "delete"]
    for path in written:
        if inner := next((other for other in written if other.startswith(f"{path}/")), None):
            yield f"{path}: another edit makes it a folder ({inner})."


def paths_of(edit: RoleEdit) -> tuple[str, ...]:
    return tuple(plain(path) for path in (edit.path, edit.to) if path is not None)


def shape_fault(edit: RoleEdit) -> str | None:
    match edit.action:
        case "upsert" if edit.content is None:
            return "`upsert` needs `content`, the file's whole new text"
        case "move" if edit.to is None:
            return "`move` needs `to`, the new path"
        case "delete" if edit.content is not None:
            return "`delete` takes no `content`"
    if edit.action != "move" and edit.to is not None:
        return f"`{edit.action}` takes no `to`"
    return _content_fault(edit.content or "")


def _content_fault(content: str) -> str | None:
    if "\0" in content:
        at = content.index("\0") + 1
        return f"its content is binary (a NUL at character {at}), and only text can be written"
    try:
        content.encode()
    except UnicodeEncodeError as error:
        return f"its content is no Unicode text (half a surrogate pair at character {error.start + 1})"
    return None


def tree_fault(edit: RoleEdit, tree: Tree) -> str | None:
    path = plain(edit.path)
    if edit.action != "upsert" and path not in tree:
        return f"there is no such file to {edit.action}"
    if edit.action != "delete" and path in tree and tree[path] is None:
        return "it is binary or too large to be shown, so it can only be left or deleted"
    if edit.action == "delete":
        return None
    target = plain(edit.to) if edit.to is not None else path
    if edit.action == "move" and target in tree:
        return f"{target} exists already, and a move would overwrite it"
    if any(other.startswith(f"{target}/") for other in tree):
        return f"{target} is a folder"
    parents = target.split("/")[:-1]
    above = ("/".join(parents[: n + 1]) for n in range(len(parents)))
    return next((f"{folder} is a file, not a folder" for folder in above if folder in tree), None)
