"""Commits a judged tree with the user's own git; and `tdd sync`, which moves the tree outside any turn.

A commit holds exactly what was judged, or nothing. What commits of others bring is new ground.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from verdigris.checks.git_moves import look
from verdigris.checks.unproven_commits import find_foreign_source, paths_committed_here
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Committed, Committing, NotCommitted, Synced, Syncing
from verdigris.core.paths import PathClass
from verdigris.core.records import AGENT
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import replace, value
from verdigris.languages.conventions import decides_verdicts
from verdigris.storage.git import REDIRECTING, GitAnswer, ask_users_git, git, run_openly, users_git
from verdigris.storage.intents import finishes
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import head, in_progress
from verdigris.storage.snapshots import head_moves
from verdigris.storage.snapshots.trees import Trees
from verdigris.turns.operation import operation, refusal
from verdigris.turns.rollback import GitPosition, move_back, place
from verdigris.turns.tripwire import accept_move

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from verdigris.storage.project import Project


_BY_HOOK = 1
"""Git's exit code where a hook said no; its own troubles (signing, a full disk) end with another."""
ORPHAN_WAIT = 60.0
"""Seconds to wait for a git that outlived the process which started it."""


@value
class CommitIdentity:
    name: str
    email: str


@value
class CommitRefused:
    """Git made no commit; the tree is as it was judged."""

    why: str
    output: str
    by_content: bool = True
    """Other edits may help; else it is a matter of how git is set up."""


def commit(
    project: Project,
    intent: Committing,
    author: CommitIdentity,
    *,
    hidden: Collection[str] = (),
    hooks: str | None = None,
) -> str | CommitRefused:
    """The new commit's id. `hidden`: variables that no hook sees; `hooks`: where they are, if not here."""
    with operation(project):
        project.record(intent, sync=True)
        with hold_lock(project.repo.lock("commit"), wait=ORPHAN_WAIT) as held:
            refused = _carry_out(project, intent, author, _CommitSetting(hidden, hooks, held))
        if refused is not None:
            project.record(NotCommitted(step=intent.step, why=refused.why), sync=True)
            return refused
        made = head(project.repo).commit or ""
        project.record(
            Committed(step=intent.step, role=intent.role, commit=made, driver=intent.driver), sync=True
        )
        look(project, project.state())  # else a reset to the commit before would go unnoticed
        return made


@finishes(Committing)
def finish_commit(project: Project, intent: Committing) -> str:
    """After a kill: either the commit was made, or what was staged for it is only in the files again."""
    with hold_lock(project.repo.lock("commit"), wait=ORPHAN_WAIT):
        now = head(project.repo).commit
        if now is not None and now != intent.parent and _is_it(project, intent, now):
            project.record(
                Committed(step=intent.step, role=intent.role, commit=now, driver=intent.driver), sync=True
            )
            return "took in a commit"
        git(project.root, "reset", "--quiet")
        project.record(NotCommitted(step=intent.step, why="interrupted"), sync=True)
        return "undid an interrupted commit"


@value
class _CommitSetting:
    hidden: Collection[str]
    hooks: str | None
    held: int


def _carry_out(
    project: Project, intent: Committing, author: CommitIdentity, around: _CommitSetting
) -> CommitRefused | None:
    hidden = around.hidden
    added = git(project.root, "add", "--all", "--", *intent.paths, hidden=hidden)
    if not added.ok:
        return _undone(project, intent, "git could not add the files", added)
    message = _message(project, intent)
    made = git(
        project.root,
        *(() if around.hooks is None else ("-c", f"core.hooksPath={around.hooks}")),
        *("commit", "--quiet", "--cleanup=whitespace", "--file=-"),
        stdin=message,
        env=author_environment(project.root, author),
        hidden=hidden,
        held=around.held,
    )
    if not made.ok:
        own = made.code != _BY_HOOK
        why = "git could not make the commit" if own else "a hook refused the commit"
        return replace(_undone(project, intent, f"{why}: {_gist(made)}", made), by_content=not own)
    if lost := _lost_trailers(project, message):
        git(project.root, "reset", "--quiet", "--soft", intent.parent)
        what = f"a hook changed the message, and its trailers are lost ({lost[0]})"
        return replace(_undone(project, intent, what, made), by_content=False)
    if changed := _not_as_judged(project, intent):
        git(project.root, "reset", "--quiet", "--soft", intent.parent)
        what = f"a hook changed {changed[0]} on the way: what is committed must be what was judged"
        return _undone(project, intent, what, made)
    return None


