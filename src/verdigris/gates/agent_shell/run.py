"""Runs an agent's shell command: confined, with a broker outside."""

# The entry of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH120

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import gc
import os
import sys

from verdigris.core.agents import ACTOR, BROKER, CLIENT, CONTEXT, caller_in, session_in
from verdigris.gates.agent_shell import write_failure
from verdigris.gates.agent_shell.confinement import READONLY, ShellCard, read_card, surroundings
from verdigris.gates.agent_shell.git_folders import GitFolder, Namespaces
from verdigris.gates.agent_shell.path_folders import PathFolders
from verdigris.gates.agent_shell.users_shell import become_shell
from verdigris.gates.agent_shell.write_failure import StderrWatch
from verdigris.storage import open_calls, stat_cache
from verdigris.storage.log import light

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import NoReturn

BEGINNING, END = "beginning", "end"
REFUSED = 126
OUTSIDE = "import sys; sys.path += sys.argv.pop(1).split('\\n'); from verdigris.cli.main import run; run()"
_MAIN = """\
import gc, os, sys
gc.disable()
sys.path += sys.argv[1].split('\\n')
from verdigris.storage.bytecode import begin
modules = begin({name!r})
from {module} import main
main(*sys.argv[2:])
if modules is not None:
    modules.close()
sys.stderr.flush()
os._exit(0)
"""
"""To load its modules and to take them apart again is most of what such a short process does."""
REFRESH = _MAIN.format(name="shell-refresh", module="verdigris.gates.agent_shell.protection")
LOOK = _MAIN.format(name="shell-look", module="verdigris.turns.tripwire.calls")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


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
    card = _read_card(place) or _refresh_card(place)
    if card is None:
        os.write(
            2,
            b"verdigris: the command was not run, since nothing protects it. next: `tdd doctor`\n",
        )
        os._exit(REFUSED)
    place.subagent = open_calls.caller(place.private, session_in(os.environ), command)
    os._exit(_call_watched(place, card, command))


def _call_watched(place: CallPlace, card: ShellCard, command: str) -> int:
    if not card.way:
        return _call(place, card, command)
    _look(place, BEGINNING)
    try:
        return _call(place, card, command)
    finally:
        _look(place, END)


def _read_card(place: CallPlace) -> ShellCard | None:
    card = read_card(place.private, place.control, surroundings(place.control, os.environ))
    return card if card is not None and card.root == place.root else None  # of a copied repository


def _refresh_card(place: CallPlace) -> ShellCard | None:
    return _read_card(place) if _spawn(place.outside(REFRESH, place.root, place.private)) else None


def _look(place: CallPlace, moment: str) -> None:
    """Has the tripwire look, if a protected path changed: it puts back what an agent did."""
    if _is_changed(place):
        _spawn(place.outside(LOOK, place.root, moment, *place.caller))


def _is_changed(place: CallPlace) -> bool:
    """Decides as `turns.tripwire.has_changed`; also true if a message waits for this agent."""
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
    if memory.get("alive") or place.caller[1] in memory.get("messages", ()):
        return True
    claimers = memory.get("claimers")
    return claimers is not None and (claimers != [place.caller[1]] or open_calls.alive(place.private))


def _spawn(argv: list[str]) -> bool:
    child = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    return os.waitpid(child, 0)[1] == 0


