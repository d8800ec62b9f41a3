"""`tdd sync -- GIT…`: git moves the tree whole, outside any turn, and what commits brought is new ground."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny, Do
from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.events import Synced, Syncing
from verdigris.core.policy import decide
from verdigris.core.value import value
from verdigris.kernel.observe import look
from verdigris.kernel.operation import operation
from verdigris.kernel.repository import in_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.kernel.project import Project

REDIRECTING = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
)
"""Variables that would move another repository than the one that is looked at afterwards."""
MOVES = ("switch", "checkout", "pull", "merge", "rebase", "stash", "revert", "cherry-pick", "reset", "fetch")


@value
class Moved:
    exit_code: int
    brought: tuple[str, ...]
    """Paths that are new ground."""
    in_progress: str | None


def sync(project: Project, argv: Sequence[str]) -> Moved | Deny:
    if not argv or argv[0] not in MOVES:
        raise UserError(
            f"`tdd sync` runs git's moves ({', '.join(MOVES)}), not {argv[0] if argv else 'nothing'!r}.",
            hint="e.g. tdd sync -- pull --rebase",
        )
    with operation(project) as state:
        decision = decide(state, Do("sync"), project.settings)
        if isinstance(decision, Deny):
            return decision
        intent = Syncing(argv=tuple(argv), tree=project.workspace.snapshot())
        project.record(intent, sync=True)
        code = _git(project, argv)
        return finish(project, intent, exit_code=code)


def finish(project: Project, intent: Syncing, exit_code: int | None) -> Moved:
    """Also after a kill: whatever git had done by then is looked at, not undone."""
    before = project.state()
    project.record(Synced(argv=intent.argv, exit_code=exit_code), sync=True)
    after = look(project, project.state())
    brought: tuple[str, ...] = ()
    if before.ground and after.ground and before.ground != after.ground:
        brought = tuple(c.path for c in project.workspace.changes(before.ground, after.ground))
    return Moved(exit_code or 0, brought, in_progress(project.repo))


def _git(project: Project, argv: Sequence[str]) -> int:
    """The user's own git with the user's own configuration: this is the user's move, only bracketed."""
    env = {name: value for name, value in os.environ.items() if name not in REDIRECTING}
    try:
        return subprocess.run(["git", *argv], cwd=project.root, env=env, check=False).returncode
    except FileNotFoundError:
        raise ToolMissing("git is not on PATH.", hint="install git") from None
