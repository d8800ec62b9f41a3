"""Events about the tree: effects with their outcome, configuration and ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdigris.core.records import Announcement, Event, Outcome
from verdigris.core.value import value


@value
class LayingAside(Announcement):
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
class Reverted(Outcome):
    aside: str
    displaced: tuple[str, ...] = ()
    """`path blob` of bytes that nobody had recorded and that had to make way."""


@value
class Restoring(Announcement):
    aside: str
    paths: tuple[str, ...]
    before: str
    """The tree as it stood."""
    after: str
    """The tree with the edits brought back."""


@value
class Restored(Outcome):
    aside: str
    displaced: tuple[str, ...] = ()


@value
class Formatting(Announcement):
    paths: tuple[str, ...]
    tree: str


@value
class Formatted(Outcome):
    tree: str
    undone: bool = False
    displaced: tuple[str, ...] = ()


@value
class Proving(Announcement):
    """The turn's edits step aside for one run on the start tree, and come back."""

    paths: tuple[str, ...]
    edited: str
    start: str


@value
class Proved(Outcome):
    displaced: tuple[str, ...] = ()


@value
class PuttingBack(Announcement):
    """Protected paths are about to become again what they are in `tree`."""

    tree: str
    paths: tuple[str, ...]
    why: str


@value
class PutBack(Outcome):
    paths: tuple[str, ...]
    displaced: tuple[str, ...] = ()


@value
class MovingBack(Announcement):
    """HEAD, index and files are about to go back together to where they were before an agent's call."""

    place: Mapping[str, Any]
    """Where git stood: see turns/rollback.py."""
    tree: str
    """The tree that the paths go back to."""
    paths: tuple[str, ...]
    found: str
    """The tree as it was found; its bytes stay in the store."""


@value
class MovedBack(Outcome):
    displaced: tuple[str, ...] = ()


@value
class Syncing(Announcement):
    argv: tuple[str, ...]
    tree: str


@value
class Synced(Outcome):
    argv: tuple[str, ...]
    exit_code: int | None
    """None when git was killed with us."""


@value
class HoldingOut(Announcement):
    """Tests are about to leave the tree for the control area."""

    files: Mapping[str, str]
    """Path → `mode blob`."""
    before: str
    after: str


@value
class HeldOut(Outcome):
    files: Mapping[str, str]


@value
class Releasing(Announcement):
    """Held-out tests are about to come back into the tree."""

    paths: tuple[str, ...]
    before: str
    after: str


@value
class Released(Outcome):
    paths: tuple[str, ...]


@value
class BlockingTests(Announcement):
    """The kernel is about to mark tests as skipped that a driver gave up on."""

    tests: tuple[str, ...]
    why: str
    paths: tuple[str, ...]
    before: str
    after: str
    """The tree with the marks."""
    ground: str
    """The ground with these tests in it, marked: from then on they are what the suite has."""


@value
class TestsBlocked(Outcome):
    """Tests stay in their files, marked by the kernel; their reds end."""

    __test__ = False

    tests: tuple[str, ...]
    why: str
    paths: tuple[str, ...]
    ground: str = ""
    displaced: tuple[str, ...] = ()


@value
class Configured(Event):
    tdd_yaml: str
    """Digest of the file that the rest was compiled from."""
    settings: Mapping[str, Any]
    classes: Any


@value
class Unconfigured(Event):
    why: str = ""


@value
class Scaffolded(Event):
    """Files that `tdd init` is about to write because they were missing."""

    files: Mapping[str, str]
    """Path → digest of its content."""
    project: bool = False
    """They make a project, rather than adding to one."""


@value
class GateInstalled(Event):
    """Files of a client that a gate was written into, as they were and as they are now."""

    client: str
    before: Mapping[str, str]
    """Without those that did not exist."""
    after: Mapping[str, str]


@value
class GateRemoved(Event):
    client: str


@value
class CycleFilesInstalled(Event):
    """Files that let a client play a cycle, and tdd.yaml, as they were and as they are now."""

    client: str
    before: Mapping[str, str]
    """Without those that did not exist."""
    after: Mapping[str, str]


@value
class CycleFilesRemoved(Event):
    client: str


@value
class Ground(Event):
    """The tree against which unclaimed edits are told; what a commit of others brought belongs to it."""

    tree: str
    commit: str | None
    on: str | None
    """The branch."""
    why: str
    paths: tuple[str, ...] = ()


@value
class HeadSeen(Event):
    """HEAD moved by a plain commit of the tree as it stands: nothing else changes."""

    commit: str | None
    on: str | None
