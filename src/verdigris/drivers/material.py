"""Gathers what roles are shown of a project: its files as a tree has them, and what they are told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.paths import LINK, PathClass
from verdigris.drivers.edits import describe_tools
from verdigris.models.roles.context import HUGE, Material, as_text

if TYPE_CHECKING:
    from verdigris.models.roles.context import Tree
    from verdigris.storage.project import Project

_MANY_FILES = 2_000
"""In a larger project only tests and source are read."""


def gather_material(project: Project, tree: str, brief: str, brief_path: str, budget: int) -> Material:
    """`tree`: what the role begins with. `brief`: what says what is to be built, as text."""
    stack = project.settings.stacks[0]
    return Material(
        kata=brief,
        classify=project.classify,
        language=stack.language,
        runner=stack.runner,
        kata_path=brief_path,
        files=read_files(project, tree),
        tools=tuple(describe_tools(project)),
        withheld=frozenset(project.state().held_out),
        budget=budget,
    )


def read_files(project: Project, tree: str) -> Tree:
    entries = project.workspace.files(tree)
    some = len(entries) > _MANY_FILES
    told = [
        entry.path
        for entry in entries
        if entry.mode != LINK
        and (not some or project.classify(entry.path) in {PathClass.SOURCE, PathClass.TEST})
    ]
    texts = {
        path: as_text(data) if data is not None and len(data) <= 4 * HUGE else None
        for path, data in project.workspace.read_many(tree, told).items()
    }
    return {**dict.fromkeys((entry.path for entry in entries), None), **texts}
