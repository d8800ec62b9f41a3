"""Compares the tree before and after an agent's call: puts an agent's changes back, keeps a person's."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from verdigris.checks.git_moves import look
from verdigris.checks.unproven_commits import COMMITTED, describe, find_unproven, remedy
from verdigris.core.errors import NotConfigured, VerdigrisError
from verdigris.core.events import Edit, Violation
from verdigris.core.paths import PathClass
from verdigris.core.policy.actors import claimers
from verdigris.core.policy.cycle import authored_classes
from verdigris.core.records import Actor
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import replace, value
from verdigris.storage import stat_cache
from verdigris.storage.calls.open_calls import alive as is_alive
from verdigris.storage.calls.open_calls import forget_ended, open_shells
from verdigris.storage.intents import recover
from verdigris.storage.project import Project, open_project
from verdigris.turns import tripwire as words
from verdigris.turns.claim_check import fellows
from verdigris.turns.next_move import following_move
from verdigris.turns.rollback import GitPosition, place
from verdigris.turns.tripwire import (
    Tripped,
    TripwireMemory,
    base,
    has_changed,
    is_touched,
    recall,
    remember,
    see,
    watch,
)
from verdigris.turns.tripwire.authors import (
    Shared,
    Window,
    describe_pending,
    share,
    what_to_wait_for,
    window,
)
from verdigris.turns.tripwire.judgement import join_edits, stays, undo_settings, undo_strays
from verdigris.turns.tripwire.repositories import close_repositories
from verdigris.turns.tripwire.strays import Strays, strays, undo_moves

REMEMBERED = 20
"""Agents for which messages are kept."""
END = "end"


def main(root: str, moment: str, client: str, context: str) -> None:
    """Runs for the shell's entry, at a call's beginning and end; reports on standard error."""
    try:
        project = open_project(Path(root), Actor("agent", context, client))
        living = is_alive(str(project.repo.private))
        looked = after_call if moment == END else before_call
        text = looked(project, agent_alive=living).text
    except NotConfigured:
        return
    except VerdigrisError as error:
        sys.exit(f"[tdd] {error.message}" + (f"\nnext: {error.hint}" if error.hint else ""))
    if text:
        sys.stderr.write(f"[tdd] {text}\n")


def look_between_calls(project: Project) -> Tripped:
    """Looks as `before_call` does where no call begins; the caller names the next move at its own end."""
    with project.exclusive():
        recover(project)
        alive = is_alive(str(project.repo.private))
        return _look_at_tree(project, recall(project), alive=alive, wrote=())


def before_call(project: Project, *, agent_alive: bool = False, begins: bool = True) -> Tripped:
    """Changes since the last call are a person's, unless a process of the agent lived meanwhile.

    `begins`: the call that begins now may leave no record, so what git does until its end is the agent's.
    """
    with project.exclusive():
        recover(project)
        tripped = _look_at_tree(project, recall(project), alive=agent_alive, wrote=())
        if begins and (memory := recall(project)) is not None:
            remember(project, replace(memory, began=True))
        return with_next(project, tripped)


def after_call(
    project: Project, *, agent_alive: bool = False, wrote: Collection[str] | None = None
) -> Tripped:
    """Changes since the call began are the agent's. `agent_alive`: it left a process running.

    `wrote`: all that the call could write, where that is known: none for a tool that reads, one path for a
    tool that edits. Anything else that changed meanwhile is a person's.
    """
    with project.exclusive():
        recover(project)
        memory = recall(project)
        if (
            memory is not None
            and _is_known(project, memory, agent_alive=agent_alive)
            and not has_changed(project)
        ):
            forget_ended(str(project.repo.private))
            if memory.began:
                remember(project, replace(memory, began=False))
            return Tripped()
        return with_next(project, _look_at_tree(project, memory, alive=agent_alive, wrote=wrote))


def with_next(project: Project, tripped: Tripped) -> Tripped:
    """Ends what an agent hears with its next move; what is said of git names its own."""
    if project.context not in tripped.told and not tripped.kept:
        return tripped
    following = following_move(project, project.state(), wait=what_to_wait_for(project))
    return replace(tripped, text=f"{tripped.text}\nnext: {following}")


def _is_known(project: Project, memory: TripwireMemory, *, agent_alive: bool) -> bool:
    """Whether the stamps tell all: nothing waits for the agent, and no turn is shared with others."""
    alone = memory.claimers is None or (memory.claimers == (project.context,) and not agent_alive)
    return memory.alive == agent_alive and alone and project.context not in memory.messages


def look_within_call(project: Project) -> None:
    """Before a verb of the agent in red: puts source back, so that no run sees edits that no claim covers.

    While a call of another agent is open, in every phase: what that may have written is pending then. The
    caller holds the operation. The message is reported after the call.
    """
    private = str(project.repo.private)
    if not is_alive(private):
        return
    red = project.state().phase is Phase.RED
    if not red and all(context == project.context for context, _ in open_shells(private)):
        return
    memory = recall(project)
    same = memory is not None and memory.phase is project.state().phase and memory.claimers is None
    if same and not is_touched(project):
        return
    tripped = _look_at_tree(project, memory, alive=True, wrote=None)
    known = recall(project)
    if tripped.text and known is not None:
        remember(project, replace(known, messages={**known.messages, project.context: (tripped.text,)}))


def _look_at_tree(
    project: Project, memory: TripwireMemory | None, *, alive: bool, wrote: Collection[str] | None
) -> Tripped:
    ended = forget_ended(str(project.repo.private))
    seen_by = window(project, memory, alive=alive, ended=ended, own=wrote)
    if not seen_by.is_persons and undo_moves(project, waits=bool(seen_by.open)):
        return _leave_to_others(project, seen_by)
    memory = recall(project)
    look(project, project.state(), by_agent=not seen_by.is_persons)
    return _Look(project, memory, seen_by).judge(alive=alive)


def _leave_to_others(project: Project, seen_by: Window) -> Tripped:
    """Git is in the hands of another agent's open call: nothing is judged until that has ended."""
    memory = recall(project)
    if memory is None:
        return Tripped()
    told = memory.messages.get(seen_by.asks, ())
    rest = {context: texts for context, texts in memory.messages.items() if context != seen_by.asks}
    writers = tuple(sorted(seen_by.shells | ({seen_by.asks} if seen_by.own is None else set())))
    remember(project, replace(memory, alive=True, open=writers, messages=rest))
    stat_cache.forget(project.repo.private)
    return Tripped(text="\n".join(told), told={seen_by.asks: told} if told else {})


