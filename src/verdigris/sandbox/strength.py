"""Remembers how processes were confined here: what was confined once never runs weaker because of an error.

The control area has one line for each user and each kind of process, and no agent can write it. Whoever finds
a weaker way than the remembered one runs nothing, until a person accepts it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from verdigris.core.errors import ConfinementLost, StorageError
from verdigris.sandbox.notes import replace_file

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Mapping


NAME = "confined"
SHELL, PROCESSES, RUN, NETWORK, TABLE = "shell", "processes", "run", "network", "table"
"""An agent's shell; whether its processes are apart; runs of the project's code; whether those have a network
and a process table of their own."""
_ORDER = ("", "plain", "own", "mapped")
_STRONGEST = _ORDER[-1]
_EVERY = ("", "")
"""Stands for every kind of process and every user, where the file is damaged."""
ACCEPT = "tdd doctor --accept-weaker"
HINT = (
    "end processes that earlier calls left behind; if the system changed, a person accepts it: "
    f"{ACCEPT}, and why in quotation marks"
)


def require(control: str, found: Mapping[str, str]) -> None:
    """Remembers the ways (kind → way, empty for none); raises if one is weaker than it was."""
    if lost := find_weaker(control, found):
        raise ConfinementLost(lost, hint=HINT)
    known = _read(control)
    fresh = {(kind, _user()): way for kind, way in found.items() if way}
    if _EVERY not in known and not fresh.items() <= known.items():
        with suppress(StorageError):  # a full disk: this process is confined, and the next one tries again
            _write(control, {**known, **fresh})


def find_weaker(control: str, found: Mapping[str, str]) -> str:
    """Says which way is weaker than it was; empty if none is."""
    known = _read(control)
    for kind, way in found.items():
        before = known.get((kind, _user()), known.get(_EVERY, ""))
        if _rank(way) < _rank(before):
            return _weaker(kind, before, way)
    return ""


def _weaker(kind: str, before: str, way: str) -> str:
    what = {
        SHELL: "an agent's commands were",
        PROCESSES: "an agent's processes were kept apart and",
        RUN: "runs were",
        NETWORK: "runs had a network of their own and were",
        TABLE: "runs had a process table of their own and were",
    }
    now = f"only the weaker way `{way}` works" if way else "no way works"
    return f"{what[kind]} confined here by the way `{before}`, and now {now}, so nothing was run"


def remembered(control: str) -> dict[str, str]:
    """The ways of this user, by kind; of an empty kind if the file is damaged."""
    return {kind: way for (kind, user), way in _read(control).items() if user in {_user(), ""}}


def accept(control: str, found: Mapping[str, str]) -> None:
    """Takes what works now for what has to work, weaker or not."""
    kept = {key: way for key, way in _read(control).items() if key[1] not in {_user(), ""}}
    _write(control, {**kept, **{(kind, _user()): way for kind, way in found.items() if way}})


def forget(control: str) -> None:
    """Forgets the ways of all users: there is no gate any more."""
    _write(control, {})


def _user() -> str:
    return str(os.geteuid())


def _rank(way: str) -> int:
    return _ORDER.index(way) if way in _ORDER else len(_ORDER)


def _read(control: str) -> dict[tuple[str, str], str]:
    """A damaged or empty file asks for the strongest way that this user can have."""
    damaged = {_EVERY: _STRONGEST if os.geteuid() == 0 else "own"}
    try:
        with open(f"{control}/{NAME}", encoding="ascii") as file:
            return {(kind, user): way for kind, user, way in map(str.split, file)} or damaged
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return damaged


def _write(control: str, known: Mapping[tuple[str, str], str]) -> None:
    """Where nothing is remembered there is no file."""
    path = f"{control}/{NAME}"
    try:
        replace_file(path, "".join(f"{kind} {user} {way}\n" for (kind, user), way in known.items()).encode())
        if not known:
            os.unlink(path)
    except OSError as error:
        hint = f"`rm -r {path}`" if os.path.isdir(path) else "look for a full or read-only disk"
        raise StorageError(f"cannot write {path}: {error.strerror}", hint=hint) from error
