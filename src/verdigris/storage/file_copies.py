"""Copies of small files and folders that must be as they were, and how they are put back."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from verdigris.storage.calls.git_folders import remove_any

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Entry = tuple[str, int, bytes]
    """`file`, `link`, `folder` or `none`; the mode; the content, the target, the names."""


LARGEST = 1 << 20
MOST = 500
NONE: Entry = ("none", 0, b"")
_KEPT = "undone"
_KEPT_AS = " (what was written is kept: {})"


def changes(found: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    """What is not as it was, with what was there."""
    for path, entry in found.items():
        now = look(path)
        if now[0] == entry[0] == "folder":
            for name in set(now[2].split(b"\0")) - set(entry[2].split(b"\0")):
                yield f"{path}/{os.fsdecode(name)}", NONE
        elif now != entry:
            yield path, entry


def look_below(path: str, found: dict[str, Entry]) -> None:
    waiting = [path]
    while waiting and len(found) < MOST:
        at = waiting.pop()
        found[at] = entry = look(at)
        if entry[0] == "folder":
            waiting += [f"{at}/{os.fsdecode(name)}" for name in entry[2].split(b"\0") if name]


def look(path: str) -> Entry:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return "link", 0, os.fsencode(os.readlink(path))
        if stat.S_ISDIR(mode):
            return "folder", stat.S_IMODE(mode), b"\0".join(sorted(map(os.fsencode, os.listdir(path))))
        if not stat.S_ISREG(mode):
            return NONE
        # A pipe or a link that is put there meanwhile must not stop or mislead us.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return "file", stat.S_IMODE(mode), file.read(LARGEST)
    except OSError:
        return NONE


def keep(control: str, path: str) -> str:
    """Keeps what lies there now; returns the end of a sentence about it."""
    kind, _, content = look(path)
    if kind != "file" or not content:
        return ""
    kept = _place(control, path)
    with open(kept, "wb") as file:
        file.write(content)
    return _KEPT_AS.format(kept)


def take_away(control: str, path: str) -> str:
    """Moves a whole file there: it may be a person's, to which a link was led; returns as `keep` does."""
    import shutil

    return _KEPT_AS.format(shutil.move(path, _place(control, path)))


def _place(control: str, path: str) -> str:
    os.makedirs(f"{control}/{_KEPT}", mode=0o700, exist_ok=True)
    return f"{control}/{_KEPT}/{time.time_ns()}.{os.path.basename(path)}"


def put(path: str, entry: Entry) -> None:
    """In place where a file lies: a rename would detach the mounts of open calls."""
    kind, mode, content = entry
    now = look(path)
    with suppress(OSError):
        if now[0] != kind or kind == "link":
            remove_any(path)
        if kind == "folder":
            os.makedirs(path, exist_ok=True)
        elif kind == "link":
            os.symlink(content, path)
        elif kind == "file" and len(content) < LARGEST:
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, mode)
