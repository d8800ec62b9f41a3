"""The stack binding that orchestrators outside read: derived from `tdd.yaml`, and never a source itself."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import PathClass
from verdigris.storage.tdd_folder import prepare_folder, write_whole

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.storage.project import Project

PATH = ".tdd/cycle/stack.json"


def stack_document(project: Project) -> dict[str, Any]:
    """The flat fields of the first stack, all stacks below, and a hash of it all."""
    stacks = [_fields(project, stack) for stack in project.settings.stacks]
    document = {**stacks[0], "stacks": stacks}
    return {**document, "hash": _digest(document)}


def _fields(project: Project, stack: Stack) -> dict[str, Any]:
    root = "" if stack.root == "." else f"{stack.root}/"
    return {
        "language": stack.language,
        "test_command": " ".join((stack.runner, *stack.test_command)),
        "test_file_glob": _globs(project, root, stack.test, PathClass.TEST),
        "source_file_glob": _globs(project, root, stack.source, PathClass.SOURCE),
        "red_confirm": "red: assertion",
        "lint_command": stack.check or "",
    }


def _globs(project: Project, root: str, named: tuple[str, ...], cls: PathClass) -> str:
    """What is configured, and what the files that there are show: folder and suffix of each."""
    found = {root + glob for glob in named}
    for entry in project.workspace.files(project.workspace.snapshot()):
        if entry.path.startswith(root) and project.classify(entry.path) is cls:
            folder, _, name = entry.path.rpartition("/")
            suffix = f"*.{name.rpartition('.')[2]}" if "." in name else name
            found.add(f"{folder}/{suffix}" if folder else suffix)
    return "|".join(sorted(found))


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def write_stack(project: Project) -> str:
    """Makes the file anew; what is said where somebody had edited it, else nothing."""
    prepare_folder(project.root)
    path = project.root / PATH
    said = ""
    if path.is_file() and not _is_derived(path.read_text("utf-8", "replace")):
        said = f"{PATH} was edited by hand: it is derived from tdd.yaml, and was made anew"
    write_whole(path, (json.dumps(stack_document(project), indent=2) + "\n").encode())
    return said


def _is_derived(text: str) -> bool:
    try:
        found = json.loads(text)
        known = found.pop("hash")
    except (ValueError, KeyError, AttributeError):
        return False
    return bool(_digest(found) == known)
