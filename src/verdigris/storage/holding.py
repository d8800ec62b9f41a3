"""Holds the living processes of agents' calls while a client's file tool writes.

They are stopped before the tool may write, and let go by whoever comes next, after two seconds at the latest.
"""

# ruff: noqa: PTH108, PTH123 - as in storage/open_calls.py

from __future__ import annotations

import os
import time
from contextlib import suppress

from verdigris.storage.open_calls import folder_of, living

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from typing import NoReturn


LONGEST = 2.0
"""Seconds. A person may be asked before the tool writes, and a server must not hang meanwhile."""
_HELD = "held"
_ROUNDS = 4
_STOP, _CONTINUE = 19, 18


def hold(private: str) -> bool:
    """Whether processes are held now. What they start meanwhile is looked for again."""
    let_go(private)
    held: dict[int, str] = {}
    token = os.urandom(8).hex()
    for _ in range(_ROUNDS):
        new = {pid: began for pid in living(private) if pid not in held and (began := _began(pid))}
        if not new:
            break
        held |= new
        _note(private, token, held)
        for pid in new:
            with suppress(OSError):
                os.kill(pid, _STOP)
    if held and os.fork() == 0:
        _let_go_later(private, token)
    return bool(held)


def let_go(private: str, only: str = "") -> None:
    """`only`: the token of a hold, where a later one is not meant."""
    try:
        with open(_file(private), encoding="ascii") as file:
            token, *held = file.read().split()
        if only not in {"", token}:
            return
        os.unlink(_file(private))
    except (OSError, ValueError):
        return
    for pid, began in zip(held[::2], held[1::2], strict=True):
        with suppress(OSError):
            if _began(int(pid), stopped=True) == began:
                os.kill(int(pid), _CONTINUE)


def _let_go_later(private: str, token: str) -> NoReturn:
    """In a process of its own, which keeps none of the hook's pipes open."""
    try:
        os.setsid()
        os.closerange(0, 256)
        time.sleep(LONGEST)
        let_go(private, token)
    finally:
        os._exit(0)


def _note(private: str, token: str, held: dict[int, str]) -> None:
    """Before a process is stopped: whoever comes next lets it go, even if we are killed here."""
    with open(_file(private), "w", encoding="ascii") as file:
        file.writelines((f"{token}\n", *(f"{pid} {began}\n" for pid, began in held.items())))


def _file(private: str) -> str:
    return f"{folder_of(private)}/{_HELD}"


def _began(pid: int, *, stopped: bool = False) -> str:
    """When a process began, which tells it from a later one of its number; empty if it is stopped already,
    or gone.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[19].decode() if stopped or fields[0] not in {b"T", b"t", b"Z", b"X"} else ""
