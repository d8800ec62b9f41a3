"""The tripwire: what it protects, its messages, and what it remembers of an agent's last call."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdigris.core.confinement.protection import protected_classes
from verdigris.core.paths import CACHES, PathClass
from verdigris.core.policy.cycle import authored_classes, closes_stage
from verdigris.core.policy.next_move import report_wrong_test
from verdigris.core.records import from_json, to_json
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import shell_words
from verdigris.core.value import field, replace, value
from verdigris.languages.registry import is_mixed
from verdigris.storage import stat_cache
from verdigris.storage.calls.open_calls import shared_inodes
from verdigris.storage.log import light
from verdigris.turns.rollback import GitPosition, place, watched_files
from verdigris.turns.tripwire.repositories import DECIDING, is_of_a_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from verdigris.core.actions import Deny
    from verdigris.storage.project import Project


KEYS_PROTECTED = frozenset({Phase.GREEN, Phase.REFACTOR, Phase.PLAN, Phase.HELD})
"""Where the runner's keys of mixed files are protected too."""
_SHOWN = 5


@value
class Tripped:
    """What changed around an agent's call, and what was done about it; false if nothing changed."""

    put_back: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Changes of a person's."""
    moved_back: tuple[str, ...] = ()
    """Paths that went back together with HEAD and index."""
    unproven: tuple[str, ...] = ()
    """Files in HEAD that no proven tree had."""
    claimed: str = ""
    """The red that source written by a shell claimed by implication."""
    text: str = ""
    """For the agent: what happened, and the next allowed move."""
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same for each agent that it concerns; what others are to hear waits for their next call."""

    def __bool__(self) -> bool:
        return bool(self.put_back or self.kept or self.moved_back or self.unproven or self.claimed)


def base(state: WorktreeState) -> str | None:
    """The tree with which protected paths are compared; None while only the switches are protected."""
    match state.phase:
        case Phase.GREEN:
            return state.turn.tree if state.turn else None
        case Phase.REFACTOR:
            return state.refactor.tree if state.refactor else None
        case Phase.RED:
            return state.ground
        case Phase.PLAN | Phase.HELD:
            return state.cycle.tree if state.cycle else None
        case Phase.OFF:
            return None


def put_back_text(paths: Sequence[str], cls: PathClass, denial: Deny | None) -> str:
    """`denial`: why source written in red did not claim, or why a stage of a cycle closes the path."""
    why, stay = _why(paths[0], cls), ""
    if denial is not None and cls is PathClass.SOURCE and not closes_stage(denial):
        why = f"More changed than comments, layout and stubs. {denial.reason}"
        stay = "; tests that the same call changed stay changed"
    elif denial is not None:
        why = f"{denial.reason} The way: {denial.next}."
    kept = f"What had been written is kept: `tdd displaced {shell_words(paths[0])}`{stay}."
    return f"Put back: {_names(paths)}. {why} {kept}"


def repository_text(git: str) -> str:
    return (
        f"Put back: the settings of {git}. They name what a person's git would run there. "
        "Remotes and branches stay; what had been written is kept in .git/tdd/undone."
    )


def claims_text(paths: Sequence[str], claimed: str) -> str:
    return f"{', '.join(paths)}: claims {claimed}."


def without_claims(text: str) -> str:
    """The call may have settled what it claimed: then its verdict says what comes next."""
    return re.sub(r"^.*: claims .*\.$\n?", "", text, flags=re.MULTILINE)


def kept_text(paths: Sequence[str], cls: PathClass, phase: Phase) -> str:
    if cls is PathClass.SWITCH:
        then = " Only a person may change it; go on with your task."
    elif phase is Phase.GREEN:
        then = " Until it is put back every verdict is `tampered`."
    elif phase is Phase.REFACTOR:
        then = " Undo it before `tdd refactor end`, or `tdd refactor abort`."
    elif phase is Phase.RED and cls is not PathClass.SPEC:
        then = ""
    else:
        then = " Undo it before the cycle goes on: `tdd cycle status` says what its stage may write."
    return f"{_names(paths)} changed outside the agent's calls: kept.{then}"


def link_put_back_text(path: str) -> str:
    return (
        f"Put back: {path}. It had become a link: what is read through one that leads out of the tree has "
        "no snapshot, and a folder of tests or source stays a folder. The link is kept (`tdd displaced`).\n"
        f"next: write the files themselves at {path}"
    )


def link_kept_text(path: str) -> str:
    return (
        f"{path} became a link outside the agent's calls: kept. While it leads tests or source out of the "
        "worktree, nothing can be claimed or accepted.\n"
        f"next: ask the person to put the files at {path}, or to name it under `generated:` in tdd.yaml"
    )


def commit_undone_text(paths: Sequence[str]) -> str:
    return (
        f"Undone: a commit that held {_names(paths)} as it never was in this worktree, so nothing proves "
        "it. HEAD and index are where they were, the files are as you left them; the commit is "
        "still an object of the repository (`git reflog`).\n"
        "next: `git add` what lies in the tree, then `git commit`"
    )


def unproven_text(lines: Sequence[str], following: str) -> str:
    more = len(lines) - _SHOWN
    shown = "\n".join((*lines[:_SHOWN], *([f"and {more} more"] if more > 0 else [])))
    return f"{shown}.\nnext: {following}"


def moved_back_text(paths: Sequence[str], phase: Phase, tried: Sequence[str]) -> str:
    """`tried`: the words of the git command, where the repository tells them."""
    first = "" if phase in {Phase.RED, Phase.OFF} else "settle the open turn, then "
    again = f"`tdd sync -- {shell_words(*tried)}`" if tried else "say the same git command after tdd sync --"
    return (
        f"Git moved, but {_names(paths)} is protected in the {phase} phase: HEAD, index and files went back "
        f"together; commits and stashes made on the way are still objects of the repository (`git reflog`).\n"
        f"next: {first}{again}"
    )


def _why(path: str, cls: PathClass) -> str:
    match cls:
        case PathClass.SWITCH:
            return (
                "It turns Verdigris itself on or off, or names what a person's tools run outside a sandbox: "
                "no agent may write it. Leave it as it is."
            )
        case PathClass.SOURCE:
            return "Source can be edited only under a claim, and no claim is open."
        case PathClass.TEST | PathClass.SPEC:
            wrong = report_wrong_test((), path)
            return f"It decides the verdict, so it is frozen from claim to verdict; {wrong}."
        case PathClass.OTHER:
            return "The test runner's keys in it decide the verdict: they are frozen, and the others are not."


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@value
class Pending:
    """A changed path that is nobody's yet: a call that may have written it is open."""

    blob: str
    """Its content at the last look; empty where it was deleted."""
    by: tuple[str, ...]
    """The agents that may have written it."""


