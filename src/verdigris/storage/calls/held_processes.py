"""Holds the living processes of agents' calls while a client's file tool writes.

They are stopped before the gate decides, and let go by whoever comes next, after two seconds at the latest.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from verdigris.storage.calls.call_records import folder_of
from verdigris.storage.calls.open_calls import processes_of_calls

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import NoReturn


LONGEST = 2.0
"""Seconds. A person may be asked before the tool writes, and a server must not hang meanwhile."""
_HELD = "held"
_ROUNDS, _LOOKS, _PAUSE = 4, 20, 0.001
_STOP, _CONTINUE = 19, 18
_STOPPED = frozenset({b"T", b"t", b"Z", b"X"})


def hold(private: str) -> None:
    """What they start meanwhile is looked for again. Who is held already stays so."""
    held, token = _read(private)[1], os.urandom(8).hex()
    later = 0
    for _ in range(_ROUNDS):
        new = {
            pid: began for pid in processes_of_calls(private) if (began := _began(pid)) and pid not in held
        }
        if not new:
            break
        held |= new
        _note(private, token, held)
        later = later or _let_go_later(private, token)
        for pid in new:
            with suppress(OSError):
                os.kill(pid, _STOP)
        _wait_for(new)


def let_go(private: str, only: str = "") -> None:
    """`only`: the token of a hold, where a later one is not meant."""
    token, held = _read(private)
    if not token or only not in {"", token}:
        return
    for pid, began in held.items():
        with suppress(OSError):
            if _began(pid, stopped=True) == began:
                os.kill(pid, _CONTINUE)
    with suppress(FileNotFoundError):
        os.unlink(_file(private))


def _let_go_later(private: str, token: str) -> int:
    """Begins a process that keeps none of the hook's pipes open; its number."""
    return os.fork() or _wait_and_let_go(private, token)


def _wait_and_let_go(private: str, token: str) -> NoReturn:
    from verdigris.sandbox.process_table import detach

    try:
        detach(set())
        time.sleep(LONGEST)
        let_go(private, token)
    finally:
        os._exit(0)


def _wait_for(pids: dict[int, str]) -> None:
    """A signal takes a moment to arrive."""
    for _ in range(_LOOKS):
        if not any(map(_began, pids)):
            return
        time.sleep(_PAUSE)


def _note(private: str, token: str, held: dict[int, str]) -> None:
    """Before a process is stopped: whoever comes next lets it go, even if we are killed here."""
    fresh = f"{_file(private)}.{token}"
    with open(fresh, "w", encoding="ascii") as file:
        file.writelines((f"{token}\n", *(f"{pid} {began}\n" for pid, began in held.items())))
    os.rename(fresh, _file(private))


def _read(private: str) -> tuple[str, dict[int, str]]:
    """The token of the last hold, and who is held."""
    try:
        with open(_file(private), encoding="ascii") as file:
            token, *words = file.read().split()
        return token, {int(pid): began for pid, began in zip(words[::2], words[1::2], strict=True)}
    except (OSError, ValueError):
        return "", {}


def _file(private: str) -> str:
    return f"{folder_of(private)}/{_HELD}"


def _began(pid: int, *, stopped: bool = False) -> str:
    """When a process began, which tells it from a later one of its number. Empty if it is gone, no process of
    a call (it could gain rights), or stopped already.
    """
    from verdigris.sandbox.processes import is_bound, stat_fields

    try:
        fields, confined = stat_fields(pid), is_bound(pid)
    except OSError:
        return ""
    return fields[19].decode() if confined and (stopped or fields[0] not in _STOPPED) else ""
