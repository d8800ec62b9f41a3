"""A write through the gate: decided by path, phase and content, recorded, and only then carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Decision, Deny, FileWrite, Target, Write
from verdigris.core.events import Edit
from verdigris.core.pathclass import PathClass
from verdigris.core.policy import decide
from verdigris.core.turns import joining_events
from verdigris.kernel.claiming import claim_within, denied
from verdigris.kernel.operation import operation
from verdigris.kernel.paths import class_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project


def write(project: Project, files: Mapping[str, bytes | None], *, cwd: Path) -> Decision:
    """All of the files, or none; None deletes."""
    with operation(project) as state:
        action = Write(tuple(_observed(project, name, after, cwd) for name, after in files.items()))
        decision = _decided(project, state, action)
        if isinstance(decision, Deny):
            return decision
        project.record(Edit(paths=tuple(f.path or f.spelling for f in action.files)))
        for file in action.files:
            _carry_out(project, file)
        return decision


def _decided(project: Project, state: WorktreeState, action: Write) -> Decision:
    names = ", ".join(f.spelling for f in action.files)
    outside = next((f for f in action.files if f.path is None), None)
    decision = decide(state, action, project.settings)
    if outside is not None:
        decision = Deny("outside", f"{outside.spelling} lies outside the repository.", "write inside it")
    match decision:
        case Deny():
            project.record(denied(decision, f"write {names}"))
        case Allow(claims=claims) if claims:
            targets = tuple(
                Target(f.path, frozenset({f.cls})) for f in action.files if f.cls is PathClass.SOURCE
            )
            for red in claims:
                claimed = claim_within(project, state, red.test_id, targets, implied=True)
                if isinstance(claimed, Deny):
                    return claimed
        case Allow(joins=paths):
            project.record(*joining_events(state, paths))
    return decision


def _observed(project: Project, spelling: str, after: bytes | None, cwd: Path) -> FileWrite:
    cls, path = class_of(project.root, spelling, project.classes, cwd=cwd, protected=_protected(project))
    before = None
    if path is not None and (project.root / path).is_file():
        before = (project.root / path).read_bytes()
    return FileWrite(path, cls, before, after, spelling)


def _protected(project: Project) -> Iterator[str]:
    """Names that a hard link may lead to; asked for only where a file has several."""
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
