"""Compares, around a shell call, what makes git show another history than the objects have.

Replacement refs show other contents in place of an object, grafts give a commit other parents, and a line in
`shallow` gives it none. What a call added of them is undone.
"""

from __future__ import annotations

import os

from verdigris.sandbox.notes import names_in

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    History = Mapping[str, bytes | None]
    """Ref or file below the git folder → its content; None where there is none."""
    Ask = Callable[..., bytes]
    """Runs git with these arguments, and returns its output."""


GRAFTS, SHALLOW, REPLACES = "info/grafts", "shallow", "refs/replace/"


def read_history(common: str, ask: Ask) -> dict[str, bytes | None]:
    """Git itself is asked only where its refs are no plain files."""
    found: dict[str, bytes | None] = {name: _content(f"{common}/{name}") for name in (GRAFTS, SHALLOW)}
    if os.path.isdir(f"{common}/reftable"):
        lines = ask("for-each-ref", "--format=%(objectname) %(refname)", REPLACES).splitlines()
    else:
        packed = _content(f"{common}/packed-refs") or b""
        lines = packed.splitlines() if b" refs/replace/" in packed else []
    pairs = (line.split(b" ", 1) for line in lines if b" refs/replace/" in line)
    found |= {os.fsdecode(name): commit for commit, name in pairs}
    found |= {
        f"{REPLACES}{name}": _content(f"{common}/{REPLACES}{name}")
        for name in names_in(f"{common}/{REPLACES}")
    }
    return found


def undo_changes(common: str, before: History, ask: Ask) -> list[str]:
    """Puts the history back; returns a line for each that was changed."""
    now = read_history(common, ask)
    said = []
    for name in now.keys() | before.keys():
        old, new = before.get(name), now.get(name)
        if old == new or (name == SHALLOW and not _is_cut(old, new, ask)):
            continue
        if not name.startswith(REPLACES):
            _put_back(f"{common}/{name}", old)
        elif old is None:
            ask("update-ref", "-d", name)
        else:
            ask("update-ref", name, old.decode().strip())
        said.append(f"{common}/{name} was put back: it makes git show another history than the commits have")
    return said


def _is_cut(old: bytes | None, new: bytes | None, ask: Ask) -> bool:
    """Whether a line hides parents that are there: a clone without history lacks them."""
    added = set((new or b"").split()) - set((old or b"").split())
    for commit in map(os.fsdecode, added):
        shown = ask("cat-file", "-p", commit).partition(b"\n\n")[0].splitlines()
        parents = [os.fsdecode(line[7:]) for line in shown if line.startswith(b"parent ")]
        if any(ask("cat-file", "-t", parent) for parent in parents):
            return True
    return False


def _put_back(path: str, content: bytes | None) -> None:
    try:
        if content is None:
            os.unlink(path)
        else:
            with open(path, "wb") as file:
                file.write(content)
    except OSError:
        return


def _content(path: str) -> bytes | None:
    """The bytes of a plain file or a link; a pipe put there must not stop us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except OSError:
        return None
