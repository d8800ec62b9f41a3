"""Tells which calls are plainly allowed: their files are free, and protected paths are unchanged."""

from __future__ import annotations

import fcntl
import marshal
import posix
from sys import modules

from verdigris.gates.quick.place import NotPlain, check_way, find, is_folder, is_lone_file, path_below, walk
from verdigris.storage.log import light
from verdigris.storage.quick_patterns import matches
from verdigris.storage.quick_state import look, read, refs, whole

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from verdigris.gates.quick.place import WorktreePlace
    from verdigris.storage.quick_state import QuickCard
    from verdigris.storage.stat_cache import Row


_WRITABLE = {
    ("red", "test"),
    ("red", "spec"),
    ("refactor", "source"),
    ("off", "test"),
    ("off", "spec"),
    ("off", "source"),
}
_LONGEST_NOTE = 1 << 16


def writable(card: QuickCard, cwd: str, spelling: str, context: str = "") -> str:
    """The path below the root; raises NotPlain unless an agent may surely write it now."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or not (is_folder(found) if missing else is_lone_file(found)):
        raise NotPlain
    whole = "/".join((at, *missing))
    path = path_below(card.root, whole)
    if path is None or not f"{at}/".startswith(f"{card.root}/"):
        raise NotPlain
    if any(_is_within(place, whole) for place in card.guarded):
        raise NotPlain
    check_way(card.root, at, missing)
    if not _is_allowed(card, path, context):
        raise NotPlain
    return path


def readable(card: QuickCard, cwd: str, spelling: str) -> str:
    """The path, relative to the root if it lies below; raises NotPlain if agents may not be shown it."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or missing or not (is_folder(found) or is_lone_file(found)):
        raise NotPlain
    if _is_within(card.control, at) or at.lower() == card.control.rpartition("/")[0].lower():
        raise NotPlain
    path = path_below(card.root, at)
    if path in card.held_out:
        raise NotPlain
    return path or at


def _absolute(cwd: str, spelling: str) -> str:
    """NotPlain where a client may make something else of the spelling before it opens it."""
    if not spelling.isascii() or spelling != spelling.strip() or spelling.endswith("/"):
        raise NotPlain
    if spelling.startswith(("~", "file:")):
        raise NotPlain
    return spelling if spelling.startswith("/") else f"{cwd}/{spelling}"


def _is_within(place: str, path: str) -> bool:
    """Compares without regard to case: where names fold they may be the same."""
    return f"{path}/".lower().startswith(f"{place}/".lower())


def _is_allowed(card: QuickCard, path: str, context: str = "") -> bool:
    cls = _class_of(card, path)
    if cls == "other":
        name = path.rpartition("/")[2]
        return name not in card.instructions and (card.phase in {"red", "off"} or name not in card.mixed)
    if (card.phase, cls) == ("green", "source"):
        if path.endswith(card.mixed_source) or card.claimers not in ([], [context]):
            return False
        return not card.suspended and card.targets is not None and matches(card.targets, path)
    return (card.phase, cls) in _WRITABLE


def _class_of(card: QuickCard, path: str) -> str:
    for cls, pattern in card.rules:
        if pattern is None:
            raise NotPlain
        if matches(pattern, path):
            return cls
    return "other"


VERSION = 1
"""Of `storage.stat_cache`, as it is understood here."""
_TYPE, _FOLDER = 0o170000, 0o040000
FINISHED = (b"+", b"!")
"""Of `storage.calls.call_records`, likewise."""


def check(private: str, root: str, state: int) -> None:
    """Raises NotPlain if a stamp differs from when the tree was right, or the state was another."""
    here = posix.open(".", posix.O_RDONLY)
    try:
        version, seq, top, rows = marshal.loads(whole(f"{private}/stamps"))  # noqa: S302 - our own, as the card
        if (version, seq, top.decode("utf-8")) != (VERSION, state, root):
            raise NotPlain
        posix.chdir(root)
        _compare(rows)
    finally:
        posix.fchdir(here)
        posix.close(here)


def _compare(rows: list[Row]) -> None:
    lstat = posix.lstat
    for path, ctime, inode, size, mode in rows:
        try:
            now = lstat(path or b".")
        except OSError:
            if ctime:
                raise
            continue
        if now.st_ctime_ns != ctime or now.st_ino != inode or now.st_mode != mode:
            raise NotPlain
        if size != (now.st_mtime_ns if mode & _TYPE == _FOLDER else now.st_size):
            raise NotPlain


