"""Compares the tree before and after an agent's call: puts an agent's changes back, keeps a person's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.checks.git_moves import look
from verdigris.checks.observation import difference, is_layout
from verdigris.checks.source_edits import home_of
from verdigris.checks.unproven_commits import COMMITTED, describe, find_unproven, remedy
from verdigris.core.actions import Deny, Target
from verdigris.core.errors import NotConfigured, VerdigrisError
from verdigris.core.events import Edit, Violation
from verdigris.core.paths import PathClass
from verdigris.core.policy.cycle import authored_classes, deny_spec, deny_write
from verdigris.core.policy.next_move import implied_claim, owners
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.test_ids import shell_words, some
from verdigris.core.turn_events import joining_events
from verdigris.core.value import replace
from verdigris.storage import stat_cache
from verdigris.storage.intents import recover
from verdigris.storage.open_calls import alive as is_alive
from verdigris.storage.open_calls import forget_ended
from verdigris.storage.project import open_project
from verdigris.turns import tripwire as words
from verdigris.turns.claim_check import claim_within, following_move, provable
from verdigris.turns.rollback import GitPosition, place, put_back
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
from verdigris.turns.tripwire.strays import Strays, strays, undo_moves

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

CALLED = "changed by an agent's call"
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


def before_call(project: Project, *, agent_alive: bool = False) -> Tripped:
    """Changes since the last call are a person's, unless a process of the agent lived meanwhile."""
    with project.exclusive():
        recover(project)
        return _look_at_tree(project, recall(project), alive=agent_alive, wrote=())


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
        if memory is not None and memory.alive == agent_alive and not has_changed(project):
            forget_ended(str(project.repo.private))
            return Tripped()
        return _look_at_tree(project, memory, alive=agent_alive, wrote=wrote)


def look_within_call(project: Project) -> None:
    """Before a verb of the agent in red: puts source back, so that no run sees edits that no claim covers.

    The caller holds the operation. The message is reported after the call.
    """
    if project.state().phase is not Phase.RED or not is_alive(str(project.repo.private)):
        return
    memory = recall(project)
    if memory is not None and memory.phase is Phase.RED and not is_touched(project):
        return
    tripped = _look_at_tree(project, memory, alive=True, wrote=None)
    known = recall(project)
    if tripped.text and known is not None:
        remember(project, replace(known, texts=(tripped.text,)))


def _look_at_tree(
    project: Project, memory: TripwireMemory | None, *, alive: bool, wrote: Collection[str] | None
) -> Tripped:
    phase = project.state().phase
    ended = forget_ended(str(project.repo.private))
    agents = None if alive or ended or (memory is not None and memory.alive) else wrote
    if agents is None:
        undo_moves(project)
    memory = recall(project)
    state = look(project, project.state(), by_agent=agents is None)
    seen = see(project, state)
    found = strays(project, state, memory, seen.tree) if memory or agents is None else ()
    mine, persons = _split_strays(found, agents)
    texts = [*_waiting_texts(memory, phase), *(_kept_text(stray, state.phase) for stray in persons)]
    done = _undone(project, state, mine, seen.tree)
    written = False
    if agents is None:
        done = _join_edits(project, done)
        written = _record_author(project, state, memory, seen.tree, done)
    rightly = seen.tree
    if done or written:
        state = project.state()
        seen = see(project, state)
        rightly = _without_strays(project, state, memory, seen.tree, agents)
    now = TripwireMemory(rightly, base(state), state.phase, _place(project), alive)
    now, unproven = _with_head(project, state, memory, now)
    remember(project, now)
    if rightly == seen.tree:
        watch(project, seen)
    else:
        stat_cache.forget(project.repo.private)
    texts += [words.unproven_text(describe(unproven), remedy(unproven))] if unproven else []
    texts += [done.text] if done else []
    if done.put_back or done.claimed or persons:
        texts.append(f"next: {following_move(project, project.state())}")
    text = "\n".join(texts)
    moved = memory.moved + memory.undone if memory else ()
    return replace(done, kept=_paths(persons), moved_back=moved, unproven=tuple(unproven), text=text)


def _waiting_texts(memory: TripwireMemory | None, phase: Phase) -> Iterator[str]:
    """What verbs within the call left to report."""
    if memory is None:
        return
    texts = memory.texts if phase is Phase.GREEN else (words.without_claims(text) for text in memory.texts)
    yield from filter(None, texts)
    if memory.moved:
        yield words.moved_back_text(memory.moved, phase, memory.tried)
    if memory.undone:
        yield words.commit_undone_text(memory.undone)


