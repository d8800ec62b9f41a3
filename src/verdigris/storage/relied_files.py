"""Guards the files that the gate relies on while a client's file tool writes and an agent's process lives.

Such a process can put a link where the tool is about to write, after the gate has decided. So the files are
copied before the call. Whoever comes next compares them, puts back what changed, and keeps what was written.
The records have names that no agent can know, in a folder that no call sees.
"""

from __future__ import annotations

import marshal
import os
import time
from collections import deque
from contextlib import suppress

from verdigris.core.confinement.protection import is_writable
from verdigris.sandbox.notes import names_in
from verdigris.storage.calls.call_records import folder_of
from verdigris.storage.calls.callers import LONGEST_EDIT
from verdigris.storage.file_copies import changes, keep, look, look_below, put, take_away

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.storage.file_copies import Entry

    Record = tuple[
        str, str, dict[str, str], dict[str, Entry], dict[str, Entry], tuple[str, int], Entry, dict[str, bool]
    ]
    """The agent; its call; the paths it may write, with where they led; the files; the derived files; the
    log's copy and its size; the head; the map."""


LOG, HEAD = "events.jsonl", "head"
DERIVED = ("card", "shell.card", "stamps", "call.json")
"""Made from log and tree: one that changed is removed, and made again."""
_GUARD, _LOG_COPY, _NEWS = "guard.", "log.", "news"
_CHUNK = 1 << 20


def guard(
    private: str,
    call: tuple[str, str],
    targets: Iterable[str],
    relied: Iterable[str],
    places: Mapping[str, bool],
) -> None:
    """`call`: the agent, and what tells this call of it from others; `targets`: what the tool may write;
    `places`: the map by which a file tool writes outside the worktree.
    """
    folder, control = folder_of(private), os.path.dirname(os.path.dirname(private))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    files: dict[str, Entry] = {}
    for path in relied:
        look_below(os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path), files)
    derived = {name: look(f"{private}/{name}") for name in DERIVED}
    log, head = _copy_log(folder, control), look(f"{control}/{HEAD}")
    led = {path: os.path.realpath(path) for path in targets}
    record: Record = (*call, led, files, derived, log, head, dict(places))
    fresh = f"{folder}/new.{os.urandom(8).hex()}"
    with open(fresh, "wb") as file:
        file.write(marshal.dumps(record))
    os.rename(fresh, f"{folder}/{_GUARD}{os.urandom(8).hex()}")


def compare(private: str) -> None:
    """Puts back what changed since each guard was made; `take_news` says what."""
    said: list[str] = []
    for name in _guards(private):
        with suppress(FileNotFoundError):  # another hook call has ended it
            said += _undo(private, name, _read(name))
    if said:
        with open(f"{folder_of(private)}/{_NEWS}", "a", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in dict.fromkeys(said))


def compare_log(private: str) -> None:
    """Before a verb reads it. The files are looked at by the hook that shows the tool's end."""
    for name in _guards(private):
        if (record := _read(name)) is not None:
            deque(_undo_log(os.path.dirname(os.path.dirname(private)), *record[5:7]), maxlen=0)


def end_guards(private: str, agent: str = "", call: str = "") -> None:
    """Ends the guard of a call that is over; all of the agent's where none is that call's, or no call is
    named; all that are left where no agent is named, and those that are too old.
    """
    known = {name: record for name in _guards(private) if (record := _read(name)) is not None}
    mine = {name for name, record in known.items() if agent in {"", record[0]}}
    ended = {name for name in mine if known[name][1] == call} or mine
    old = time.time() - LONGEST_EDIT
    for name in _guards(private):
        with suppress(FileNotFoundError):
            if name in ended or name not in known or os.stat(name).st_mtime < old:
                os.unlink(name)


def is_guarded(private: str, since: float = 0.0) -> bool:
    """`since`: by a guard that was made later than that."""
    for name in _guards(private):
        with suppress(FileNotFoundError):
            if os.stat(name).st_mtime >= since:
                return True
    return False


def _guards(private: str) -> list[str]:
    folder = folder_of(private)
    return [f"{folder}/{name}" for name in sorted(names_in(folder)) if name.startswith(_GUARD)]


def _read(name: str) -> Record | None:
    try:
        with open(name, "rb") as file:
            return marshal.loads(file.read())  # type: ignore[no-any-return]  # noqa: S302 - our own
    except (FileNotFoundError, ValueError, EOFError, TypeError):
        return None


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


def _undo(private: str, name: str, record: Record | None) -> Iterator[str]:
    if record is None:
        return
    _, _, led, files, derived, log, head, places = record
    control, since = os.path.dirname(os.path.dirname(private)), os.stat(name).st_mtime
    yield from _undo_log(control, log, head)
    for path, entry in changes(files):
        kept = keep(control, path)
        put(path, entry)
        yield f"{path} was put back: it changed while a file tool wrote{kept}"
    for file, entry in derived.items():
        if look(f"{private}/{file}") != entry:
            with suppress(OSError):
                os.unlink(f"{private}/{file}")
    for path, real in _led_astray(led, {**places, **dict.fromkeys(files, True)}):
        # Of the git folder only what is relied on is looked at: git itself writes the rest.
        if real.startswith(f"{os.path.dirname(control)}/") or os.stat(real).st_mtime < since:
            continue
        kept = take_away(control, real)
        yield f"{real} was removed: a file tool wrote it through a link at {path}{kept}"


def _undo_log(control: str, log: tuple[str, int], head: Entry) -> Iterator[str]:
    """The log only grows: its beginning is as it was."""
    copy, size = log
    path = f"{control}/{LOG}"
    if not copy or _begins_with(path, copy, size):
        if os.stat(path).st_size == size and look(f"{control}/{HEAD}") != head:
            put(f"{control}/{HEAD}", head)
        return
    kept = keep(control, path)
    with open(copy, "rb") as source, open(path, "wb") as file:
        while data := source.read(_CHUNK):
            file.write(data)
    put(f"{control}/{HEAD}", head)
    yield f"{path} was put back: it changed while a file tool wrote{kept}"


def _led_astray(led: Mapping[str, str], places: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Paths that lead to a file elsewhere since the gate decided, where nobody may write."""
    for path, before in led.items():
        real = os.path.realpath(path)
        if real != before and os.path.isfile(real) and not is_writable(real, places):
            yield path, real


def _copy_log(folder: str, control: str) -> tuple[str, int]:
    """Keeps a copy of the log, and adds what is new to it."""
    log, folder = f"{control}/{LOG}", f"{folder}.copies"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    known = [f"{folder}/{name}" for name in names_in(folder) if name.startswith(_LOG_COPY)]
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
