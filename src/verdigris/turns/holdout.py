"""Holds tests out of the tree, and releases them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.held_out import with_held_out
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import HeldOut, HoldingOut, Released, Releasing
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.storage.intents import finishes
from verdigris.storage.paths import canonical
from verdigris.storage.snapshots.head_moves import listing
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.storage.project import Project


def hold_out(project: Project, spellings: Sequence[str], *, cwd: Path) -> tuple[str, ...] | Deny:
    """`tdd holdout add PATH…`: the paths that left the tree."""
    with operation(project) as state:
        decision = decide(state, Do("holdout"), project.settings)
        if isinstance(decision, Deny):
            return decision
        paths = _resolve_tests(project, spellings, cwd)
        before = project.workspace.snapshot()
        entries = {entry.path: entry for entry in project.workspace.files(before) if entry.path in paths}
        intent = HoldingOut(
            files={path: f"{entries[path].mode} {entries[path].blob}" for path in paths},
            before=before,
            after=project.workspace.compose(before, dict.fromkeys(paths)),
        )
        project.record(intent, sync=True)
        carry_out(project, intent)
        return paths


def carry_out(project: Project, intent: HoldingOut) -> None:
    """A folder that it empties stays: the next test goes there."""
    project.workspace.lay(intent.after, tuple(intent.files), expect=intent.before)
    for path in intent.files:
        (project.root / path).parent.mkdir(parents=True, exist_ok=True)
    project.record(HeldOut(files=intent.files), sync=True)


def release(project: Project, spellings: Sequence[str], *, cwd: Path) -> tuple[str, ...] | Deny:
    """`tdd holdout release PATH…`: back into the tree, as they were."""
    with operation(project) as state:
        decision = decide(state, Do("holdout"), project.settings)
        if isinstance(decision, Deny):
            return decision
        paths = tuple(canonical(project.root, spelling, cwd=cwd).path or spelling for spelling in spellings)
        for path in paths:
            if path not in state.held_out:
                raise UserError(f"{path} is not held out.", hint="`tdd holdout list`")
        before = project.workspace.snapshot()
        intent = Releasing(paths=paths, before=before, after=with_held_out(project, state, before, paths))
        project.record(intent, sync=True)
        carry_out_release(project, intent)
        return paths


def carry_out_release(project: Project, intent: Releasing) -> None:
    project.workspace.lay(intent.after, intent.paths, expect=intent.before)
    project.record(Released(paths=intent.paths), sync=True)


def _resolve_tests(project: Project, spellings: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """Only tests that no commit shows: what is in the history cannot be hidden any more."""
    commit = project.state().head
    known = listing(project.repo, commit.commit).files if commit and commit.commit else ()
    committed = {entry.path for entry in known}
    paths = []
    for spelling in spellings:
        path = canonical(project.root, spelling, cwd=cwd).path
        if path is None or not (project.root / path).is_file():
            raise UserError(f"{spelling} is not a file of this repository.", hint="name a test file")
        if project.classify(path) is not PathClass.TEST:
            raise UserError(
                f"{path} is of class {project.classify(path)}, not test.", hint="name a test file"
            )
        if path in committed:
            raise UserError(f"{path} is committed, so everyone can read it.", hint="hold out a new test")
        paths.append(path)
    return tuple(dict.fromkeys(paths))


@finishes(HoldingOut)
def finish_holding_out(project: Project, intent: HoldingOut) -> str:
    carry_out(project, intent)
    return "finished holding tests out"


@finishes(Releasing)
def finish_releasing(project: Project, intent: Releasing) -> str:
    carry_out_release(project, intent)
    return "finished releasing held-out tests"
