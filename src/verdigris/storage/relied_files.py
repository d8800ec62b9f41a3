"""Guards the files that the gate relies on while a client's file tool writes and an agent's process lives.

Such a process can put a link where the tool is about to write, after the gate has decided. So the files are
copied before the call. Whoever comes next compares them, puts back what changed, and keeps what was written.
The records have names that no agent can know, in a folder that no call sees.
"""

# `os` calls on `str` instead of pathlib: a shell call loads this, and a millisecond counts.
# ruff: noqa: PTH101, PTH103, PTH104, PTH108, PTH113, PTH115, PTH116, PTH119, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import marshal
import os
import stat
import time
from contextlib import suppress

from verdigris.core.confinement.protection import is_writable
from verdigris.storage.open_calls import EDITS, folder_of

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Entry = tuple[str, int, bytes]
    """`file`, `link`, `folder` or `none`; the mode; the content, the target, the names."""
    Record = tuple[str, float, dict[str, Entry], dict[str, Entry], tuple[str, int], Entry, dict[str, bool]]
    """The worktree; when; the files; the derived files; the log's copy and its size; the head; the map."""


LOG, HEAD = "events.jsonl", "head"
DERIVED = ("card", "shell.card", "stamps", "call.json")
"""Made from log and tree: one that changed is removed, and made again."""
LARGEST = 1 << 20
MOST = 500
_GUARD, _LOG_COPY, _NEWS, _KEPT = "guard.", "log.", "news", "undone"
_CHUNK = 1 << 20
_NONE: Entry = ("none", 0, b"")


def guard(private: str, root: str, relied: Iterable[str], places: Mapping[str, bool]) -> None:
    """`places`: the map by which a file tool writes outside the worktree."""
    folder, control = folder_of(private), os.path.dirname(os.path.dirname(private))
    found: dict[str, Entry] = {}
    for path in relied:
        _look_below(os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path), found)
    derived = {name: _look(f"{private}/{name}") for name in DERIVED}
    log, head = _copy_log(folder, control), _look(f"{control}/{HEAD}")
    record: Record = (root, time.time(), found, derived, log, head, dict(places))
    fresh = f"{folder}/new.{os.urandom(8).hex()}"
    with open(fresh, "wb") as file:
        file.write(marshal.dumps(record))
    os.rename(fresh, f"{folder}/{_GUARD}{os.urandom(8).hex()}")


def compare(private: str, *, ends: bool) -> None:
    """Puts back what changed since each guard was made; `take_news` says what.

    `ends`: the client's next hook call shows that the tool has written. Until then only the log is looked at,
    so that a person's own changes are not taken for the tool's any longer than needed.
    """
    folder = folder_of(private)
    said: list[str] = []
    for name in sorted(_names(folder, _GUARD)):
        with suppress(FileNotFoundError):
            with open(f"{folder}/{name}", "rb") as file:
                record = marshal.loads(file.read())  # noqa: S302 - our own, where no agent looks
            said += _undo(private, record, ends=ends)
            if ends:
                os.unlink(f"{folder}/{name}")
    if said:
        with open(f"{folder}/{_NEWS}", "a", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in dict.fromkeys(said))


def is_guarded(private: str) -> bool:
    return bool(_names(folder_of(private), _GUARD))


