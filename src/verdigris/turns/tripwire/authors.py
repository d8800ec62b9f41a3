"""Decides whose a change is, where the calls of several agents overlap in time.

A shell call may write anything, a file tool its own path. While another agent's call is open that may have
written a path, the change is nobody's: it is neither put back nor claimed. It is judged when that call has
ended, and each agent that may have written it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.records import AGENT
from verdigris.core.value import field, replace, value
from verdigris.storage.calls.callers import UNKNOWN, open_edits
from verdigris.storage.calls.open_calls import in_words, open_shells
from verdigris.turns.tripwire import Pending, TripwireMemory, recall

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from verdigris.storage.project import Project
    from verdigris.turns.tripwire.strays import Strays


@value
class Window:
    """Who could write what, from the last look at the tree to this one."""

    asks: str
    """The agent at whose call we look."""
    own: frozenset[str] | None
    """The paths that this call could write; None: any."""
    shells: frozenset[str] = frozenset()
    """The agents whose shells were open meanwhile."""
    open: Mapping[str, str] = field(default_factory=dict)
    """Other agents whose shells are open now → the command."""
    mine: tuple[str, ...] = ()
    """The asking agent, if a shell of its own is open now."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Path → the other agent whose file tool is writing it now."""

    noted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Path → the agents whose file tools were allowed to write it meanwhile."""

    def writers(self, path: str) -> frozenset[str]:
        """Who may have written the path; nobody of them: a person."""
        mine = {self.asks} if self.own is None or path in self.own else set()
        edits = {self.edits[path]} if path in self.edits else set()
        return self.shells | mine | edits | self.noted.get(path, frozenset())

    def is_open(self, path: str, by: frozenset[str]) -> bool:
        """Whether a call of another agent among `by` is open that may have written the path."""
        return bool(by & self.open.keys()) or self.edits.get(path) in by

    @property
    def open_now(self) -> tuple[str, ...]:
        """The agents whose shells are open now."""
        return tuple(sorted({*self.open, *self.mine}))

    @property
    def is_persons(self) -> bool:
        """Whether any change is a person's, unless a file tool made it."""
        return self.own is not None and not self.shells


def window(
    project: Project,
    memory: TripwireMemory | None,
    *,
    alive: bool,
    ended: frozenset[str] = frozenset(),
    own: Collection[str] | None,
) -> Window:
    private, asks = str(project.repo.private), project.context
    now = dict(open_shells(private)) if alive else {}
    before = memory.open if memory is not None else ()
    left = {asks} if (alive and not now) or (memory is not None and memory.alive and not before) else set()
    return Window(
        asks,
        None if own is None else frozenset(own),
        frozenset({*now, *before, *ended, *left}),
        {context: command for context, command in now.items() if context != asks},
        (asks,) if asks in now or (alive and not now) else (),
        open_edits(private, asks),
        edits_since(project, memory.seq) if memory is not None and memory.claimers else {},
    )


def edits_since(project: Project, seq: int, turn: str = "") -> dict[str, frozenset[str]]:
    """Path → the agents that wrote it, as far as that is known, or took it over by a claim that names it.

    Since a record of the log, or since the turn began. A person is "".
    """
    found: dict[str, frozenset[str]] = {}
    taken: dict[str, frozenset[str]] = {}
    for record in project.log.records(reverse=True):
        if record.seq <= seq or (record.type == "turn_opened" and record.data["turn"] == turn):
            break
        if record.worktree != project.repo.worktree:
            continue
        who = record.actor.get("context", "") if record.actor.get("role") == AGENT else ""
        if record.type == "edit_claim" and not record.data.get("implied"):
            target = record.data["edit_target"]
            taken[target] = taken.get(target, frozenset()) | {who}
        if record.type == "edit":
            by = or_anybody(frozenset(record.data.get("by") or (who,)))
            found |= {
                p: found.get(p, frozenset()) | by | taken.get(p, frozenset()) for p in record.data["paths"]
            }
    return found


@value
class Shared:
    """Changed paths, by whose they are."""

    judged: tuple[tuple[Strays, frozenset[str]], ...]
    """With those who may have written them; their calls have ended, or are the asking agent's own."""
    pending: Mapping[str, Pending]
    waiting: tuple[Strays, ...]
    """Nobody's yet."""
    persons: tuple[Strays, ...]


