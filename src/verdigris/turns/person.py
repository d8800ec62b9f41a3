"""What only a person does: switch the laws off and on, revise a test, hold tests out and release them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.acceptance import with_held_out
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import (
    HeldOut,
    HoldingOut,
    Paid,
    Released,
    Releasing,
    Revised,
    SwitchedOff,
    SwitchedOn,
)
from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.execution.resident.resident import stop
from verdigris.languages.registry import holds_tests, reader_of
from verdigris.languages.tests import marks
from verdigris.storage.intents import carries_out
from verdigris.storage.paths import canonical
from verdigris.storage.project import Project, texts_at
from verdigris.storage.snapshots.head_moves import list_commit
from verdigris.turns.operation import operation, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.state import WorktreeState


def switch_off(project: Project, why: str) -> Deny | None:
    """An open turn ends without a verdict; its edits stay in the tree."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("off")):
            return denial
        project.record(SwitchedOff(why=why), sync=True)
        stop(str(project.repo.private))
        return None


def switch_on(project: Project) -> Deny | None:
    """The tree as it stands is the new ground."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("on")):
            return denial
        project.record(SwitchedOn(tree=project.workspace.snapshot()), sync=True)
        return None


def revise(project: Project, names: Sequence[str], why: str) -> tuple[str, ...]:
    """`tdd revise NAME… --why WHY`: a person's word, and it stays in the log.

    A name is a test, a file, or the place of a debt; the name of a file gives up what it owes as well.
    """
    if not why.strip():
        raise UserError("a revision needs a reason.", hint='e.g. --why "rounding is now half-even"')
    with operation(project) as state:
        meant = dict.fromkeys((*names, *_behind_slugs(project, state, names)))
        debts = tuple(debt.id for debt in state.owed.values() if {debt.path, debt.place} & meant.keys())
        paid = (Paid(debts=debts, why=why),) if debts else ()
        project.record(Revised(names=tuple(meant), why=why), *paid, sync=True)
        return tuple(names)


def _behind_slugs(project: Project, state: WorktreeState, names: Sequence[str]) -> tuple[str, ...]:
    """Lists the native ids of the tests that slugs name: a changed text may lack the slug."""
    slugs = {name.partition("[")[0] for name in names if not split_id(name).function}
    tree = state.ground or project.workspace.snapshot()
    files = (entry.path for entry in project.workspace.files(tree)) if slugs else ()
    tests = [p for p in files if project.classify(p) is PathClass.TEST or holds_tests(p, project.classify(p))]
    found = (
        reader_of(path).ids.written_id(path, mark)
        for path, text in texts_at(project, tree, tests).items()
        for mark in marks(path, text)
        if mark.slug in slugs
    )
    return tuple(filter(None, found))


def hold_out(project: Project, spellings: Sequence[str], *, cwd: Path) -> tuple[str, ...] | Deny:
    """`tdd holdout add PATH…`: the paths that left the tree."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("holdout")):
            return denial
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


@carries_out(HoldingOut, "finished holding tests out")
def carry_out(project: Project, intent: HoldingOut) -> None:
    """A folder that it empties stays: the next test goes there."""
    project.workspace.lay(intent.after, tuple(intent.files), expect=intent.before)
    for path in intent.files:
        (project.root / path).parent.mkdir(parents=True, exist_ok=True)
    project.record(HeldOut(files=intent.files), sync=True)


def release(project: Project, spellings: Sequence[str], *, cwd: Path) -> tuple[str, ...] | Deny:
    """`tdd holdout release PATH…`: back into the tree, as they were."""
    with operation(project) as state:
        if denial := refusal(project, state, Do("holdout")):
            return denial
        paths = tuple(canonical(project.root, spelling, cwd=cwd).path or spelling for spelling in spellings)
        for path in paths:
            if path not in state.held_out:
                raise UserError(f"{path} is not held out.", hint="`tdd holdout list`")
        before = project.workspace.snapshot()
        intent = Releasing(paths=paths, before=before, after=with_held_out(project, state, before, paths))
        project.record(intent, sync=True)
        carry_out_release(project, intent)
        return paths


@carries_out(Releasing, "finished releasing held-out tests")
def carry_out_release(project: Project, intent: Releasing) -> None:
    project.workspace.lay(intent.after, intent.paths, expect=intent.before)
    project.record(Released(paths=intent.paths), sync=True)


def _resolve_tests(project: Project, spellings: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """Takes only tests that no commit shows: what is in the history cannot be hidden any more."""
    commit = project.state().head
    known = list_commit(project.repo, commit.commit).files if commit and commit.commit else ()
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
