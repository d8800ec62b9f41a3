"""Reports how the machine stands: the next step, the last commit, and tests that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.core.value import value
from verdigris.drivers.machine import history
from verdigris.drivers.machine.history import position
from verdigris.drivers.machine.roles import REFACTORER, TESTER
from verdigris.drivers.machine.worktree import place
from verdigris.drivers.message import flat
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import find_repository, head

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.state import PassedStep, Red, WorktreeState
    from verdigris.drivers.machine.history import Position
    from verdigris.storage.project import Project


@value
class MachineSurvey:
    step: int
    role: str
    last: int
    """The last step of a run that has not ended; 0: none."""
    running: bool
    root: str
    """Where the machine works."""
    commit: str
    subject: str
    stopped: PassedStep | None
    reds: tuple[Red, ...]


def survey_machine(home: Project) -> MachineSurvey | None:
    """None where nothing can be told of it."""
    try:
        root, here = _working(home)
        made = history.machine_commits(root)
    except VerdigrisError:
        return None
    now = position(made, here.machine.passed)
    newest = made[0] if made else None
    return MachineSurvey(
        now.step,
        now.role.name,
        here.machine.last,
        _running(home),
        str(root),
        newest.commit if newest else "",
        newest.subject if newest else "",
        here.machine.stopped,
        _reds_left(now, here),
    )


def _reds_left(now: Position, here: WorktreeState) -> tuple[Red, ...]:
    """What the tester left red for whoever is next; other failures of old runs are no news."""
    if now.role is REFACTORER or (now.role is TESTER and not now.finding):
        return ()
    return tuple(red for red in here.reds.values() if flat(red.test_id) in now.tests)


def _working(home: Project) -> tuple[Path, WorktreeState]:
    """The private worktree of the user's branch where that is used, else the user's own."""
    own = home.state()
    branch = head(home.repo).branch
    private = None if branch is None else place(home.repo, branch)
    if own.machine.runs or private is None or not (private / ".git").exists():
        return home.root, own
    return private, home.log.state().of(find_repository(private).worktree)


def _running(home: Project) -> bool:
    lock = home.repo.lock("machine")
    if not lock.exists():
        return False
    try:
        with hold_lock(lock, wait=0):
            return False
    except VerdigrisError:
        return True