def check_nobody_lives(private: str) -> bool:
    """NotPlain where a process of an earlier shell call may still write; whether one has left its record."""
    if left := left_over(private):
        from verdigris.storage.calls.open_calls import alive

        if not all(map(str.isdigit, left)) or alive(private):
            raise NotPlain
    return bool(left)


def check_finished(private: str) -> None:
    """NotPlain where a shell call was killed before it had done what its record promises."""
    for name in filter(str.isdigit, left_over(private)):
        try:
            fd = posix.open(f"{_folder(private)}/{name}", posix.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if posix.read(fd, 1) not in FINISHED:
                raise NotPlain
        except BlockingIOError:
            continue  # it is open
        finally:
            posix.close(fd)


def left_over(private: str) -> list[str]:
    """The records of shell calls that are open, or have left theirs behind, and what guards their files."""
    try:
        return posix.listdir(_folder(private))
    except FileNotFoundError:
        return []


def _folder(private: str) -> str:
    control, _, name = private.rpartition("/worktrees/")
    return f"{control}/locks/{name}.calls"


SIGNS = (b"Read-only file system", b"Device or resource busy", b"no new privileges")
"""What `gates.calls.SIGNS` explains to the model."""
LONGEST = 4096


class AllowedCall:
    """A call that is allowed while `card` holds, and what to record of it."""

    __slots__ = ("card", "data", "envelope", "kind")

    def __init__(self, card: QuickCard, envelope: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
        self.card = card
        self.envelope = envelope
        self.kind = kind
        """Empty where nothing is recorded."""
        self.data = data

    def record(self) -> bool:
        card = self.card
        if not self.kind:
            head = light.head(card.control)
            return head is not None and light.stamp(head) == card.stamp
        return light.append(card.control, card.stamp, self.kind, self.envelope, self.data)


def quick_module(name: str) -> ModuleType:
    """The module with what the quick entry knows of an agent; the slow entry decides the calls of others."""
    if not name.isidentifier():
        raise NotPlain
    place = f"verdigris.gates.clients.{name}.quick"
    __import__(place)
    return modules[place]


def plainly_allowed(raw: bytes, words: ModuleType) -> bool:
    return judge_call(raw, words).record()


def judge_call(raw: bytes, words: ModuleType) -> AllowedCall:
    """Any exception is a doubt."""
    payload = light.loads(raw.decode("utf-8"))
    place = find(start(payload, words))
    card = read(place.private)
    if card is None or (card.root, card.control) != (place.root, f"{place.common}/tdd"):
        raise NotPlain
    _check_surroundings(place, card)
    check_finished(place.private)
    if home(words) != card.home:
        raise NotPlain
    envelope = _envelope(payload, card, words)
    moment, tool, manner, given = words.read_plainly(payload)
    if moment == "after":
        _after(raw, card, place, envelope["actor"]["context"])
        return AllowedCall(card, envelope, "", {})
    cwd = payload["cwd"]
    match manner:
        case "writes":
            check_nobody_lives(place.private)
            context = envelope["actor"]["context"]
            path = writable(card, cwd, _text(given), context)
            _note_edit(place, context, path)
            return AllowedCall(card, envelope, "edit", {"paths": [path]})
        case "reads":
            paths = [readable(card, cwd, _text(given))]
            return AllowedCall(card, envelope, "call", {"tool": tool, "paths": paths})
        case "shell":
            if not card.prefix or words.prefix_now(_variable, _settings_of(place)) != card.prefix:
                raise NotPlain
            _before_shell(given, words.caller_of(payload), card, place)
            return AllowedCall(card, envelope, "", {})
    raise NotPlain


def start(payload: dict[str, Any], words: ModuleType) -> str:
    """The folder of the client's project, as `Client.start` gives it."""
    return _text(_variable(words.PROJECT) or payload["cwd"])


def _variable(name: str) -> str | None:
    found = posix.environ.get(name.encode("ascii"))
    return None if found is None else found.decode("utf-8")


def home(words: ModuleType) -> str:
    """What in the environment says which places are guarded."""
    return repr([words.NAME, *(posix.environ.get(name.encode("ascii")) for name in words.HOMES)])


def _after(raw: bytes, card: QuickCard, place: WorktreePlace, context: str) -> None:
    """Decides as `turns.tripwire.after_call`: all looks as it did when it was last known to be right."""
    if any(sign in raw for sign in SIGNS):
        raise NotPlain
    _check_nothing_changed(card, place, context)
    if check_nobody_lives(place.private):
        from verdigris.storage.calls.open_calls import forget_ended

        forget_ended(place.private)
    _end_edit(place, context)


def _before_shell(command: object, caller: tuple[str, str], card: QuickCard, place: WorktreePlace) -> None:
    """Decides as the gate does: commands are confined, and a look before the call would see nothing."""
    if not isinstance(command, str):
        raise NotPlain
    session, agent = caller
    _check_nothing_changed(card, place, agent or session)
    if left_over(place.private) or _others_edit(place, agent or session):
        raise NotPlain
    _remember_caller(place, f"{_text(session, least=0)}\0{command}", agent)


def _settings_of(place: WorktreePlace) -> Callable[[str], Any]:
    """Reads a file of settings that the client keeps where the main worktree is, as JSON."""
    top = place.common[: -len("/.git")] if place.common.endswith("/.git") else place.root
    return lambda name: light.loads(light.read(f"{top}/{name}").decode("utf-8"))


def _remember_caller(place: WorktreePlace, call: str, agent: str) -> None:
    """Writes what `storage.callers.note_caller` writes."""
    folder = f"{place.private}/callers"
    try:
        if not agent and not posix.listdir(folder):
            return
        posix.mkdir(folder, 0o700)
    except FileNotFoundError:
        return
    except FileExistsError:
        pass
    record = f"{folder}/{light.digest(call.encode('utf-8', 'surrogatepass'))}"
    fd = posix.open(record, posix.O_RDWR | posix.O_CREAT | posix.O_APPEND, 0o666)
    try:
        if posix.read(fd, _LONGEST_NOTE).endswith(b"!\n"):
            posix.ftruncate(fd, 0)
        posix.write(fd, f"{_text(agent, least=0)}\n".encode("utf-8", "surrogateescape"))
    finally:
        posix.close(fd)


def _note_edit(place: WorktreePlace, context: str, path: str) -> None:
    """Writes what `storage.callers.note_edit` writes."""
    record, how = _edit_of(place, context), posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC
    try:
        fd = posix.open(record, how, 0o666)
    except FileNotFoundError:
        posix.mkdir(f"{place.private}/edits", 0o700)
        fd = posix.open(record, how, 0o666)
    try:
        posix.write(fd, f"{context}\0{path}".encode("utf-8", "surrogateescape"))
    finally:
        posix.close(fd)


def _end_edit(place: WorktreePlace, context: str) -> None:
    try:
        posix.unlink(_edit_of(place, context))
    except FileNotFoundError:
        return


def _others_edit(place: WorktreePlace, context: str) -> bool:
    """Whether another agent's file tool may be about to write: the command must not lead it astray."""
    own = _edit_of(place, context).rpartition("/")[2]
    try:
        return any(name != own for name in posix.listdir(f"{place.private}/edits"))
    except FileNotFoundError:
        return False


def _edit_of(place: WorktreePlace, context: str) -> str:
    return f"{place.private}/edits/{light.digest(context.encode('utf-8', 'surrogatepass'))}"


def _check_nothing_changed(card: QuickCard, place: WorktreePlace, context: str) -> None:
    """Checks that no stamp of a protected path changed, and that no message waits for this agent."""
    head = light.head(card.control)
    memory = light.loads(light.read(f"{place.private}/call.json").decode("utf-8"))
    if head is None or any(memory.get(name) for name in ("alive", "moved", "undone")):
        raise NotPlain
    if context in memory.get("messages", ()) or memory.get("claimers", [context]) != [context]:
        raise NotPlain
    check(place.private, place.root, light.changed_at(head))


def _check_surroundings(place: WorktreePlace, card: QuickCard) -> None:
    """Checks that nothing happened which the kernel would take in first, and that nothing is under way."""
    if refs(place.git_dir, place.common) != card.refs or look(f"{place.common}/config") != card.git:
        raise NotPlain
    if card.config is not None and _digest(f"{place.root}/tdd.yaml") not in {card.config, None}:
        raise NotPlain
    try:
        lock = posix.open(
            f"{place.common}/tdd/locks/{place.private.rpartition('/')[2]}.operation", posix.O_RDONLY
        )
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        posix.close(lock)


def _digest(path: str) -> str | None:
    try:
        return light.digest(light.read(path))
    except FileNotFoundError:
        return None


def _envelope(payload: dict[str, Any], card: QuickCard, words: ModuleType) -> dict[str, Any]:
    head = card.refs[0].decode("ascii").rstrip("\n")
    branch = head.removeprefix("ref: ").removeprefix("refs/heads/") if head.startswith("ref: ") else None
    session, agent = words.caller_of(payload)
    context = _text(agent or session, least=0)
    actor = {"role": "agent", "context": context, "client": words.NAME}
    return {"worktree": card.worktree, "branch": branch, "actor": actor, "v": card.schema}


def _text(value: object, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= LONGEST:
        raise NotPlain
    return value
