"""Commits what a stage made: the plan, the tests, the code with its evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.events import Committing
from verdigris.core.paths import PathClass
from verdigris.storage import tdd_folder
from verdigris.storage.git import git
from verdigris.storage.repository import head
from verdigris.turns.commit import CommitIdentity, CommitRefused, commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.settings import DriverSettings
    from verdigris.core.state import Cycle
    from verdigris.storage.project import Project

DRIVER = "cycle"
_SUBJECT = 72
_PERSON = re.compile(r"(.*) <([^<>]*)> \d+ [+-]\d+")


def commit_stage(
    project: Project,
    cycle: Cycle,
    settings: DriverSettings,
    subject: str,
    trailers: Iterable[tuple[str, str]],
    own: Sequence[str] = (),
) -> str:
    """The new commit's id, or HEAD's where the stage left nothing. `own`: files of ours that belong to it."""
    paths = tuple(_changed_paths(project, own))
    now = head(project.repo).commit or ""
    if not paths:
        return now
    message = "\n\n".join((_clip(subject), "\n".join(f"{k}: {v}" for k, v in _trailers(cycle, trailers))))
    intent = Committing(
        step=cycle.since,
        role=str(cycle.stage),
        parent=now,
        tree=project.workspace.snapshot(),
        message=project.workspace.blob(f"{message}\n".encode()),
        paths=paths,
        driver=DRIVER,
    )
    made = commit(project, intent, _author(project, settings))
    if isinstance(made, CommitRefused):
        hint = (
            "mend what the hook objects to, then call it again"
            if made.by_content
            else "repair it, then again"
        )
        raise UserError(f"the stage's commit was refused: {made.why}\n{made.output}".rstrip(), hint=hint)
    return made


def _clip(subject: str) -> str:
    return subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 1].rstrip() + "…"


def _trailers(cycle: Cycle, trailers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    yield "TDD-Cycle", cycle.id
    yield "TDD-Stage", str(cycle.stage)
    yield "TDD-Spec", cycle.spec_id
    yield "TDD-Spec-Hash", cycle.spec_hash
    yield from trailers


def _changed_paths(project: Project, own: Sequence[str]) -> Iterable[str]:
    """What differs from HEAD, of tests, specs, source and what git knows; new files of no class are left."""
    said = git(project.root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").out
    for entry in said.split("\0"):
        state, path = entry[:2], entry[3:]
        if not path:
            continue
        known = state != "??" and not path.startswith(f"{tdd_folder.NAME}/")
        if path in own or known or project.classify(path) not in {PathClass.OTHER, PathClass.SWITCH}:
            yield path


def _author(project: Project, settings: DriverSettings) -> CommitIdentity:
    """Whoever git says acts here; where it does not know, as `commit` in tdd.yaml says."""
    found = _PERSON.fullmatch(git(project.root, "var", "GIT_AUTHOR_IDENT").out.strip())
    if found:
        return CommitIdentity(found[1], found[2])
    return CommitIdentity(settings.author_name, settings.author_email)
