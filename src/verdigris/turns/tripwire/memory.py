"""How the tree and git stood when the last call was looked at, against which the next look compares."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - the codec reads annotations when it runs
from dataclasses import field, replace
from typing import TYPE_CHECKING

from verdigris.core.codec import from_json, to_json
from verdigris.core.state import Phase  # noqa: TC001 - the codec reads annotations when it runs
from verdigris.core.value import value
from verdigris.turns.gitwhole import Place, place

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project


@value
class Memory:
    tree: str
    """The worktree, with whatever a person did in it."""
    base: str | None
    """The tree that the phase went by."""
    phase: Phase
    place: Place
    alive: bool = False
    """A process of the agent's call was still running when the call had ended."""
    moved: tuple[str, ...] = ()
    """For which protected paths git was moved back since, by a verb within the call: to be told after it."""
    undone: tuple[str, ...] = ()
    """What a commit held behind the tree's back that was undone since: to be told likewise."""
    texts: tuple[str, ...] = ()
    """What was said of other things that were put back by then: to be told likewise."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """Path → blob in HEAD that no tree had."""
    proven: str | None = None
    """Where HEAD was before it held them."""
    told: tuple[str, ...] = ()
    """Those of them that are recorded and told."""


def recall(project: Project) -> Memory | None:
    """None where nothing is remembered, or nothing that can be understood: then the log's trees decide."""
    try:
        return from_json(Memory, json.loads(_file(project).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(project: Project, memory: Memory) -> None:
    file = _file(project)
    draft = file.with_name(f"{file.name}.new")
    # `alive` also where it is false: the gate's quick entry looks for the word.
    draft.write_text(json.dumps({**to_json(memory), "alive": memory.alive}))
    draft.replace(file)


def moved_rightly(project: Project, before: str) -> None:
    """What git brought since `before` came by `tdd sync`, and is nobody's stray edit."""
    memory = recall(project)
    if memory is None:
        return
    now = project.workspace.snapshot()
    brought = [change.path for change in project.workspace.changes(before, now)]
    tree = project.workspace.graft(memory.tree, now, brought)
    remember(project, replace(memory, tree=tree, place=place(project, memory.place)))


def _file(project: Project) -> Path:
    return project.repo.private / "call.json"
