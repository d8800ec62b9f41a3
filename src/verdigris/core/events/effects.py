"""Effects on the tree: an intent before, its outcome after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdigris.core.events.event import Event
from verdigris.core.value import value


@value
class LayingAside(Event):
    aside: str
    paths: tuple[str, ...]
    edited: str
    """The tree with the edits."""
    start: str
    """The tree that the paths go back to."""
    why: str
    test_ids: tuple[str, ...] = ()
    """Claims that end with this; empty: all of the turn."""
    back_at_claim: bool = False


@value
class Reverted(Event):
    aside: str
    displaced: tuple[str, ...] = ()
    """`path blob` of bytes that nobody had recorded and that had to make way."""


@value
class Restoring(Event):
    aside: str
    paths: tuple[str, ...]
    before: str
    """The tree as it stood."""
    after: str
    """The tree with the edits laid on again."""


@value
class Restored(Event):
    aside: str
    displaced: tuple[str, ...] = ()


@value
class Formatting(Event):
    paths: tuple[str, ...]
    tree: str


@value
class Formatted(Event):
    tree: str
    undone: bool = False
    displaced: tuple[str, ...] = ()


@value
class Proving(Event):
    """The turn's edits step aside for one run on the start tree, and come back."""

    paths: tuple[str, ...]
    edited: str
    start: str


@value
class Proved(Event):
    displaced: tuple[str, ...] = ()


@value
class PuttingBack(Event):
    """Protected paths are about to become again what they are in `tree`."""

    tree: str
    paths: tuple[str, ...]
    why: str


@value
class PutBack(Event):
    paths: tuple[str, ...]
    displaced: tuple[str, ...] = ()


@value
class MovingBack(Event):
    """HEAD, index and files are about to go back together to where they were before an agent's call."""

    place: Mapping[str, Any]
    """Where git stood: see kernel/gitwhole.py."""
    tree: str
    """The tree that the paths go back to."""
    paths: tuple[str, ...]
    found: str
    """The tree as it was found; its bytes stay in the store."""


@value
class MovedBack(Event):
    displaced: tuple[str, ...] = ()


@value
class Syncing(Event):
    argv: tuple[str, ...]
    tree: str


@value
class Synced(Event):
    argv: tuple[str, ...]
    exit_code: int | None
    """None when git was killed with us."""


@value
class HoldingOut(Event):
    """Tests are about to leave the tree for the control area."""

    files: Mapping[str, str]
    """Path → `mode blob`."""
    before: str
    after: str


@value
class HeldOut(Event):
    files: Mapping[str, str]


@value
class Releasing(Event):
    """Held-out tests are about to come back into the tree."""

    paths: tuple[str, ...]
    before: str
    after: str


@value
class Released(Event):
    paths: tuple[str, ...]
