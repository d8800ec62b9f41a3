"""Events about test runs, claims, verdicts, denials and phases."""

from __future__ import annotations

from collections.abc import Mapping

from verdigris.core.records import Event
from verdigris.core.report import IdSource, Status
from verdigris.core.value import value


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
    """The blob with what runs below the tests: start-up files, the runner and what it loaded, by hash."""
    founded: int = 0
    """When that was, in nanoseconds: code that came later is told by its time."""


@value
class EditClaim(Event):
    test_id: str
    edit_target: str
    red: int
    """Sequence number of the red that it cites."""
    implied: bool = False
    by: str = ""
    """The context that claimed, where it was an agent's."""
    reads: tuple[str, ...] = ()
    """Files that the tests read, and that are frozen with them from here on."""


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
class LeftOpen(Event):
    """What was left at a stop: tests that ask for less, source that no claim covers, a suspended turn."""

    what: tuple[str, ...]


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
    """What was set aside."""


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
    founded: int = 0


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
    reads: str = ""
    """The blob with the files of no class that test code read: frozen once it is claimed."""


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
class RedsEnded(Event):
    """Reds that a run saw pass, or looked for and did not find."""

    test_ids: tuple[str, ...]


@value
class Characterized(Event):
    """New tests passed at once, on source as the last settlement left it: they say what the code does now."""

    test_ids: tuple[str, ...]
    tree: str = ""


@value
class TestBug(Event):
    __test__ = False

    bug: str
    places: tuple[str, ...]
    why: str
    tree: str
    tests: tuple[str, ...] = ()
    """`PATH::NAME` of the tests at those places."""


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


@value
class RefactorBegun(Event):
    tree: str
    record: str
    """Blob with every id and its status before."""
    uncovered: bool = False
    foundation: str = ""
    """Blob with what runs below the tests, by content hash."""
    founded: int = 0
    optimizes: bool = False
    """Set by a driver that measures: quicker code is noticed by no test, so that is only noted."""


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