@value
class _Look:
    """A look at the tree, at the beginning or the end of a call."""

    project: Project
    memory: TripwireMemory | None
    window: Window

    def judge(self, *, alive: bool) -> Tripped:
        project, memory = self.project, self.memory
        state = project.state()
        phase = state.phase
        seen = see(project, state)
        shared = self.share(state, seen.tree)
        done = undo_strays(project, shared, seen.tree, self.window.noted)
        written = False
        if self.window.is_persons:
            close_repositories(project, seen.rows, by_agent=False)
        else:
            done = undo_settings(project, seen.rows, done)
            done = join_edits(project, done)
            written = _record_author(project, state, memory, seen.tree, done)
        rightly = seen.tree
        if done or written or shared.waiting:
            state = project.state()
            seen = see(project, state)
            rightly = self._without_strays(state, seen.tree)
        now = TripwireMemory(
            rightly,
            base(state),
            state.phase,
            _place(project),
            alive,
            self.window.open_now if alive else (),
            shared.pending,
            tuple(sorted(claimers(state) & fellows(project))) or None,
            next((record.seq for record in project.log.records(reverse=True, limit=1)), 0),
        )
        now, unproven = _with_head(project, state, memory, now)
        mine, messages = self._messages(shared, done, phase)
        remember(project, replace(now, messages=messages))
        if rightly == seen.tree:
            watch(project, seen)
        else:
            stat_cache.forget(project.repo.private)
        kept = (_kept_text(stray, state.phase) for stray in shared.persons)
        head = [words.unproven_text(describe(unproven), remedy(unproven))] if unproven else []
        return replace(
            done,
            kept=_paths(shared.persons),
            moved_back=memory.moved + memory.undone if memory else (),
            unproven=tuple(unproven),
            text="\n".join((*_waiting_texts(memory, phase), *kept, *head, *mine)),
            told={self.window.asks: mine} if mine else {},
        )

    def _messages(
        self, shared: Shared, done: Tripped, phase: Phase
    ) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
        """What the asking agent hears now, and what waits for the others."""
        told = dict(self.memory.messages) if self.memory else {}
        if phase is not Phase.GREEN:
            told = {who: tuple(filter(None, map(words.without_claims, texts))) for who, texts in told.items()}
        for who, texts in (*self._about_pending(shared), *done.told.items()):
            told[who] = (*told.get(who, ()), *texts)
        return told.pop(self.window.asks, ()), dict(list(told.items())[-REMEMBERED:])

    def share(self, state: WorktreeState, tree: str) -> Shared:
        project, memory = self.project, self.memory
        found = strays(project, state, memory, tree) if memory or not self.window.is_persons else ()
        known = memory.pending if memory else {}
        homes = {stray.home for stray in found} if known or self.window.open or self.window.edits else set()
        blobs = {c.path: c.new or "" for home in homes for c in project.workspace.changes(home, tree)}
        shared = share(found, self.window, known, blobs, partial(stays, project, state))
        if state.phase is not Phase.GREEN:
            return shared
        # A person writes source freely.
        return replace(shared, persons=tuple(s for s in shared.persons if s.cls is not PathClass.SOURCE))

    def _without_strays(self, state: WorktreeState, tree: str) -> str:
        """The tree without strays: a process may have written again after they were put back."""
        shared = self.share(state, tree)
        for stray, by in shared.judged:
            wrong = [path for path in stray.paths if not stays(self.project, state, stray, path, by)]
            tree = self.project.workspace.graft(tree, stray.home, wrong)
        for stray in shared.waiting:
            tree = self.project.workspace.graft(tree, stray.home, stray.paths)
        return tree

    def _about_pending(self, shared: Shared) -> Iterator[tuple[str, tuple[str]]]:
        """Told once: what this agent may have written and is nobody's yet."""
        known, asks = self.memory.pending if self.memory else {}, self.window.asks
        new = [p for p, kept in shared.pending.items() if asks in kept.by and known.get(p) != kept]
        if new:
            yield asks, (describe_pending(new, self.window),)