def author_environment(root: Path, author: CommitIdentity) -> Mapping[str, str]:
    """The author is the machine; the committer is the user, or the machine if git knows no user."""
    wanted = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email}
    if git(root, "var", "GIT_COMMITTER_IDENT").ok:
        return wanted
    return {**wanted, "GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.email}


def _undone(project: Project, intent: Committing, why: str, said: GitAnswer) -> CommitRefused:
    """Nothing stays staged, and what a hook wrote makes way for what was judged."""
    git(project.root, "reset", "--quiet")
    now = project.workspace.snapshot()
    changed = [change.path for change in project.workspace.changes(intent.tree, now)]
    if changed:
        project.workspace.lay(intent.tree, changed, expect=now)
    return CommitRefused(why, said.text)


def _not_as_judged(project: Project, intent: Committing) -> list[str]:
    """Committed or protected paths that differ from what was judged; what else a hook leaves is its own."""
    now = project.workspace.snapshot()
    differing = project.workspace.changes(intent.tree, now) if now != intent.tree else ()
    known = frozenset(intent.paths)
    changed = [
        c.path for c in differing if c.path in known or project.classify(c.path) is not PathClass.OTHER
    ]
    left = git(project.root, "status", "--porcelain", "-z", "--", *intent.paths).out
    return [*changed, *(entry[3:] for entry in left.split("\0") if entry)]


def _gist(said: GitAnswer) -> str:
    """The line of git's output that says most: an error, or the last one."""
    lines = [line.strip() for line in said.text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("error:", "fatal:"))]
    return (told or lines[-1:] or ["it does not say why"])[0]


def _lost_trailers(project: Project, message: str) -> list[str]:
    """Trailers that a hook took out: a run needs them to know its position. A hook may add others."""
    made = head(project.repo).commit
    if made is not None and _tidy(Trees(users_git(project.repo)).read_message(made)) == _tidy(message):
        return []
    asked = git(project.root, "interpret-trailers", "--parse", "--unfold", stdin=message).out.splitlines()
    there = git(project.root, "show", "--no-patch", "--format=%(trailers:only,unfold)", "HEAD").out
    return [line for line in asked if line not in there.splitlines()]


def _tidy(message: str) -> str:
    """Cleans a message up nearly as git does. If git's own result differs, git is asked for the trailers."""
    return "\n".join(line.rstrip() for line in message.strip().split("\n"))


def _is_it(project: Project, intent: Committing, commit: str) -> bool:
    said = git(project.root, "show", "--no-patch", "--format=%P%n%B", commit).out
    parent, _, message = said.partition("\n")
    return parent == intent.parent and message.strip() == _message(project, intent).strip()


def _message(project: Project, intent: Committing) -> str:
    return (project.workspace.blob_bytes(intent.message) or b"").decode()


def committed_tree(project: Project) -> str:
    """The tree as HEAD has it, as far as it is git's matter: what is ignored stays as it lies."""
    now = project.workspace.snapshot()
    commit = head(project.repo).commit
    if commit is None:
        return now
    held = {entry.path: entry for entry in head_moves.list_commit(project.repo, commit).files}
    known = head_moves.clean_entries(project.repo, held.values())
    said = ask_users_git(project.root, "ls-files", "-z", "--others", "--exclude-standard")
    wanted: dict[str, tuple[str, bytes] | None] = {
        path: (entry.mode, head_moves.read_as_checked_out(project.repo, entry))
        for path, entry in held.items()
        if path not in known
    }
    there = {entry.path for entry in project.workspace.files(now)}
    wanted |= dict.fromkeys(path for path in said.split("\0") if path in there)
    return project.workspace.compose(now, wanted)


