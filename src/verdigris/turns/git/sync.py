"""`tdd sync`: moves the tree with git, outside any turn; what commits brought is new ground."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from verdigris.checks.observation import look
from verdigris.checks.unproven_commits import find_foreign_source
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Synced, Syncing
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.state import Phase
from verdigris.core.value import replace, value
from verdigris.storage.git import REDIRECTING, run_openly, users_git
from verdigris.storage.intents import finishes
from verdigris.storage.repository import in_progress
from verdigris.storage.snapshots import trees
from verdigris.turns.operation import operation
from verdigris.turns.rollback import AGENT, move_back, place
from verdigris.turns.tripwire import moved_rightly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project
    from verdigris.turns.rollback import GitPosition

BACK = "HEAD, index and files are as before."
MOVES = ("switch", "checkout", "pull", "merge", "rebase", "stash", "revert", "cherry-pick", "reset", "fetch")


@value
class Moved:
    exit_code: int
    brought: tuple[str, ...]
    """Paths that are new ground."""
    in_progress: str | None
    said: str = ""
    """What git and its hooks printed, where it was not shown."""


class AgentGit(Protocol):
    """Runs git for an agent: the gate's sandbox, which stands above this."""

    def refusal(self, project: Project, argv: Sequence[str], /) -> Deny | None: ...

    def run(self, project: Project, argv: Sequence[str], /, *, quiet: bool) -> tuple[int, str]: ...


def sync(
    project: Project,
    argv: Sequence[str],
    *,
    quiet: bool = False,
    agents_git: AgentGit | None = None,
    env: Mapping[str, str] | None = None,
) -> Moved | Deny:
    """`quiet`: what git and its hooks print is not shown. `agents_git`: no agent moves without it.

    `env`: variables for a driver's git on top of the user's, such as who makes the commit of a merge.
    """
    if not argv or argv[0] not in MOVES:
        raise UserError(
            f"`tdd sync` runs git's moves ({', '.join(MOVES)}), not {argv[0] if argv else 'nothing'!r}.",
            hint="e.g. tdd sync -- pull --rebase",
        )
    with operation(project) as state:
        decision = decide(state, Do("sync"), project.settings)
        if isinstance(decision, Deny):
            return decision
        is_agent = project.actor.role == AGENT
        if is_agent and (denial := _refusal(project, argv, agents_git)):
            return denial
        intent = Syncing(argv=tuple(argv), tree=project.workspace.snapshot())
        agents = place(project) if is_agent else None
        project.record(intent, sync=True)
        if agents_git is not None and is_agent:
            code, said = agents_git.run(project, argv, quiet=quiet)
        else:
            code, said = _git(project, argv, env, quiet=quiet)
        if agents is not None and (why := _not_an_agents(project, state, intent, agents)):
            return _moved_back(project, intent, agents, why)
        return replace(finish(project, intent, exit_code=code), said=said)


def _refusal(project: Project, argv: Sequence[str], agents_git: AgentGit | None) -> Deny | None:
    if agents_git is None:
        return Deny("sync", "An agent's git runs in the gate's sandbox, and none is given.", "run `tdd sync`")
    return agents_git.refusal(project, argv)


def _not_an_agents(
    project: Project, state: WorktreeState, intent: Syncing, before: GitPosition
) -> Deny | None:
    """Switches are never an agent's to write, by whatever way; nor is source that no red asked for."""
    asked = f"`git {' '.join(intent.argv)}`"
    person = f"ask the person to run `tdd sync -- {' '.join(intent.argv)}`"
    if switches := _switches(project, before):
        what = f"{asked} would change {switches[0]}, which no agent may write: {BACK}"
        return Deny("switch", what, person)
    if state.phase is Phase.RED and (
        paths := find_foreign_source(project, state, intent.tree, before.commit)
    ):
        what = f"{asked} would bring {paths[0]}, which no red test asked for and no remote has: {BACK}"
        return Deny("unearned-source", what, f"a failing test first; if others made it, {person}")
    return None


def _switches(project: Project, before: GitPosition) -> tuple[str, ...]:
    if before.commit is None:
        return ()
    staged = trees.staged_changes(users_git(project.repo), before.commit)
    return tuple(c.path for c in staged if project.classify(c.path) is PathClass.SWITCH)


def _moved_back(project: Project, intent: Syncing, to: GitPosition, why: Deny) -> Deny:
    found = project.workspace.snapshot()
    changed = [change.path for change in project.workspace.changes(intent.tree, found)]
    project.record(Synced(argv=intent.argv, exit_code=None), sync=True)
    move_back(project, to, intent.tree, changed, found)
    return why


def finish(project: Project, intent: Syncing, exit_code: int | None) -> Moved:
    """Looks at what git did, also after a kill, and does not undo it."""
    before = project.state()
    project.record(Synced(argv=intent.argv, exit_code=exit_code), sync=True)
    after = look(project, project.state())
    moved_rightly(project, intent.tree)
    brought: tuple[str, ...] = ()
    if before.ground and after.ground and before.ground != after.ground:
        brought = tuple(c.path for c in project.workspace.changes(before.ground, after.ground))
    return Moved(exit_code or 0, brought, in_progress(project.repo))


def _git(
    project: Project, argv: Sequence[str], more: Mapping[str, str] | None = None, *, quiet: bool = False
) -> tuple[int, str]:
    """The user's own git with the user's own configuration: this is the user's move, only bracketed."""
    env = {name: value for name, value in os.environ.items() if name not in REDIRECTING}
    return run_openly(project.root, argv, {**env, **(more or {})}, quiet=quiet)


@finishes(Syncing)
def finish_syncing(project: Project, intent: Syncing) -> str:
    finish(project, intent, exit_code=None)
    return "took in an interrupted sync"