def _kept_text(stray: Strays, phase: Phase) -> str:
    if stray.link:
        return words.link_kept_text(stray.paths[0])
    return words.kept_text(stray.paths, stray.cls, phase)


def _without_strays(
    project: Project,
    state: WorktreeState,
    memory: TripwireMemory | None,
    tree: str,
    agents: Collection[str] | None,
) -> str:
    """The tree without strays: a process may have written again after they were put back."""
    for stray in _split_strays(strays(project, state, memory, tree), agents)[0]:
        tree = project.workspace.graft(tree, stray.home, stray.paths)
    return tree


def _split_strays(
    found: tuple[Strays, ...], agents: Collection[str] | None
) -> tuple[tuple[Strays, ...], tuple[Strays, ...]]:
    """The agent's and the person's."""
    if agents is None:
        return found, ()
    split = [(s, frozenset(s.paths).intersection(agents)) for s in found]
    mine = (replace(s, paths=tuple(p for p in s.paths if p in own)) for s, own in split if own)
    others = (replace(s, paths=tuple(p for p in s.paths if p not in own)) for s, own in split)
    return tuple(mine), tuple(s for s in others if s.paths)


def _undone(project: Project, state: WorktreeState, mine: tuple[Strays, ...], tree: str) -> Tripped:
    claimed, gone, texts = "", list[str](), list[str]()
    for stray in mine:
        if stray.link:
            put_back(project, stray.home, stray.paths, why=CALLED)
            gone += stray.paths
            texts.append(words.link_put_back_text(stray.paths[0]))
            continue
        done = _claim_for_edit(project, state, stray, tree)
        if isinstance(done, str):
            claimed = done
            texts.append(words.claims_text(stray.paths, done))
            continue
        home = stray.home
        if stray.cls in {PathClass.TEST, PathClass.SOURCE}:
            home = home_of(project, home, tree, stray.paths, source=stray.cls is PathClass.SOURCE)
        put_back(project, home, stray.paths, why=CALLED)
        gone += stray.paths
        texts.append(words.put_back_text(stray.paths, stray.cls, done))
    return Tripped(put_back=tuple(gone), claimed=claimed, text="\n".join(texts))


def _claim_for_edit(project: Project, state: WorktreeState, stray: Strays, tree: str) -> str | Deny | None:
    """Source written in red claims the reds of this change that were seen on the tree without it."""
    cycle = state.open_cycle
    if cycle is not None and stray.paths == (cycle.spec_path,):
        return deny_spec(cycle)
    if cycle is not None and state.phase in {Phase.PLAN, Phase.HELD}:
        return deny_write(cycle, stray.paths[0])
    if stray.cls is not PathClass.SOURCE or state.phase is not Phase.RED:
        return None
    decision = implied_claim(state, stray.paths[0])
    if isinstance(decision, Deny):
        return decision
    start = project.workspace.graft(tree, stray.home, stray.paths)
    ids = [red.test_id for red in provable(project, decision.claims, start)]
    targets = tuple(Target(path, frozenset({PathClass.SOURCE})) for path in stray.paths)
    claimed = claim_within(project, state, ids, targets, implied=True, tree=start)
    if isinstance(claimed, Deny):
        return claimed
    project.record(Edit(paths=stray.paths))
    return some(claimed.test_ids)


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


def _join_edits(project: Project, done: Tripped) -> Tripped:
    """In green, source outside the targets joins the open claims, or is refused where claims are strict."""
    state = project.state()
    if state.phase is not Phase.GREEN or state.turn is None or state.turn.suspended:
        return done
    tree = project.workspace.snapshot()
    source = difference(project, state.turn.tree, tree).source
    paths = tuple(
        change.path
        for change in source
        if not owners(state.claims.values(), change.path) and not is_layout(project, change)
    )
    if not paths:
        return done
    if project.settings.claims != "strict":
        project.record(*joining_events(state, paths))
        return done
    put_back(project, state.turn.tree, paths, why=CALLED)
    added = shell_words("tdd", "claim", next(iter(state.claims)), paths[0])
    denial = Deny(
        "outside-targets",
        f"It is outside the targets of the open claims (`claims: strict`); `{added}` adds it.",
        f"`{added}`",
    )
    text = words.put_back_text(paths, PathClass.SOURCE, denial)
    return replace(done, put_back=done.put_back + paths, text="\n".join(filter(None, (done.text, text))))


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
