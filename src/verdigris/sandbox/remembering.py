"""Remembers in a file how processes are confined here, so that it need not be tried on every command."""

# Plain calls, as this is loaded before a head start:
# ruff: noqa: PTH105, PTH108, PTH123

from __future__ import annotations

import os
from contextlib import suppress

from verdigris.sandbox.namespaces import ways
from verdigris.sandbox.places import temporary
from verdigris.sandbox.probe import Ability, Availability, available

_BOOT = "/proc/sys/kernel/random/boot_id"


def remembered(note: str) -> Availability:
    """By what the file `note` says of this very system and user, else by trying; only success is noted."""
    system = _system()
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            known, way, place, network = file.read().split("\0")
    except (OSError, ValueError):
        known = ""
    if known == system and os.access(place, os.W_OK | os.X_OK):
        for possible in ways():
            if possible == way:
                return Availability(possible, place, (Ability("network", ok=not network, why=network),))
    found = available()
    if found.way is not None:
        network = "" if found.network else found.why
        _write(note, f"{system}\0{found.way}\0{found.place}\0{network}")
    return found


def forget(note: str) -> None:
    """What is remembered did not work."""
    with suppress(OSError):
        os.unlink(note)


def _system() -> str:
    try:
        with open(_BOOT, encoding="ascii") as boot:
            started = boot.read().strip()
    except OSError:
        started = ""
    return f"{started} {os.uname().release} {os.geteuid()} {temporary()}"


def _write(note: str, text: str) -> None:
    """Only saves time: a disk that refuses it is no matter."""
    fresh = f"{note}.{os.getpid()}"
    with suppress(OSError):
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(fresh, note)
