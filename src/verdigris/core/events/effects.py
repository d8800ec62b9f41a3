"""Events about the tree: effects with their outcome, configuration and ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdigris.core.records import Announcement, Event, Outcome
from verdigris.core.value import field, value


@value
class LayingAside(Announcement):
    """Edits are about to be taken out of the tree, and kept."""

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
    """The edits are out of the tree."""

    aside: str
    displaced: tuple[str, ...] = ()
    """`path blob` of unrecorded bytes that were overwritten."""


@value
class Restoring(Announcement):
    """Edits that were set aside are about to come back."""

    aside: str
    paths: tuple[str, ...]
    before: str
    """The tree as it stood."""
    after: str
    """The tree with the edits brought back."""
    yielded: tuple[str, ...] = ()
    """`path blob` of files in which something gave way to the edits."""


@value
class Restored(Outcome):
    """The edits are back in the tree."""

    aside: str
    displaced: tuple[str, ...] = ()
    tree: str = ""
    """With the edits brought back."""


@value
class Dropped(Event):
    """Edits that were set aside are given up."""

    aside: str
    displaced: tuple[str, ...] = ()
    """`path blob` of each edited file."""


@value
class Formatting(Announcement):
    """The configured formatter is about to run on the turn's source."""

    paths: tuple[str, ...]
    tree: str


@value
class Formatted(Outcome):
    """The formatter ran; its result was kept, or undone."""

    tree: str
    undone: bool = False
    displaced: tuple[str, ...] = ()


@value
class Proving(Announcement):
    """The turn's edits are removed for one run on the start tree, then restored."""

    paths: tuple[str, ...]
    edited: str
    start: str


@value
class Proved(Outcome):
    """The run on the start tree is over, and the edits are back."""

    displaced: tuple[str, ...] = ()


@value
class PuttingBack(Announcement):
    """Protected paths are about to be restored from `tree`."""

    tree: str
    paths: tuple[str, ...]
    why: str
    by: tuple[str, ...] = ()
    """The agents that may have changed them."""


@value
class PutBack(Outcome):
    """Protected paths are as they were."""

    paths: tuple[str, ...]
    displaced: tuple[str, ...] = ()


@value
class MovingBack(Announcement):
    """HEAD, index and files are about to be reset together to their state before an agent's call."""

    place: Mapping[str, Any]
    """Where git stood: see turns/rollback.py."""
    tree: str
    """The tree that the paths go back to."""
    paths: tuple[str, ...]
    found: str
    """The tree before the reset; its bytes stay in the store."""


@value
class MovedBack(Outcome):
    """HEAD, index and files are as they were."""

    displaced: tuple[str, ...] = ()


@value
class Syncing(Announcement):
    """A git command that moves the tree is about to run outside of any turn."""

    argv: tuple[str, ...]
    tree: str


@value
class Synced(Outcome):
    """The git command ended; what it brought is ground."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None when git was killed with us."""
    displaced: tuple[str, ...] = ()
    """`path blob` of files that no commit had, and that git overwrote."""


@value
class HoldingOut(Announcement):
    """Tests are about to be moved from the tree to the control area."""

    files: Mapping[str, str]
    """Path → `mode blob`."""
    before: str
    after: str


@value
class HeldOut(Outcome):
    """The tests are in the control area, where only verdicts run them."""

    files: Mapping[str, str]


@value
class Releasing(Announcement):
    """Held-out tests are about to be moved back into the tree."""

    paths: tuple[str, ...]
    before: str
    after: str


@value
class Released(Outcome):
    """The tests are back in the tree."""

    paths: tuple[str, ...]


@value
class BlockingTests(Announcement):
    """The kernel is about to skip tests that a driver gave up on."""

    tests: tuple[str, ...]
    why: str
    paths: tuple[str, ...]
    before: str
    after: str
    """The tree with the marks."""
    ground: str
    """The ground with these tests marked: later changes are compared with that."""


@value
class TestsBlocked(Outcome):
    """The tests stay in their files, marked as skipped; their reds end."""

    __test__ = False

    tests: tuple[str, ...]
    why: str
    paths: tuple[str, ...]
    ground: str = ""
    displaced: tuple[str, ...] = ()


@value
class Configured(Event):
    """`tdd.yaml` was read: the settings and path classes that hold from here on."""

    tdd_yaml: str
    """Digest of the file from which the rest was compiled."""
    settings: Mapping[str, Any]
    classes: Any
    runner_files: tuple[str, ...] = ()
    """The runners' own configuration, which may say which files are tests; some may not exist yet."""
    runner: str = "unknown"
    """Digest of what they contain; older versions did not record it."""


@value
class Unconfigured(Event):
    """`tdd uninit` removed the configuration."""

    why: str = ""


@value
class Scaffolded(Event):
    """Files that `tdd init` is about to write because they were missing."""

    files: Mapping[str, str]
    """Path → digest of its content."""
    project: bool = False
    """They make a new project; otherwise they add to one."""


@value
class GateInstalled(Event):
    """A client's files with the hooks in them, before and after."""

    client: str
    before: Mapping[str, str]
    """Without files that did not exist."""
    after: Mapping[str, str]
    excluded: tuple[str, ...] = ()
    """Lines that were added to git's own list of ignored files."""


@value
class GateRemoved(Event):
    """A client's hooks were taken out of its files."""

    client: str


@value
class CycleFilesInstalled(Event):
    """The files by which a client takes part in a cycle, and tdd.yaml, before and after."""

    client: str
    before: Mapping[str, str]
    """Without files that did not exist."""
    after: Mapping[str, str]


@value
class CycleFilesRemoved(Event):
    """The files by which a client takes part in a cycle were removed."""

    client: str


@value
class Ground(Event):
    """The tree with which unclaimed edits are compared; commits of others belong to it."""

    tree: str
    commit: str | None
    on: str | None
    """The branch."""
    why: str
    paths: tuple[str, ...] = ()
    follows: bool = False
    """It follows git; otherwise somebody took the tree as it stands."""


@value
class HeadSeen(Event):
    """HEAD moved, and the ground stays as it is."""

    commit: str | None
    on: str | None
    unearned: Mapping[str, str] = field(default_factory=dict)
    """Path → blob in HEAD of what an agent committed and no verdict accepted."""
