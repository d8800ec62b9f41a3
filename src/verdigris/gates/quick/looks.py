"""Whether all protected paths look as they did, thousands of them: `storage.stat_cache` for an lstat each.

Everything here is for speed: no `os`, names that the system looks up from the root on.
"""

from __future__ import annotations

import marshal
import posix

from verdigris.gates.quick.place import Doubt
from verdigris.storage.card import whole

TYPE_CHECKING = False  # as in storage/log/format.py
if TYPE_CHECKING:
    from verdigris.storage.stat_cache import Row

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
    try:
        control, _, name = private.rpartition("/worktrees/")
        left = posix.listdir(f"{control}/locks/{name}.calls")
    except FileNotFoundError:
        return
    if left:
        from verdigris.storage.opencall import alive, forget_ended

        if alive(private):
            raise Doubt
        forget_ended(private)