def take_news(private: str) -> list[str]:
    """What was put back since the last question, a line each."""
    news = f"{folder_of(private)}/{_NEWS}"
    try:
        with open(news, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
        os.unlink(news)
    except FileNotFoundError:
        return []
    return lines


def _undo(private: str, record: Record, *, ends: bool) -> Iterator[str]:
    root, since, found, derived, log, head, places = record
    control = os.path.dirname(os.path.dirname(private))
    yield from _undo_log(control, log, head)
    if not ends:
        return
    for path, entry in _changes(found):
        kept = _keep(control, path)
        _put(path, entry)
        yield f"{path} was put back: it changed while a file tool wrote{kept}"
    for name, entry in derived.items():
        if _look(f"{private}/{name}") != entry:
            with suppress(OSError):
                os.unlink(f"{private}/{name}")
    yield from _undo_written(private, root, since, {**places, **dict.fromkeys(found, True)})


def _changes(found: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    """What is not as it was, with what was there."""
    for path, entry in found.items():
        now = _look(path)
        if now[0] == entry[0] == "folder":
            for name in set(now[2].split(b"\0")) - set(entry[2].split(b"\0")):
                yield f"{path}/{os.fsdecode(name)}", _NONE
        elif now != entry:
            yield path, entry


def _undo_log(control: str, log: tuple[str, int], head: Entry) -> Iterator[str]:
    """The log only grows: its beginning is as it was."""
    copy, size = log
    path = f"{control}/{LOG}"
    if not copy or _begins_with(path, copy, size):
        if os.stat(path).st_size == size and _look(f"{control}/{HEAD}") != head:
            _put(f"{control}/{HEAD}", head)
        return
    kept = _keep(control, path)
    with open(copy, "rb") as source, open(path, "wb") as file:
        while data := source.read(_CHUNK):
            file.write(data)
    _put(f"{control}/{HEAD}", head)
    yield f"{path} was put back: it changed while a file tool wrote{kept}"


def _undo_written(private: str, root: str, since: float, places: Mapping[str, bool]) -> Iterator[str]:
    """Takes away what was written through a link that was put there after the gate had decided."""
    common = os.path.dirname(os.path.dirname(os.path.dirname(private)))
    for name in _names(f"{private}/{EDITS}", ""):
        with suppress(OSError):
            with open(f"{private}/{EDITS}/{name}", "rb") as file:
                path = f"{root}/{os.fsdecode(file.read()).partition(chr(0))[2]}"
            real = os.path.realpath(path)
            if real == path or real.startswith(f"{common}/") or is_writable(real, places):
                continue
            if os.path.isfile(real) and os.stat(real).st_mtime >= since:
                kept = _keep(os.path.dirname(os.path.dirname(private)), real)
                os.unlink(real)
                yield f"{real} was removed: a file tool wrote it through a link at {path}{kept}"


def _copy_log(folder: str, control: str) -> tuple[str, int]:
    """Keeps a copy of the log, and adds what is new to it."""
    log, folder = f"{control}/{LOG}", f"{folder}.copies"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    known = [f"{folder}/{name}" for name in _names(folder, _LOG_COPY)]
    copy = known[0] if len(known) == 1 else ""
    for old in known if not copy or not _begins_with(log, copy, os.stat(copy).st_size) else ():
        os.unlink(old)
        copy = ""
    copy = copy or f"{folder}/{_LOG_COPY}{os.urandom(8).hex()}"
    with open(log, "rb") as source, open(copy, "ab") as file:
        source.seek(file.tell())
        while data := source.read(_CHUNK):
            file.write(data)
        return copy, file.tell()


def _begins_with(path: str, beginning: str, size: int) -> bool:
    try:
        with open(path, "rb") as one, open(beginning, "rb") as other:
            left = size
            while left > 0:
                data = other.read(min(_CHUNK, left))
                if not data or one.read(len(data)) != data:
                    return False
                left -= len(data)
    except OSError:
        return False
    return True


def _look_below(path: str, found: dict[str, Entry]) -> None:
    waiting = [path]
    while waiting and len(found) < MOST:
        at = waiting.pop()
        found[at] = entry = _look(at)
        if entry[0] == "folder":
            waiting += [f"{at}/{os.fsdecode(name)}" for name in entry[2].split(b"\0") if name]


def _look(path: str) -> Entry:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return "link", 0, os.fsencode(os.readlink(path))
        if stat.S_ISDIR(mode):
            return "folder", stat.S_IMODE(mode), b"\0".join(sorted(map(os.fsencode, os.listdir(path))))
        if not stat.S_ISREG(mode):
            return _NONE
        with open(path, "rb") as file:
            return "file", stat.S_IMODE(mode), file.read(LARGEST)
    except OSError:
        return _NONE


def _keep(control: str, path: str) -> str:
    """Keeps what lies there now; returns the end of a sentence about it."""
    kind, _, content = _look(path)
    if kind != "file" or not content:
        return ""
    os.makedirs(f"{control}/{_KEPT}", mode=0o700, exist_ok=True)
    kept = f"{control}/{_KEPT}/{time.time_ns()}.{os.path.basename(path)}"
    with open(kept, "wb") as file:
        file.write(content)
    return f" (what was written is kept: {kept})"


def _put(path: str, entry: Entry) -> None:
    """In place where a file lies: a rename would detach the mounts of open calls."""
    kind, mode, content = entry
    now = _look(path)
    with suppress(OSError):
        if now[0] != kind or kind == "link":
            _remove(path)
        if kind == "folder":
            os.makedirs(path, exist_ok=True)
        elif kind == "link":
            os.symlink(content, path)
        elif kind == "file" and len(content) < LARGEST:
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, mode)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except FileNotFoundError:
        return


def _names(folder: str, beginning: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.startswith(beginning)]
    except OSError:
        return []
