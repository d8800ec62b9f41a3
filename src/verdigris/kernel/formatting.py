"""Format the turn's changed source before it is judged; what else a formatter touched is put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import Formatted, Formatting
from verdigris.kernel.aside import shown
from verdigris.kernel.commands import run_tool
from verdigris.kernel.observe import difference

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.core.verdict import Tool
    from verdigris.kernel.project import Project


def format_edits(project: Project, tree: str, paths: tuple[str, ...]) -> tuple[str, tuple[Tool, ...]]:
    """The tree after formatting, and how each formatter ended."""
    jobs = [(stack, _inside(stack, paths)) for stack in project.settings.stacks if stack.format]
    jobs = [(stack, inside) for stack, inside in jobs if inside]
    if not jobs:
        return tree, ()
    project.record(Formatting(paths=paths, tree=tree), sync=True)
    tools = tuple(run_tool(project, stack, "format", stack.format or "", inside) for stack, inside in jobs)
    after = project.workspace.snapshot()
    strayed = [p for p in difference(project, tree, after).protected if p not in paths]
    displaced = project.workspace.lay(tree, strayed, expect=tree) if strayed else ()
    after = project.workspace.snapshot() if strayed else after
    project.record(Formatted(tree=after, displaced=shown(displaced)))
    return after, tools


def _inside(stack: Stack, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths below the stack's root, relative to it."""
    if stack.root in {".", ""}:
        return paths
    prefix = stack.root.rstrip("/") + "/"
    return tuple(p.removeprefix(prefix) for p in paths if p.startswith(prefix))
