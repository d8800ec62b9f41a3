"""What the kernel saw of tests, and what people said about them."""

from __future__ import annotations

from verdigris.core.events.event import Event
from verdigris.core.report import IdSource, Status
from verdigris.core.value import value


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
