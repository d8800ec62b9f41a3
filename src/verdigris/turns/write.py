"""Decides, records and carries out a write, by path, phase and content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from verdigris.checks.source_edits import CONFLICT, on_disk, only_for_tests
from verdigris.core.actions import Allow, Decision, Deny, FileWrite, Target, Write
from verdigris.core.events import Edit
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.actors import claimers, deny_source, joined_claims
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.turn_events import denial_event, joining_events
from verdigris.core.value import replace
from verdigris.languages.registry import holds_tests, is_mixed, same_oracle_part
from verdigris.storage.paths import LinkOut, class_of, refuse
from verdigris.storage.repository import in_progress
from verdigris.turns.claim_check import claim_within, fellows, lacks_red, own_view, provable
from verdigris.turns.operation import operation

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project

Rewrite: TypeAlias = Callable[[bytes | None], bytes | None]
"""From a file's bytes (None if there is no file) to its new bytes (None if they cannot be determined)."""


def write(
    project: Project, files: Mapping[str, bytes | None], *, cwd: Path, sees_reds: bool = False
) -> Decision:
    """Writes all of the files, or none; None deletes. `sees_reds`: changed tests are run before source."""
    with operation(project) as state:
        action = Write(tuple(_observe_write(project, name, after, cwd) for name, after in files.items()))
        decision = _deny_outside(project, action) or _decide_and_record(
            project, state, action, sees_reds=sees_reds
        )
        if isinstance(decision, Allow):
            for file in action.files:
                _carry_out(project, file)
        return decision


def decide_writes(project: Project, writes: Mapping[str, Rewrite | None], *, cwd: Path) -> Decision:
    """Decides and records writes that the client then makes itself.

    A rewrite of None: the content cannot be determined. Paths outside the worktree are not decided here.
    """
    with operation(project, waits=False) as state:
        if out := _through_link(project, state.phase, writes, cwd):
            project.record(denial_event(out, f"write {', '.join(writes)}"))
            return out
        observed = (_plan_write(project, name, rewrite, cwd) for name, rewrite in writes.items())
        action = Write(tuple(file for file in observed if file.path is not None))
        return _decide_and_record(project, state, action, sees_reds=True)


def _plan_write(project: Project, spelling: str, rewrite: Rewrite | None, cwd: Path) -> FileWrite:
    file = _observe_write(project, spelling, None, cwd)
    return file if rewrite is None else replace(file, after=rewrite(file.before))


def _through_link(project: Project, phase: Phase, spellings: Iterable[str], cwd: Path) -> Deny | None:
    """Refuses to write tests or source through a link that leads out of the worktree."""
    if phase is Phase.OFF:
        return None
    top = os.path.realpath(project.root)
    for spelling in spellings:
        named = os.path.normpath(os.path.join(os.path.realpath(cwd), spelling))  # noqa: PTH118 - may be absolute
        if not named.startswith(f"{top}/") or os.path.realpath(named).startswith(f"{top}/"):
            continue
        path = named[len(top) + 1 :]
        if project.classify(path) is not PathClass.OTHER:
            return refuse((LinkOut(path, os.path.realpath(named), project.classify(path)),))
    return None


def _deny_outside(project: Project, action: Write) -> Deny | None:
    outside = next((f for f in action.files if f.path is None), None)
    if outside is None:
        return None
    denial = Deny("outside", f"{outside.spelling} lies outside the repository.", "write inside it")
    project.record(denial_event(denial, f"write {_names(action)}"))
    return denial


def _names(action: Write) -> str:
    return ", ".join(f.spelling for f in action.files)


def _decide_and_record(
    project: Project, state: WorktreeState, action: Write, *, sees_reds: bool = False
) -> Decision:
    action = Write(tuple(_read_write(project, state.phase, file) for file in action.files))
    decision = _decide(project, state, action)
    if sees_reds and lacks_red(project, decision, project.workspace.snapshot()):
        from verdigris.turns.implied_reds import see_reds

        unseen = see_reds(project, state, project.workspace.snapshot())
        state = project.state()
        decision = unseen or _decide(project, state, action)
    match decision:
        case Deny():
            project.record(denial_event(decision, f"write {_names(action)}"))
            return decision
        case Allow(claims=claims) if claims:
            targets = tuple(
                Target(f.path, frozenset({f.cls})) for f in action.files if f.cls is PathClass.SOURCE
            )
            tree = project.workspace.snapshot()
            decision = Allow(claims=provable(project, claims, tree))
            ids = [red.test_id for red in decision.claims]
            claimed = claim_within(project, state, ids, targets, manner="implied", tree=tree)
            if isinstance(claimed, Deny):
                return claimed
        case Allow(joins=paths):
            joined = tuple(state.claims.values())
            if claimers(state):
                joined = joined_claims(joined, (project.context,), fellows(project))
            project.record(*joining_events(joined, paths))
    if action.files:
        project.record(Edit(paths=tuple(f.path or f.spelling for f in action.files)))
    return decision


def _decide(project: Project, state: WorktreeState, action: Write) -> Decision:
    return _deny_others(project, state, action) or decide(own_view(project, state), action, project.settings)


def _deny_others(project: Project, state: WorktreeState, action: Write) -> Deny | None:
    """Source does not silently become part of another agent's turn."""
    if not project.context or claimers(state) <= {project.context}:
        return None
    source = (f.path for f in action.files if f.path is not None and f.cls is PathClass.SOURCE)
    others = fellows(project)
    return next(filter(None, (deny_source(state, path, (project.context,), others) for path in source)), None)


def _observe_write(project: Project, spelling: str, after: bytes | None, cwd: Path) -> FileWrite:
    cls, path = class_of(
        project.root, spelling, project.classes, cwd=cwd, protected=_protected_names(project)
    )
    before = None
    if path is not None and (project.root / path).is_file():
        before = (project.root / path).read_bytes()
    return FileWrite(path, cls, before, after, spelling)


def _read_write(project: Project, phase: Phase, file: FileWrite) -> FileWrite:
    """Adds what the file's language says of the change, if the decision depends on it."""
    name = file.path or file.spelling
    if phase not in {Phase.RED, Phase.OFF} and is_mixed(name, file.cls):
        same = same_oracle_part(name, file.before, file.after)
        file = replace(file, changes_oracle=not same)
    if file.cls is not PathClass.SOURCE or file.path is None or phase not in {Phase.RED, Phase.GREEN}:
        return file
    if holds_tests(file.path, file.cls) and only_for_tests(file.path, on_disk(project)):
        return replace(file, only_tests=True)
    if phase is Phase.GREEN or file.after is None:
        return file
    from verdigris.checks.source_edits import more_than_stubs
    from verdigris.languages.registry import with_stub_facts

    before = _before_conflict(project, file) if CONFLICT in (file.before or b"") else file.before
    return with_stub_facts(file, more_than_stubs(project, file.path, before, file.after))


def _before_conflict(project: Project, file: FileWrite) -> bytes | None:
    """In the middle of a merge a file is compared with the ground: with its marks it is no program."""
    ground = project.state().ground
    if ground is None or file.path is None or in_progress(project.repo) is None:
        return file.before
    return project.workspace.read(ground, file.path)


def _protected_names(project: Project) -> Iterator[str]:
    """Names that a hard link may lead to; listed only if a file has several."""
    for entry in project.workspace.files(project.workspace.snapshot()):
        if project.classify(entry.path) is not PathClass.OTHER:
            yield entry.path


def _carry_out(project: Project, file: FileWrite) -> None:
    target = project.root / (file.path or file.spelling)
    if file.after is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(file.after)