@value
class TripwireMemory:
    tree: str
    """The worktree, with what a person changed in it."""
    base: str | None
    """The tree that protected paths were compared with."""
    phase: Phase
    place: GitPosition
    alive: bool = False
    """A process of an agent's call was still running at the look."""
    open: tuple[str, ...] = ()
    """The agents whose processes those were."""
    pending: Mapping[str, Pending] = field(default_factory=dict)
    claimers: tuple[str, ...] | None = None
    """The agents at work whose claims alone are open: at the calls of others source is watched too."""
    seq: int = 0
    """The last record of the log."""
    unmoved: bool = False
    """Git moved, and is not judged yet: it may have been a call of another agent that is still open."""
    moved: tuple[str, ...] = ()
    """Protected paths for which a verb within the call moved git back; reported after the call."""
    tried: tuple[str, ...] = ()
    """The git command that was moved back, as far as the repository tells it."""
    undone: tuple[str, ...] = ()
    """Paths in a commit, undone within the call, that never were so in the tree; reported likewise."""
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Agent → what it is to hear at its next call: what was put back within its call, or by another's."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """Path → blob in HEAD that no tree had."""
    proven: str | None = None
    """Where HEAD was before it held them."""
    told: tuple[str, ...] = ()
    """Those of them that were recorded and reported."""
    began: bool = False
    """A call began that may leave no record, and has not ended."""


