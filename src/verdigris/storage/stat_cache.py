"""Remembers the stat of protected paths, so that a check costs an lstat each.

The file `stamps` in a worktree's private folder is
`marshal((VERSION, state_seq, root, [(path, ctime_ns, inode, size, mode), …]))`, all paths as bytes, relative
to `root` or absolute. A folder has its mtime in place of a size, so that what comes or goes in it shows; what
does not exist has four zeros. The gate's quick entry reads it too: only `marshal` and `os` are imported here.
"""

from __future__ import annotations

import marshal
import os

FILE = "stamps"
VERSION = 1
ABSENT = (0, 0, 0, 0)
_TYPE = 0o170000
_FOLDER = 0o040000

Row = tuple[bytes, int, int, int, int]
Stamps = tuple[int, bytes, list[Row]]
"""`state_seq`, root, rows."""


def stamp(root: bytes, path: bytes) -> Row:
    """The row of a path as it is now."""
    try:
        state = os.lstat(os.path.join(root, path))
    except OSError:
        return (path, *ABSENT)
    return row(path, state)


def row(path: bytes, state: os.stat_result) -> Row:
    size = state.st_mtime_ns if state.st_mode & _TYPE == _FOLDER else state.st_size
    return (path, state.st_ctime_ns, state.st_ino, size, state.st_mode)


def write(private: str | os.PathLike[str], state_seq: int, root: bytes, rows: list[Row]) -> None:
    """Writes the rows. `state_seq`: the last record that changed the state, which decides what is protected.

    A write within the same tick of the clock as a row's ctime would not show. So the caller takes the rows,
    waits until the tick is over, and only then compares the bytes.
    """
    place = os.path.join(os.fspath(private), FILE)
    with open(f"{place}.new", "wb") as file:
        file.write(marshal.dumps((VERSION, state_seq, root, rows)))
    os.replace(f"{place}.new", place)


def read(private: str | os.PathLike[str], root: str | os.PathLike[str] = "") -> Stamps | None:
    """Reads the stamps; None if there are none that we understand: then everything must be compared.

    `root`: they must be of it, unless it is empty; a copied or moved repository has those of another.
    """
    place = os.path.join(os.fspath(private), FILE)
    try:
        with open(place, "rb") as file:
            found = marshal.loads(file.read())  # noqa: S302 - our own file, in a folder that no agent may write
        version, state_seq, top, rows = found
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return (state_seq, top, rows) if version == VERSION and top == (os.fsencode(root) or top) else None


def renumber(private: str | os.PathLike[str], old: int, new: int) -> None:
    """Sets a new `state_seq`: the records after `old` protect the same paths, so the rows stay valid."""
    known = read(private)
    if known is not None and known[0] == old:
        write(private, new, *known[1:])


def forget(private: str | os.PathLike[str]) -> None:
    """Removes the stamps, so that everything is checked again."""
    try:
        os.unlink(os.path.join(os.fspath(private), FILE))
    except FileNotFoundError:
        return


def differs(root: bytes, rows: list[Row]) -> list[bytes]:
    """The paths whose stat differs from their row."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return [path for path, *_ in rows]
    try:
        return _find_differing(top, rows)
    finally:
        os.close(top)


def _find_differing(top: int, rows: list[Row]) -> list[bytes]:
    # Relative to a descriptor: otherwise the kernel resolves the path of the top folder thousands of times.
    lstat, found = os.lstat, []
    for path, ctime, inode, size, mode in rows:
        try:
            now = lstat(path or b".", dir_fd=top)
        except OSError:
            if ctime:
                found.append(path)
            continue
        same = now.st_ctime_ns == ctime and now.st_ino == inode and now.st_mode == mode
        if not same or (now.st_size != size and (mode & _TYPE != _FOLDER or now.st_mtime_ns != size)):
            found.append(path)
    return found
