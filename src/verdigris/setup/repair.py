"""`tdd log repair`: repairs the log, the store and the folders of the control area."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from verdigris.checks.ground import first_ground
from verdigris.core.errors import NotConfigured, storage_error
from verdigris.core.events import LogRepaired, SwitchedOff, SwitchedOn
from verdigris.core.paths import PathClass
from verdigris.core.records import REPAIRED, Actor, Draft, to_json
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import replace, value
from verdigris.sandbox.folders import ROOMS
from verdigris.storage.calls.call_records import CALLS
from verdigris.storage.log.files import HEAD, LOCK, LOG
from verdigris.storage.log.log import Repaired
from verdigris.storage.project import open_log, open_project
from verdigris.storage.repository import LOCKS, Repository, find_repository, head
from verdigris.storage.snapshots.store_repair import STORE, StoreRepair, find_lost, repair_store

FILES = (LOG, HEAD, LOCK)
COMMITTED = frozenset({PathClass.SOURCE, PathClass.TEST, PathClass.SPEC})
_NAME = re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b")


@value
class Repair:
    log: Repaired
    moved: tuple[str, ...]
    """What was a folder instead of a file, or a file instead of a folder: its new names."""
    store: StoreRepair
    lost: tuple[str, ...]
    """What cannot be had any more: an open turn, edits that were set aside, held-out tests."""


def repair(start: Path, actor: Actor, why: str) -> Repair:
    repo = find_repository(start)
    try:
        moved = tuple(_move_aside(path) for path in list(_misshapen(repo)))
        who = {"role": actor.role, "context": actor.context, "client": actor.client}
        draft = Draft(REPAIRED, {"why": why}, repo.worktree, head(repo).branch, who)
        done = open_log(repo).repair(draft)
        store = repair_store(repo)
    except OSError as error:
        raise storage_error(f"cannot repair {error.filename or repo.control}", error, repo.control) from error
    lost = _record_losses(repo, actor, LogRepaired(kept=done.kept, lost=0, why=why, damaged=store.kept))
    return Repair(done, moved, store, lost)


def _misshapen(repo: Repository) -> Iterator[Path]:
    """Files where a folder belongs, and folders where a file does."""
    control = repo.control
    inside = (control / name for name in (LOCKS, STORE, ROOMS))
    folders = (control, *inside, repo.private.parent, repo.private)
    yield from (path for path in folders if os.path.lexists(path) and not path.is_dir())
    yield from (control / name for name in FILES if (control / name).is_dir())
    if (control / LOCKS).is_dir():
        yield from (
            path for path in (control / LOCKS).iterdir() if path.is_dir() != path.name.endswith(CALLS)
        )


def _move_aside(path: Path) -> str:
    number = 1
    while os.path.lexists(to := path.with_name(f"{path.name}.damaged-{number}")):
        number += 1
    path.rename(to)
    return to.name


def _record_losses(repo: Repository, actor: Actor, repaired: LogRepaired) -> tuple[str, ...]:
    """Records what the store has lost. A phase whose snapshots are among it ends: the law goes on in red,
    from what is committed.
    """
    try:
        project = open_project(repo.root, actor)
    except NotConfigured:
        return ()
    with project.exclusive():
        project.workspace.snapshot()  # what is still in the tree is stored again
        state = project.state()
        names = (*_names(to_json(state)), *state.collected)
        lost = find_lost(repo, [name for name in names if len(name) == len(state.ground or "")])
        if lost or repaired.damaged:
            parts = (state.ground, state.earned, state.turn, state.refactor, state.open_cycle)
            ends = state.phase is not Phase.OFF and any(lost & _names(to_json(part)) for part in parts)
            project.record(
                replace(repaired, objects=tuple(sorted(lost))),
                *((SwitchedOff(why=f"repair: {repaired.why}"),) if ends else ()),
                *((SwitchedOn(tree=first_ground(project, COMMITTED)),) if ends else ()),
                sync=True,
            )
    return tuple(_tell_lost(state, project.state()))


def _tell_lost(before: WorktreeState, after: WorktreeState) -> Iterator[str]:
    if before.turn is not None and after.turn is None:
        yield f"the open turn, with its claim of {', '.join(before.claims)}; its edits stay in the tree"
    if before.refactor is not None and after.refactor is None:
        yield "the open refactor; its edits stay in the tree"
    yield from (
        f"the edits that were set aside as {name}" for name in before.aside.keys() - after.aside.keys()
    )
    yield from (f"the held-out test {path}" for path in before.held_out.keys() - after.held_out.keys())


def _names(document: object) -> frozenset[str]:
    """Everything in it that may be the name of a tree or a blob; commits are the user's repository's."""
    match document:
        case str():
            return frozenset(_NAME.findall(document))
        case dict():
            return frozenset().union(*(_names(part) for key, part in document.items() if key != "commit"))
        case list() | tuple():
            return frozenset().union(*map(_names, document))
        case _:
            return frozenset()