def recall(project: Project) -> TripwireMemory | None:
    """None if there is no memory, or it cannot be read: then the trees in the log decide."""
    try:
        return from_json(TripwireMemory, json.loads(_file(project).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(project: Project, memory: TripwireMemory) -> None:
    file = _file(project)
    draft = file.with_name(f"{file.name}.new")
    # `alive` also where it is false: the gate's quick entry looks for the word.
    draft.write_text(json.dumps({**to_json(memory), "alive": memory.alive}))
    draft.replace(file)


def is_git_moved(project: Project) -> bool:
    """Whether HEAD, the index or a stash is another than at the last look."""
    memory = recall(project)
    return memory is not None and not place(project, memory.place).same(memory.place)


def accept_move(project: Project, before: str) -> None:
    """Takes what `tdd sync` brought since `before` into the memory: it is no stray edit."""
    memory = recall(project)
    if memory is None:
        return
    now = project.workspace.snapshot()
    brought = [change.path for change in project.workspace.changes(before, now)]
    tree = project.workspace.graft(memory.tree, now, brought)
    remember(project, replace(memory, tree=tree, place=place(project, memory.place)))


def _file(project: Project) -> Path:
    return project.repo.private / "call.json"


@value
class TreeLook:
    """A look at the tree: the snapshot is younger than the stamps, and no later write hides in their tick."""

    tree: str
    rows: list[stat_cache.Row]
    state_seq: int | None


def see(project: Project, state: WorktreeState) -> TreeLook:
    from verdigris.storage.snapshots.listing import let_the_clock_tick

    at = light.head(os.fspath(project.repo.control))
    rows = list(_rows(project, state))
    let_the_clock_tick(max((ctime for _, ctime, *_ in rows), default=0))
    return TreeLook(project.workspace.snapshot(), rows, None if at is None else light.changed_at(at))


def watch(project: Project, seen: TreeLook) -> None:
    """Stores the stamps: while they are the same, the tree is."""
    if seen.state_seq is None:
        stat_cache.forget(project.repo.private)
    else:
        stat_cache.write(project.repo.private, seen.state_seq, os.fsencode(project.root), seen.rows)


def has_changed(project: Project) -> bool:
    """Whether a stamp differs from when the tree was right, or the state changed since."""
    known = stat_cache.read(project.repo.private, project.root)
    at = light.head(os.fspath(project.repo.control))
    if known is None or at is None:
        return True
    state_seq, root, rows = known
    return state_seq != light.changed_at(at) or _looks_otherwise(project, root, rows)


def is_touched(project: Project) -> bool:
    """Whether a stamp differs from when the tree was right, whatever the state was then."""
    known = stat_cache.read(project.repo.private, project.root)
    return known is None or _looks_otherwise(project, *known[1:])


def _looks_otherwise(project: Project, root: bytes, rows: list[stat_cache.Row]) -> bool:
    if stat_cache.differs(root, rows):
        return True
    # Stamps say nothing of what a process left over has mapped.
    hidden = shared_inodes(str(project.repo.private))
    return any(inode in hidden for _, _, inode, *_ in rows)


def _rows(project: Project, state: WorktreeState) -> Iterator[stat_cache.Row]:
    classes = protected_classes(state.phase) | authored_classes(state.open_cycle)
    keys, spec = state.phase in KEYS_PROTECTED, state.open_cycle and state.open_cycle.spec_path

    def is_wanted(path: str) -> bool:
        cls = project.classify(path)
        known = (keys and is_mixed(path, cls)) or cls in classes or path == spec
        return known or is_of_a_repository(project, path)

    top = os.fspath(project.root)
    yield stat_cache.stamp(os.fsencode(top), b"")
    yield from _rows_below(top, project.classify, is_wanted)
    for path in watched_files(project.repo):
        yield stat_cache.stamp(os.fsencode(top), path)


def _rows_below(
    top: str, keep: Callable[[str], PathClass], wanted: Callable[[str], bool]
) -> Iterator[stat_cache.Row]:
    from verdigris.storage.snapshots.scan import Installed

    installed = Installed(top, keep)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(f"{top}/{folder}"):
            path = f"{folder}{entry.name}"
            if entry.name == ".git":
                if folder:
                    yield from _repository_rows(top, path, entry)
                continue
            if not entry.is_dir(follow_symlinks=False):
                if wanted(path):
                    yield _row(path, entry)
            elif not installed.leaves_out(path):
                waiting.append(f"{path}/")
                if entry.name not in CACHES:
                    # A cache changes with every run; what has a class in it has a row of its own.
                    yield _row(path, entry)


def _repository_rows(top: str, path: str, entry: os.DirEntry[str]) -> Iterator[stat_cache.Row]:
    """A folder has none itself: it changes with every git command in it."""
    if not entry.is_dir(follow_symlinks=False):
        yield _row(path, entry)
        return
    for name in DECIDING:
        yield stat_cache.stamp(os.fsencode(top), os.fsencode(f"{path}/{name}"))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _row(path: str, entry: os.DirEntry[str]) -> stat_cache.Row:
    try:
        return stat_cache.row(os.fsencode(path), entry.stat(follow_symlinks=False))
    except OSError:
        return (os.fsencode(path), *stat_cache.ABSENT)
