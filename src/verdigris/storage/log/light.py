"""Appends one record that changes no state, with almost no imports, for hooks.

It handles the plain case only. In any other (another writer, a torn tail, a repair, a full disk) it changes
nothing and leaves the work to `log.py`. `os` is not imported: that takes longer than all of this.
"""

from __future__ import annotations

import fcntl
import posix
import sys
import time

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    Json: TypeAlias = str | int | list["Json"] | Mapping[str, "Json"] | None

try:
    from _json import encode_basestring_ascii, make_scanner
except ImportError:  # an interpreter without the accelerator
    from json.encoder import encode_basestring_ascii
    from json.scanner import make_scanner
try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256  # type: ignore[import-not-found]  # private, so typeshed has it not
except ImportError:
    from hashlib import sha256

MOST_IN_A_ROW = 200
"""The most records without a checkpoint between them: each reader has to fold them all."""
WAIT_SECONDS = 0.05
POLL_SECONDS = 0.002
LONGEST_LINE = 1 << 20
_BLOCK = 1 << 13


class Busy(Exception):
    """This is not the plain case."""


def _refuse_constant(constant: str) -> float:
    raise ValueError(constant)


class _Context:
    """The settings of a plain `json.loads`, except that NaN is refused."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - only the scanner written in Python uses it


_scan = make_scanner(_Context())  # type: ignore[arg-type]  # typeshed wants a JSONDecoder
_WHITE = " \t\n\r"


def loads(text: str) -> Any:
    """Reads JSON; raises ValueError, RecursionError or StopIteration if it is none."""
    found, end = _scan(text, len(text) - len(text.lstrip(_WHITE)))
    if text[end:].strip(_WHITE):
        raise ValueError("more than one value")
    return found


def dumps(value: Json) -> str:
    """Writes what `lines.encode` writes."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(dumps, value))}]"
    return "{" + ",".join(f"{encode_basestring_ascii(name)}:{dumps(v)}" for name, v in value.items()) + "}"


def digest(data: bytes) -> str:
    """SHA-256 without `hashlib`, which would load OpenSSL first."""
    return str(sha256(data).hexdigest())


def read(path: str) -> bytes:
    fd = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK)
    try:
        return posix.read(fd, 1 << 16)
    finally:
        posix.close(fd)


def head(control: str) -> dict[str, Any] | None:
    """The head record; None if the log does not end as it says, or a repair is under way."""
    try:
        log = posix.open(control + "/events.jsonl", posix.O_RDONLY)
    except OSError:
        return None
    try:
        return _head(control, log)
    except (Busy, OSError, ValueError, RecursionError, StopIteration):
        return None
    finally:
        posix.close(log)


def stamp(head: Mapping[str, Any]) -> str:
    """The hash of the last record that may have changed the state; those that `append` adds do not."""
    return str(head.get("base", head["hash"]))


def changed_at(head: Mapping[str, Any]) -> int:
    """The number of the record whose hash is the `stamp`."""
    return int(head["seq"] - head.get("light", 0))


def append(
    control: str, state: str, kind: str, envelope: Mapping[str, Json], data: Mapping[str, Json]
) -> bool:
    """Appends to the log while `state` is its stamp; False if `log.py` has to do it.

    `envelope` holds `worktree`, `branch`, `actor` and `v`.
    """
    try:
        lock = _lock(control + "/lock")
    except (Busy, OSError):
        return False
    log = -1
    try:
        log = posix.open(control + "/events.jsonl", posix.O_RDWR)
        now = _head(control, log)
        if stamp(now) != state or now.get("light", 0) >= MOST_IN_A_ROW:
            return False
        _check_last_line(log, now)
        line = _line(now, kind, envelope, data)
        _extend(control, log, now["size"], line, _after(now, state, line))
    except (Busy, OSError, ValueError, KeyError, TypeError, RecursionError, StopIteration):
        return False
    finally:
        if log >= 0:
            posix.close(log)
        posix.close(lock)
    return True


def _lock(path: str) -> int:
    lock = posix.open(path, posix.O_RDWR)
    try:
        _acquire(lock, time.monotonic() + WAIT_SECONDS)
        here, there = posix.fstat(lock), posix.stat(path)
    except BaseException:
        posix.close(lock)
        raise
    if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
        return lock
    posix.close(lock)
    raise Busy


def _acquire(lock: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(POLL_SECONDS)


def _head(control: str, log: int) -> dict[str, Any]:
    try:
        posix.stat(control + "/head.repaired")
    except FileNotFoundError:
        pass
    else:
        raise Busy
    found = loads(read(control + "/head").decode("ascii"))
    if not isinstance(found, dict) or posix.fstat(log).st_size != found.get("size"):
        raise Busy
    if not isinstance(found.get("seq"), int) or not isinstance(found.get("hash"), str):
        raise Busy
    return found


def _check_last_line(log: int, head: Mapping[str, Any]) -> None:
    size, block = head["size"], _BLOCK
    while True:
        start = max(0, size - block)
        tail = posix.pread(log, size - start, start)
        begin = tail.rfind(b"\n", 0, -1) + 1
        if begin or start == 0:
            break
        if block > LONGEST_LINE:
            raise Busy
        block *= 8
    if tail[-1:] != b"\n" or digest(tail[begin:-1]) != head["hash"]:
        raise Busy


def _line(
    head: Mapping[str, Any], kind: str, envelope: Mapping[str, Json], data: Mapping[str, Json]
) -> bytes:
    """Writes the fields in the order of `records.flatten`."""
    fields: dict[str, Json] = {
        "seq": head["seq"] + 1,
        "ts": time.time_ns() // 1_000_000,
        "worktree": envelope["worktree"],
        "branch": envelope["branch"],
        "actor": envelope["actor"],
        "v": envelope["v"],
        "prev": head["hash"],
        "type": kind,
        **data,
    }
    return dumps(fields).encode("ascii")


def _after(head: Mapping[str, Any], state: str, line: bytes) -> bytes:
    fields: dict[str, Json] = {
        "seq": head["seq"] + 1,
        "hash": digest(line),
        "size": head["size"] + len(line) + 1,
        "checkpoint": head["checkpoint"],
        "base": state,
        "light": head.get("light", 0) + 1,
        "last": line.decode("ascii"),
    }
    return dumps(fields).encode("ascii") + b"\n"


def _extend(control: str, log: int, size: int, line: bytes, head: bytes) -> None:
    """Does what `files.extend` does: the new head first, so that a full disk leaves the log unchanged."""
    new = control + "/head.new"
    try:
        fd = posix.open(new, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o666)
        try:
            _write(fd, head, 0)
        finally:
            posix.close(fd)
        _write(log, line + b"\n", size)
        posix.replace(new, control + "/head")
    except (OSError, Busy):
        _undo(log, size, new)
        raise


def _write(fd: int, data: bytes, offset: int) -> None:
    if posix.pwrite(fd, data, offset) != len(data):
        raise Busy


def _undo(log: int, size: int, new: str) -> None:
    try:
        posix.ftruncate(log, size)
        posix.unlink(new)
    except OSError:
        pass  # the next writer cuts the tail, and overwrites the new head