def share(
    found: Iterable[Strays],
    seen: Window,
    known: Mapping[str, Pending],
    blobs: Mapping[str, str],
    stays: Callable[[Strays, str, frozenset[str]], bool] = lambda *_: False,
) -> Shared:
    """`known`: what was pending at the last look. `blobs`: path → its content now. `stays`: whether a path
    may stay as one of these agents wrote it, so that nothing has to wait.
    """
    judged: dict[tuple[int, frozenset[str]], Strays] = {}
    pending: dict[str, Pending] = {}
    waiting: list[Strays] = []
    persons: list[Strays] = []
    for at, stray in enumerate(found):
        by = {path: _writers(path, seen, known.get(path), blobs.get(path, "")) for path in stray.paths}
        if stray.link:  # the link, and what stood in its place
            by = dict.fromkeys(stray.paths, frozenset[str]().union(*by.values()))
        held = [
            path for path in stray.paths if seen.is_open(path, by[path]) and not stays(stray, path, by[path])
        ]
        pending |= {path: Pending(blobs.get(path, ""), tuple(sorted(by[path]))) for path in held}
        waiting += _only(stray, held)
        persons += _only(stray, [path for path in stray.paths if not by[path]])
        for who in dict.fromkeys(by[path] for path in stray.paths if by[path] and path not in held):
            (judged[at, who],) = _only(stray, [p for p in stray.paths if by[p] == who and p not in held])
    return Shared(
        tuple((stray, who) for (_, who), stray in judged.items()), pending, tuple(waiting), tuple(persons)
    )


def _writers(path: str, seen: Window, known: Pending | None, blob: str) -> frozenset[str]:
    if known is None:
        return seen.writers(path)
    by = frozenset(known.by)
    return by if known.blob == blob else by | seen.writers(path)


def _only(stray: Strays, paths: Sequence[str]) -> tuple[Strays, ...]:
    return (replace(stray, paths=tuple(paths)),) if paths else ()


def or_anybody(by: frozenset[str]) -> frozenset[str]:
    """A command that cannot be assigned may be anybody's: its source stays, as a concern."""
    return by | {""} if UNKNOWN in by else by


def several(by: frozenset[str]) -> Deny | None:
    """Why source that one of several agents wrote claims nothing."""
    if len(by) == 1:
        return None
    return Deny(
        "several-hands",
        "Calls of several agents were open when it changed, so nobody knows whose it is.",
        "write it again with a file tool, or claim first: `tdd claim ID PATH`",
    )


def in_the_name_of(project: Project, context: str) -> Project:
    return (
        project
        if context == project.context
        else replace(project, actor=replace(project.actor, context=context))
    )


def describe_pending(paths: Sequence[str], seen: Window) -> str:
    """Tells an agent that it may have written the paths."""
    return (
        f"{', '.join(paths)} changed while another agent's call was open too ({_commands(seen.open)}), so it "
        "is nobody's until that has ended: it is not put back, and claims nothing. If you cannot wait, undo "
        "the change, and claim before you write it again."
    )


def wait_for_others(project: Project) -> Deny | None:
    """Refuses what has to know whose the tree is, while an open call of another agent may have written it."""
    memory = recall(project)
    if memory is None or not (memory.pending or memory.unmoved):
        return None
    seen = window(project, memory, alive=True, own=())
    held = [path for path, kept in memory.pending.items() if seen.is_open(path, frozenset(kept.by))]
    if not held and not (memory.unmoved and seen.open):
        return None
    mine = [path for path in held if project.context in memory.pending[path].by]
    what = f"{', '.join(mine)} changed" if mine else "protected files changed, or git moved,"
    return Deny(
        "others-call-open",
        f"Another agent's call is open ({_commands(seen.open)}), and {what} meanwhile: until it has ended, "
        "nobody knows whose that is.",
        f"wait for the end of another agent's call ({_commands(seen.open)}), then go on",
    )


def what_to_wait_for(project: Project) -> str:
    denial = wait_for_others(project) if project.context else None
    return denial.next if denial else ""


def _commands(open_now: Mapping[str, str]) -> str:
    return ", ".join(in_words(command) for command in open_now.values()) or "a file tool"
