"""Which packages tests assert with, beside the runner's own: those that only tests need, and import."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.checks.foundation.tools import found_package, package_code
from verdigris.core.languages import NODE, language_of
from verdigris.core.pathclass import PathClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.change import Entry
    from verdigris.storage.project import Project

_IMPORTED = re.compile(rb"""\b(?:from|import|require)\s*\(?\s*["']((?:@[\w.-]+/)?[a-z\d][\w.-]*)["'/]""")
_MANIFEST = "package.json"


def imported(project: Project, known: dict[str, Any]) -> frozenset[str]:
    """Files by path. `known`: packages that a test file imports, by its blob; what is new is added."""
    if not any(stack.language == NODE for stack in project.settings.stacks):
        return frozenset()
    tree = project.workspace.snapshot()
    entries = project.workspace.files(tree)
    tests = [entry for entry in entries if _is_test(project, entry)]
    unread = {entry.path: entry.blob for entry in tests if entry.blob not in known}
    for path, data in project.workspace.read_many(tree, unread).items():
        known[unread[path]] = sorted({name.decode() for name in _IMPORTED.findall(data or b"")})
    for blob in known.keys() - {entry.blob for entry in tests}:
        del known[blob]
    manifests = [entry.path for entry in entries if f"/{entry.path}".endswith(f"/{_MANIFEST}")]
    needed = frozenset(
        name for data in project.workspace.read_many(tree, manifests).values() for name in _needed(data)
    )
    asked = {(entry.path.rpartition("/")[0], name) for entry in tests for name in known[entry.blob]}
    root = str(project.root)
    folders = {
        found_package(name, f"{root}/{folder}".rstrip("/"), root)
        for folder, name in asked
        if name not in needed
    }
    return frozenset(path for folder in folders - {None} if folder for path in package_code(folder))


def _is_test(project: Project, entry: Entry) -> bool:
    return language_of(entry.path) == NODE and project.classify(entry.path) is PathClass.TEST


def _needed(data: bytes | None) -> Iterator[str]:
    """By source too: such packages come and go while going green."""
    try:
        document = json.loads(data or b"{}")
        yield from document.get("dependencies", {})
    except (ValueError, AttributeError, TypeError):
        return
