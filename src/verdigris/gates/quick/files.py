"""Tells which files are plainly free to write or read, and whether protected paths are unchanged."""

from __future__ import annotations

import marshal
import posix

from verdigris.gates.quick.place import Doubt, below, check_way, is_folder, is_lone_file, walk
from verdigris.storage.card import regex, whole

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from verdigris.storage.card import QuickCard
    from verdigris.storage.stat_cache import Row


_WRITABLE = {
    ("red", "test"),
    ("red", "spec"),
    ("refactor", "source"),
    ("off", "test"),
    ("off", "spec"),
    ("off", "source"),
}


def writable(card: QuickCard, cwd: str, spelling: str) -> str:
    """The path below the root; Doubt where it is not for sure an agent's to write now."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or not (is_folder(found) if missing else is_lone_file(found)):
        raise Doubt
    whole = "/".join((at, *missing))
    path = below(card.root, whole)
    if path is None or not f"{at}/".startswith(f"{card.root}/"):
        raise Doubt
    if any(_within(place, whole) for place in card.guarded):
        raise Doubt
    check_way(card.root, at, missing)
    if not _is_allowed(card, path):
        raise Doubt
    return path


def readable(card: QuickCard, cwd: str, spelling: str) -> str:
    """The path, from the root where it lies below; Doubt where it may be one that is kept from agents."""
    at, missing, found = walk(_absolute(cwd, spelling))
    if found is None or missing or not (is_folder(found) or is_lone_file(found)):
        raise Doubt
    if _within(card.control, at) or at.lower() == card.control.rpartition("/")[0].lower():
        raise Doubt
    path = below(card.root, at)
    if path in card.held_out:
        raise Doubt
    return path or at


def _absolute(cwd: str, spelling: str) -> str:
    """Doubt where a client may make something else of the spelling before it opens it."""
    if not spelling.isascii() or spelling != spelling.strip() or spelling.endswith("/"):
        raise Doubt
    if spelling.startswith(("~", "file:")):
        raise Doubt
    return spelling if spelling.startswith("/") else f"{cwd}/{spelling}"


def _within(place: str, path: str) -> bool:
    """In any case, literally: where names fold they may be the same."""
    return f"{path}/".lower().startswith(f"{place}/".lower())


def _is_allowed(card: QuickCard, path: str) -> bool:
    cls = next((cls for cls, rule in card.rules if regex(rule).fullmatch(path)), "other")
    if cls == "other":
        return card.phase in {"red", "off"} or path.rpartition("/")[2] not in card.mixed
    if (card.phase, cls) == ("green", "source"):
        if path.endswith(card.mixed_source):
            return False
        return not card.suspended and card.targets is not None and bool(regex(card.targets).fullmatch(path))
    return (card.phase, cls) in _WRITABLE


VERSION = 1
"""Of `storage.stat_cache`, as it is understood here."""
_TYPE, _FOLDER = 0o170000, 0o040000


def check(private: str, root: str, state: int) -> None:
    """Doubt where one looks otherwise than when it was known to be right, or the state was another then."""
    here = posix.open(".", posix.O_RDONLY)
    try:
        version, seq, top, rows = marshal.loads(whole(f"{private}/stamps"))  # noqa: S302 - our own, as the card
        if (version, seq, top.decode("utf-8")) != (VERSION, state, root):
            raise Doubt
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
            raise Doubt
        if size != (now.st_mtime_ns if mode & _TYPE == _FOLDER else now.st_size):
            raise Doubt


def check_nobody_lives(private: str) -> None:
    """Doubt where a process of an earlier shell call may still write."""
    if is_left_over(private):
        from verdigris.storage.open_calls import alive, forget_ended

        if alive(private):
            raise Doubt
        forget_ended(private)


def is_left_over(private: str) -> bool:
    """Whether a shell call is open, or has left its record behind."""
    control, _, name = private.rpartition("/worktrees/")
    try:
        return bool(posix.listdir(f"{control}/locks/{name}.calls"))
    except FileNotFoundError:
        return False