BACK = "HEAD, index and files are as before."
MOVES = ("switch", "checkout", "pull", "merge", "rebase", "stash", "revert", "cherry-pick", "reset", "fetch")


@value
class Moved:
    exit_code: int
    brought: tuple[str, ...]
    """Paths that joined the ground."""
    in_progress: str | None
    said: str = ""
    """The output of git and its hooks, if it was not shown."""


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
            f"`tdd sync` cannot run `{' '.join(('git', *argv[:1]))}`: it runs {', '.join(MOVES)}.",
            hint="e.g. tdd sync -- pull --rebase",
        )
    with operation(project) as state:
        if denial := refusal(project, state, Do("sync")):
            return denial
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
            return _undo_move(project, intent, agents, why)
        return replace(finish_move(project, intent, exit_code=code), said=said)


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
    staged = Trees(users_git(project.repo)).staged_changes(before.commit)
    found = {c.path for c in staged if project.classify(c.path) is PathClass.SWITCH}
    others = {path for path in found if not decides_verdicts(path)}
    # What a team mate brought runs for a person, too, as it would after their own pull.
    free = others - paths_committed_here(project, before.commit, others) if others else set()
    return tuple(sorted(found - free))


def _undo_move(project: Project, intent: Syncing, to: GitPosition, why: Deny) -> Deny:
    found = project.workspace.snapshot()
    changed = [change.path for change in project.workspace.changes(intent.tree, found)]
    project.record(Synced(argv=intent.argv, exit_code=None), sync=True)
    move_back(project, to, intent.tree, changed, found)
    return why


def finish_move(project: Project, intent: Syncing, exit_code: int | None) -> Moved:
    """Looks at what git did, also after a kill, and does not undo it."""
    before = project.state()
    displaced = _find_overwritten(project, intent.tree, before.head.commit if before.head else None)
    project.record(Synced(argv=intent.argv, exit_code=exit_code, displaced=displaced), sync=True)
    after = look(project, project.state())
    accept_move(project, intent.tree)
    brought: tuple[str, ...] = ()
    if before.ground and after.ground and before.ground != after.ground:
        brought = tuple(c.path for c in project.workspace.changes(before.ground, after.ground))
    return Moved(exit_code or 0, brought, in_progress(project.repo))


def _find_overwritten(project: Project, tree: str, commit: str | None) -> tuple[str, ...]:
    """Files of a tree that git changed and `commit` did not have so: an abort throws them away."""
    changes = project.workspace.changes(tree, project.workspace.snapshot())
    held = head_moves.entries_at(project.repo, commit, {change.path for change in changes})
    blobs = {path: entry.blob for path, entry in held.items()}
    return tuple(f"{c.path} {c.old}" for c in changes if c.old and c.old != blobs.get(c.path))


def _git(
    project: Project, argv: Sequence[str], more: Mapping[str, str] | None = None, *, quiet: bool = False
) -> tuple[int, str]:
    """The user's own git with the user's own configuration: this is the user's move, only bracketed."""
    env = {name: value for name, value in os.environ.items() if name not in REDIRECTING}
    if not os.isatty(0):
        env.setdefault("GIT_EDITOR", ":")  # else `--continue` would fail for want of a terminal
    return run_openly(project.root, argv, {**env, **(more or {})}, quiet=quiet)


@finishes(Syncing)
def finish_syncing(project: Project, intent: Syncing) -> str:
    finish_move(project, intent, exit_code=None)
    return "took in an interrupted sync"
