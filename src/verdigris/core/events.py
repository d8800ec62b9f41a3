"""The facts that the kernel records: one frozen value per event type, named as in the log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from verdigris.core.codec import from_json, to_json
from verdigris.core.report import IdSource, Status
from verdigris.core.value import value


@value
class Event:
    """One fact. Its name in the log is its class name in snake case."""

    kinds: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls, **_: object) -> None:
        Event.kinds[_snake(cls.__name__)] = cls

    @classmethod
    def kind(cls) -> str:
        return _snake(cls.__name__)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def encode(event: Event) -> tuple[str, dict[str, Any]]:
    return event.kind(), to_json(event)


def decode(kind: str, data: Mapping[str, Any]) -> Event | None:
    """None for a type that this version does not know: such an event changes no state."""
    cls = Event.kinds.get(kind)
    return None if cls is None else from_json(cls, data)


# -- configuration and ground ------------------------------------------------------------------


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


# -- tests -------------------------------------------------------------------------------------


@value
class TestRun(Event):
    __test__ = False

    test_id: str
    test_id_source: IdSource
    status: Status
    command: str
    duration_ms: int
    tree: str
    native_id: str
    red: str | None = None
    """`valid`, or why it is not; None where the test did not fail."""
    failure: str = ""
    """Kind and first line of the failure."""
    place: str = ""


@value
class SuiteRun(Event):
    """A whole suite was run on a tree; `record` is a blob with every id and its status."""

    tree: str
    command: str
    record: str
    passed: int
    failed: int
    skipped: int
    duration_ms: int


@value
class TestBug(Event):
    __test__ = False

    bug: str
    places: tuple[str, ...]
    why: str
    tree: str


@value
class Revised(Event):
    """Tests that someone who does not gain by it gave up or let change, with a reason."""

    names: tuple[str, ...]
    """Test ids, slugs, files or folders."""
    why: str


@value
class TestBugClosed(Event):
    __test__ = False

    bug: str
    test_id: str


# -- turns -------------------------------------------------------------------------------------


@value
class TurnOpened(Event):
    turn: str
    tree: str


@value
class OracleFrozen(Event):
    turn: str
    tree: str
    findings: tuple[str, ...] = ()
    """What the tests ask for otherwise than at the last acceptance."""
    foundation: str = ""
    """The blob with what runs below the tests: start-up files and the runner, by hash."""


@value
class EditClaim(Event):
    test_id: str
    edit_target: str
    red: int
    """Sequence number of the red that it cites."""
    implied: bool = False
    by: str = ""
    """The context that claimed, where it was an agent's."""


@value
class Edit(Event):
    """A write that the gate allowed."""

    paths: tuple[str, ...]


@value
class ToolAllowed(Event):
    """A person's yes to a tool that nobody here knows, remembered for all of its source."""

    source: str


@value
class SentBack(Event):
    """An agent wanted to stop and was refused."""

    why: str
    nth: int
    """In a row."""


@value
class Call(Event):
    """A tool call that the gate let pass, and that writes no file by itself."""

    tool: str
    paths: tuple[str, ...] = ()


@value
class Denied(Event):
    rule: str
    reason: str
    next: str
    action: str


@value
class Violation(Event):
    path: str
    what: str
    displaced: str = ""
    """The blob with the bytes that had to make way."""


@value
class Settled(Event):
    turn: str
    verdict: str
    tree: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    """The claims that got a strike."""


@value
class Accepted(Event):
    """A triple: the red, the edit as a diff between two trees, the green."""

    test_id: str
    red: int
    before: str
    after: str
    paths: tuple[str, ...]
    green: int


@value
class Repair(Event):
    why: str
    test_ids: tuple[str, ...]
    aside: str
    """What was laid aside."""


@value
class Suspended(Event):
    turn: str
    tree: str
    """The turn's start on the new ground."""
    commit: str | None
    on: str | None
    why: str = ""
    """Where it was not HEAD that moved."""


@value
class Resumed(Event):
    turn: str
    reds: Mapping[str, int]
    """Each surviving claim with the red that proves it on the new ground."""
    foundation: str = ""


# -- effects on the tree: an intent, then its outcome ------------------------------------------------


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


# -- refactor, off and on ------------------------------------------------------------------------


@value
class RefactorBegun(Event):
    tree: str
    record: str
    """Blob with every id and its status before."""
    uncovered: bool = False
    foundation: str = ""
    """Blob with what runs below the tests, by content hash."""


@value
class RefactorEnded(Event):
    verdict: str
    tree: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()


@value
class SwitchedOff(Event):
    why: str


@value
class SwitchedOn(Event):
    tree: str


@value
class LogRepaired(Event):
    kept: int
    lost: int
    why: str
    damaged: str
