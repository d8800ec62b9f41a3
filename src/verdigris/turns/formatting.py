"""Formats the turn's changed source before it is judged."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.events import Formatted, Formatting
from verdigris.core.paths import EXECUTABLE, FILE
from verdigris.execution.room.layers import Layer
from verdigris.execution.room.rooms import possible, room
from verdigris.execution.test_run import run_tool_in
from verdigris.storage.intents import finishes
from verdigris.storage.snapshots.restoration import list_displaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.settings import Stack
    from verdigris.core.verdict import Tool
    from verdigris.execution.room.room import Room
    from verdigris.storage.project import Project

Jobs = list[tuple["Stack", tuple[str, ...]]]
"""A stack and the turn's changed source in it, relative to the stack's root."""


def format_edits(project: Project, tree: str, paths: tuple[str, ...]) -> tuple[str, tuple[Tool, ...]]:
    """The tree after formatting, and how each formatter ended."""
    jobs = [(stack, _inside(stack, paths)) for stack in project.settings.stacks if stack.format]
    jobs = [(stack, inside) for stack, inside in jobs if inside]
    if not jobs:
        return tree, ()
    if not possible(project).ok:
        return _in_place(project, tree, paths, jobs)
    after, tools = _in_rooms(project, tree, paths, jobs)
    changed = [change.path for change in project.workspace.changes(tree, after)]
    if changed:
        project.record(Formatting(paths=paths, tree=tree), sync=True)
        displaced = project.workspace.lay(after, changed, expect=tree)
        project.record(Formatted(tree=after, displaced=list_displaced(displaced)))
    return after, tools


def _in_rooms(project: Project, tree: str, paths: Sequence[str], jobs: Jobs) -> tuple[str, tuple[Tool, ...]]:
    """Each formatter finds what the one before has made."""
    after = tree
    tools = []
    for stack, inside in jobs:
        with room(project, layer=Layer(after, tree)) as made:
            tools.append(run_tool_in(made, project, stack, "format", stack.format or "", inside))
            after = project.workspace.compose(after, _written_files(made, paths))
    return after, tuple(tools)


def _written_files(made: Room, paths: Sequence[str]) -> dict[str, tuple[str, bytes] | None]:
    """Those files that the formatter changed; one that it deletes stays."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        file = Path(made.confinement.upper, path)
        if file.is_file() and not file.is_symlink():
            mode = EXECUTABLE if file.stat().st_mode & stat.S_IXUSR else FILE
            contents[path] = (mode, file.read_bytes())
    return contents


def _in_place(
    project: Project, tree: str, paths: tuple[str, ...], jobs: Jobs
) -> tuple[str, tuple[Tool, ...]]:
    """Without a sandbox: what else it touched is put back."""
    project.record(Formatting(paths=paths, tree=tree), sync=True)
    tools = []
    for stack, inside in jobs:
        with room(project) as made:
            tools.append(run_tool_in(made, project, stack, "format", stack.format or "", inside))
    after = project.workspace.snapshot()
    strayed = [p for p in difference(project, tree, after).protected if p not in paths]
    displaced = project.workspace.lay(tree, strayed, expect=tree) if strayed else ()
    after = project.workspace.snapshot() if strayed else after
    project.record(Formatted(tree=after, displaced=list_displaced(displaced)))
    return after, tuple(tools)


def _inside(stack: Stack, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths below the stack's root, relative to it."""
    if stack.root in {".", ""}:
        return paths
    prefix = stack.root.rstrip("/") + "/"
    return tuple(p.removeprefix(prefix) for p in paths if p.startswith(prefix))


@finishes(Formatting)
def undo_formatting(project: Project, intent: Formatting) -> str:
    touched = difference(project, intent.tree, project.workspace.snapshot()).protected
    displaced = project.workspace.lay(intent.tree, {*intent.paths, *touched}, expect=intent.tree)
    undone = Formatted(tree=intent.tree, undone=True, displaced=list_displaced(displaced))
    project.record(undone, sync=True)
    return "undid an interrupted format"
