"""Runs an agent's shell command: confined, with a broker outside."""

# The entry of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import gc
import os
import sys

from verdigris.core.agents import caller_in, session_in
from verdigris.gates.agent_shell import write_failure
from verdigris.gates.agent_shell.confinement import READONLY, ShellCard, read_card, surroundings
from verdigris.gates.agent_shell.guard import ALONE, REFUSED, Guard, GuardPipes, ShellCommand
from verdigris.gates.agent_shell.write_failure import StderrWatch
from verdigris.sandbox import processes
from verdigris.sandbox.processes import Namespaces
from verdigris.storage import stat_cache
from verdigris.storage.calls import call_records, open_calls
from verdigris.storage.calls.call_promise import CallPromise
from verdigris.storage.calls.git_folders import GitFolder
from verdigris.storage.calls.path_folders import PathFolders, compared_folders
from verdigris.storage.log import light

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

BEGINNING, END = "beginning", "end"
OUTSIDE = "import sys; sys.path += sys.argv.pop(1).split('\\n'); from verdigris.cli.main import run; run()"
_MAIN = """\
import gc, os, sys
gc.disable()
sys.path += sys.argv[1].split('\\n')
from {module} import main
main(*sys.argv[2:])
sys.stderr.flush()
os._exit(0)
"""
"""To load its modules and to take them apart again is most of what such a short process does."""
REFRESH = _MAIN.format(module="verdigris.gates.agent_shell.protection")
LOOK = _MAIN.format(module="verdigris.turns.tripwire.calls")


class CallPlace:
    """The worktree of a call; the launcher names it, whatever the working directory is."""

    __slots__ = ("control", "paths", "private", "root", "subagent")

    def __init__(self, root: str, private: str, paths: str) -> None:
        self.root = root
        self.private = private
        self.control = os.path.dirname(os.path.dirname(private))
        self.paths = paths
        """Where our own packages lie, one a line."""
        self.subagent = ""
        """Whose call it is, if not the session's own; asked as it begins, since it may outlive them."""

    @property
    def caller(self) -> tuple[str, str]:
        """The client, and the context."""
        return caller_in(os.environ, self.subagent)

    def outside(self, code: str, *arguments: str) -> list[str]:
        """Our own interpreter, which takes nothing from an environment that an agent can write to."""
        return [sys.executable, "-I", "-S", "-c", code, self.paths, *arguments]


def run(place: CallPlace, command: str) -> NoReturn:
    gc.disable()  # what both need after a fork is copied when either of them writes to it
    card = _read_card(place) or _refresh_card(place)
    if card is None:
        os.write(
            2,
            b"verdigris: the command was not run, since nothing protects it. next: `tdd doctor`\n",
        )
        os._exit(REFUSED)
    _say(call_records.finish_left(place.private))
    if os.path.isdir(f"{place.private}/{call_records.CALLERS}"):
        from verdigris.storage.calls.callers import caller

        place.subagent = caller(place.private, session_in(os.environ), command)
    try:
        code = _call(place, card, command)
    finally:
        if card.way:
            _look(place, END)
    os._exit(code)


def _read_card(place: CallPlace) -> ShellCard | None:
    card = read_card(place.private, place.control, surroundings(place.control, os.environ))
    return card if card is not None and card.root == place.root else None  # of a copied repository


def _refresh_card(place: CallPlace) -> ShellCard | None:
    return _read_card(place) if _spawn(place.outside(REFRESH, place.root, place.private)) else None


def _look(place: CallPlace, moment: str) -> None:
    """Has the tripwire look, if a protected path changed: it puts back what an agent did."""
    if _is_changed(place, moment):
        _spawn(place.outside(LOOK, place.root, moment, *place.caller))


