"""Learns from a run which modules a resident may load in advance."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from verdigris.execution.resident.forkserver import EVERYTHING, learn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.settings import Stack
    from verdigris.execution.resident.resident import ResidentProgram
    from verdigris.storage.project import Project

_USUAL = ("src", "lib", "python", "tests", "test")


def learn_from(
    project: Project,
    stack: Stack,
    program: ResidentProgram,
    *,
    packages: Sequence[str],
    installed: Mapping[str, Any] | None,
    declined: Mapping[str, Any] | None,
) -> None:
    """`installed` and `declined` are the reporter's messages: what it found loaded, and why it gave up."""
    learn(
        str(project.repo.private),
        program,
        places=packages,
        own=lambda: own_names(str(project.root), program.cwd, stack.source),
        names=[name for name in (installed or {}).get("names", ()) if isinstance(name, str)],
        declined="" if declined is None else str(declined.get("module") or EVERYTHING),
    )


def own_names(root: str, cwd: str, sources: Sequence[str]) -> set[str]:
    """Top-level names that modules of the project have, wherever it is imported from."""
    tops = dict.fromkeys((root, cwd))
    folders = [*tops, *(f"{top}/{name}" for top in tops for name in (*_USUAL, *sources))]
    return {name.partition(".")[0] for folder in folders for name in _modules(folder)} - {""}


def _modules(folder: str) -> list[str]:
    try:
        return [
            entry.name
            for entry in os.scandir(folder)
            if entry.is_dir() or entry.name.endswith((".py", ".so"))
        ]
    except OSError:
        return []