def _call(place: CallPlace, card: ShellCard, command: str) -> int:
    """While the child makes its mounts, we make its record and the broker's socket.

    Memory that either of us writes to is copied: nothing is collected, and what both need is loaded before.
    """
    gc.disable()
    from verdigris.sandbox.syscalls import prctl

    sockets, linked = open_calls.make_socket_folder(place.private), _linked_worktrees(place)
    readonly = frozenset(point for point, kind in card.mounts if kind == READONLY)
    git, left = GitFolder(place.root, place.private, readonly), None
    programs = PathFolders(place.root, os.environ, {point for point, _ in card.mounts})
    go, tell = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    kept = write_failure.hold_stderr(os.environ)
    heard = StderrWatch() if card.way and kept < 0 else None
    child = os.fork()
    if child == 0:
        os.close(go[1])
        if kept >= 0:
            os.dup2(kept, 2)
        if heard is not None:
            heard.redirect()
        _run_confined(card, command, sockets, go[0], tell[1], place.subagent)
    os.close(tell[1])
    if heard is not None:
        heard.begin()
    from verdigris.gates.agent_shell.outside import Outside, open_socket

    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    record = open_calls.open_record(place.private, command, place.caller[1])
    socket = open_socket(f"{sockets}/{open_calls.BROKER}")
    if namespace := os.read(tell[0], 64):
        open_calls.note_namespace(record, namespace)
        if card.way:
            left = Namespaces(child, own_ids=card.way == "own")
        for name, ids in card.ids:
            _write(f"/proc/{child}/{name}", ids)
        os.write(go[1], b".")
    known = namespace.decode() if card.way else ""
    outside = Outside(place.outside(OUTSIDE), place.root, child, socket, place.subagent, known)
    try:
        code = outside.wait()
        if code and heard is not None:
            _explain(heard, card)
        return code
    finally:
        alone = outside.is_alone()
        if left is not None and not alone:
            _close_to_others(left, [git.common, *programs.folders], namespace.decode())
        open_calls.close_record(place.private, empty=alone)
        for line in (*git.tidy(), *programs.tidy()):
            os.write(2, f"[tdd] {line}\n".encode(errors="surrogateescape"))
        _remember_worktrees(place, linked)
        write_failure.explain_stderr(kept)


def _close_to_others(left: Namespaces, folders: list[str], namespace: str) -> None:
    """Makes folders read-only for processes that outlive the call; one that has a file there open to write
    is killed.
    """
    deadline = 3
    while not left.close_to(folders) and deadline:
        deadline -= 1
        open_calls.kill(namespace)


def _explain(heard: StderrWatch, card: ShellCard) -> None:
    if said := heard.printed_last():
        from verdigris.gates.agent_shell.write_failure import explanation

        os.write(2, explanation(said, card.mounts, card.root, os.environ))


def _linked_worktrees(place: CallPlace) -> set[str]:
    try:
        with os.scandir(f"{os.path.dirname(place.control)}/worktrees") as entries:
            return {f"{entry.inode()} {entry.name}" for entry in entries}
    except OSError:
        return set()


def _remember_worktrees(place: CallPlace, before: set[str]) -> None:
    """Remembers worktrees that the call added: an agent may write there, and in no other of the person's."""
    if added := _linked_worktrees(place) - before:
        from verdigris.gates.agent_shell.git_regions import remember_made

        remember_made(place.private, added)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def _run_confined(card: ShellCard, command: str, sockets: str, go: int, tell: int, subagent: str) -> NoReturn:
    def tell_us() -> None:
        os.write(tell, open_calls.namespace(user_namespace=card.way != "plain"))

    try:
        from verdigris.gates.agent_shell.confinement import DROPPED, blocked_sockets

        environment = {name: given for name, given in os.environ.items() if name not in DROPPED}
        if card.way:
            from verdigris.gates.agent_shell.confinement import confine, with_own_cache

            environment = with_own_cache(environment)
            seen = os.path.dirname(sockets)
            environment[BROKER] = f"{seen}/{open_calls.BROKER}"
            mounts = (*card.mounts, *blocked_sockets(os.environ))
            confine(mounts, card.way, tell_us, (sockets, seen))  # type: ignore[arg-type]  # one of the ways, as it was written
        else:
            environment[ACTOR] = "agent"
            environment[CLIENT], environment[CONTEXT] = caller_in(os.environ, subagent)
            tell_us()
        from verdigris.sandbox.syscalls import prctl

        prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
        _wait(go)
        become_shell(command, environment)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the command must not run
        said = f"verdigris: the command was not run, since it could not be confined: {error}\n"
        os.write(2, said.encode(errors="surrogateescape"))
        os._exit(REFUSED)


def _wait(go: int) -> None:
    if not os.read(go, 1):
        raise OSError("the process outside went away")