def _is_changed(place: CallPlace, moment: str) -> bool:
    """Decides as `turns.tripwire.has_changed`; also true if a message waits for this agent.

    While processes of calls live all changes are agents': then they are asked for at the end only.
    """
    known, head = stat_cache.read(place.private, place.root), light.head(place.control)
    if known is None or head is None:
        return True
    seq, root, rows = known
    if seq != light.changed_at(head) or stat_cache.differs(root, rows):
        return True
    try:
        memory = light.loads(light.read(f"{place.private}/call.json").decode("utf-8"))
    except (OSError, ValueError, StopIteration):
        return True
    if place.caller[1] in memory.get("messages", ()):
        return True
    if moment == END and memory.get("alive") and _lives_otherwise(place, memory["open"], rows):
        return True
    claimers = memory.get("claimers")
    return claimers is not None and (claimers != [place.caller[1]] or open_calls.alive(place.private))


def _lives_otherwise(place: CallPlace, shells: list[str], rows: Sequence[stat_cache.Row]) -> bool:
    """Whether others live than at the last look, or one has mapped a file: no stamp tells what it writes."""
    if sorted({context for context, _ in open_calls.open_shells(place.private)}) != shells:
        return True
    mapped = processes.mapped_inodes()
    return any(inode in mapped for _, _, inode, *_ in rows)


def _spawn(argv: list[str]) -> bool:
    child = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    return os.waitpid(child, 0)[1] == 0


def _call(place: CallPlace, card: ShellCard, command: str) -> int:
    """While the child makes its mounts, we look at the tree and make the broker's socket.

    What both need is loaded before: memory that either of us writes to is copied.
    """
    record = call_records.draft_record(place.private)
    sockets = call_records.make_socket_folder(place.private)
    pipes = GuardPipes()
    kept = write_failure.hold_stderr(os.environ)
    heard = StderrWatch() if card.way and kept < 0 else None
    guard = os.fork()
    if guard == 0:
        Guard(place.private, card, pipes).serve(ShellCommand(command, place.subagent, sockets, kept, heard))
    pipes.close_guards()
    if heard is not None:
        heard.begin()
    if card.way:
        _look(place, BEGINNING)
    readonly = [point for point, kind in card.mounts if kind == READONLY and point.endswith("/config")]
    folders = compared_folders(place.root, os.environ, {point for point, _ in card.mounts})
    programs = PathFolders(place.root, os.environ.get("PATH", ""), folders)
    promise = CallPromise(GitFolder(place.root, place.private, readonly).look(), programs)
    call_records.publish_record(place.private, record, command, place.caller[1], promise)
    from verdigris.gates.agent_shell.outside import Outside, open_socket

    socket = open_socket(f"{sockets}/{call_records.BROKER}")
    shell, left = 0, None
    if namespace := os.read(pipes.confined, 64):
        first, _, keeper = os.read(pipes.started, 64).decode().partition(" ")
        shell = int(first)
        call_records.note_namespace(record, namespace, keeper)
        if card.way:
            left = Namespaces(shell, own_ids=card.way == "own")
        for name, ids in card.ids:
            _write(f"/proc/{shell}/{name}", ids)
        os.write(pipes.go, b".")
    known = namespace.decode() if card.way else ""
    outside = Outside(place.outside(OUTSIDE), place.root, (guard, shell), socket, place.subagent, known)
    try:
        code = outside.wait()
        if code and heard is not None:
            _explain(heard, card)
        return code
    finally:
        told = os.read(pipes.started, 1)  # nothing by a guard that was killed
        _say(call_records.end(place.private, left, alone=told == ALONE, below=bool(told)))
        write_failure.explain_stderr(kept)


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        os.write(2, f"[tdd] {line}\n".encode(errors="surrogateescape"))


def _explain(heard: StderrWatch, card: ShellCard) -> None:
    if said := heard.printed_last():
        from verdigris.gates.agent_shell.write_failure import explanation

        os.write(2, explanation(said, card.mounts, card.root, os.environ))


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    os.write(descriptor, text.encode())
    os.close(descriptor)