def _waiting_texts(memory: TripwireMemory | None, phase: Phase) -> Iterator[str]:
    """What verbs within the call left to report of git."""
    if memory is None:
        return
    if memory.moved:
        yield words.moved_back_text(memory.moved, phase, memory.tried)
    if memory.undone:
        yield words.commit_undone_text(memory.undone)


def _kept_text(stray: Strays, phase: Phase) -> str:
    if stray.link:
        return words.link_kept_text(stray.paths[0])
    return words.kept_text(stray.paths, stray.cls, phase)


def _record_author(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str, done: Tripped
) -> bool:
    """In a cycle a shell's writes are recorded as a file tool's are: no author of a test validates it."""
    classes = authored_classes(state.open_cycle)
    if not classes or memory is None or memory.tree == tree:
        return False
    changed = (change.path for change in project.workspace.changes(memory.tree, tree))
    paths = tuple(path for path in changed if path not in done.put_back and project.classify(path) in classes)
    if paths:
        project.record(Edit(paths=paths))
    return bool(paths)


def _with_head(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, now: TripwireMemory
) -> tuple[TripwireMemory, dict[str, str]]:
    """Remembers what an agent committed that no tree had, and returns what of it to tell now.

    Source that a turn or a refactor is about is judged when that is over.
    """
    if memory is None or not memory.unproven:
        return now, {}
    unproven = find_unproven(project, state, (now.tree, memory.tree), memory.proven)
    is_open = state.phase in {Phase.GREEN, Phase.REFACTOR}
    due = {
        path: blob
        for path, blob in unproven.items()
        if not (is_open and project.classify(path) is PathClass.SOURCE)
    }
    new = {path: blob for path, blob in due.items() if f"{path} {blob}" not in memory.told}
    project.record(*(Violation(path=path, what=COMMITTED) for path in new))
    told = tuple(f"{path} {blob}" for path, blob in due.items())
    return replace(now, unproven=unproven, proven=memory.proven, told=told), new


def _place(project: Project) -> GitPosition:
    memory = recall(project)
    return place(project, memory.place if memory else None)


def _paths(found: tuple[Strays, ...]) -> tuple[str, ...]:
    return tuple(path for s in found for path in s.paths)
