"""Events about test runs, claims, verdicts, denials and phases."""

from __future__ import annotations

from collections.abc import Mapping

from verdigris.core.debts import Debt
from verdigris.core.records import Event
from verdigris.core.report import IdSource, Status
from verdigris.core.suite_health import Hindrance
from verdigris.core.value import field, value


@value
class TurnOpened(Event):
    """The first claim of a turn, with the tree that it starts from."""

    turn: str
    tree: str
    late: bool = False
    """A person wrote before the red was seen: the turn lasts for one settlement."""


@value
class OracleFrozen(Event):
    """Tests, specs and runner keys are frozen as they stand in this tree."""

    turn: str
    tree: str
    findings: tuple[str, ...] = ()
    """Changes of assertions since the last acceptance that are no losses."""
    foundation: str = ""
    """The blob with the foundation: start-up files, the runner and what it loaded, by hash."""
    founded: int = 0
    """When that was, in nanoseconds: newer code is recognised by its timestamp."""


@value
class EditClaim(Event):
    """A red and the source that will be edited for it."""

    test_id: str
    edit_target: str
    red: int
    """Sequence number of the red that it cites."""
    implied: bool = False
    by: str = ""
    """The context that claimed; empty for a person."""
    reads: tuple[str, ...] = ()
    """Files that the tests read, which are frozen with them."""
    weak: tuple[Debt, ...] = ()
    """Bodies that know nothing and with which the red passes."""


@value
class Edit(Event):
    """The gate allowed a write, or a shell's write was seen."""

    paths: tuple[str, ...]
    by: tuple[str, ...] = ()
    """The agents that may have written, if not the acting one."""


@value
class ToolAllowed(Event):
    """A person allowed an unknown tool, and with it all tools of the same source."""

    source: str


@value
class SentBack(Event):
    """An agent wanted to stop and was refused."""

    why: str
    nth: int
    """In a row."""


@value
class LeftOpen(Event):
    """What a stop left open: weaker tests, source that no claim covers, a suspended turn."""

    what: tuple[str, ...]


@value
class Call(Event):
    """The gate allowed a tool call that writes no file itself."""

    tool: str
    paths: tuple[str, ...] = ()


@value
class Denied(Event):
    """An action was refused: the rule, the reason, the next move."""

    rule: str
    reason: str
    next: str
    action: str


@value
class Violation(Event):
    """A protected path was changed around the gate."""

    path: str
    what: str
    displaced: str = ""
    """The blob with the bytes that were overwritten."""
    by: tuple[str, ...] = ()
    """The agents that may have written them."""


@value
class Settled(Event):
    """The verdict on a turn."""

    turn: str
    verdict: str
    tree: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    """The claims that got a strike by it."""


@value
class Accepted(Event):
    """A triple: the red, the edit as a diff between two trees, the green."""

    test_id: str
    red: int
    before: str
    after: str
    paths: tuple[str, ...]
    green: int
    proven: str = "before"
    """`before`: the red was seen before the edit. `after`: a person wrote in any order, and the test was red
    without the edit.
    """


@value
class TurnClosed(Event):
    """The verdict on what a person had written did not accept it; the edits stay as they are."""

    turn: str


@value
class Owed(Event):
    """Accepted code decides something that no test notices, or has lines that no test runs."""

    debts: tuple[Debt, ...]


@value
class Paid(Event):
    """Debts that ended: a test notices them now, the code is gone, or a person gave them up."""

    debts: tuple[str, ...]
    why: str = ""
    """A person's reason; empty: a test notices them, or they are gone."""
    tests: Mapping[str, str] = field(default_factory=dict)
    """Files with tests that notice them, by blob, if these are not accepted yet."""


@value
class Repair(Event):
    """A turn's edits were set aside after its last strike."""

    why: str
    test_ids: tuple[str, ...]
    aside: str
    """What was set aside."""


@value
class Suspended(Event):
    """Git moved the tree under an open turn, so its reds have to be proven again."""

    turn: str
    tree: str
    """The turn's start on the new ground."""
    commit: str | None
    on: str | None
    why: str = ""
    """Empty: HEAD moved."""


@value
class Resumed(Event):
    """The claims of a suspended turn were proven on the new tree."""

    turn: str
    reds: Mapping[str, int]
    """Each surviving claim with the red that proves it on the new ground."""
    foundation: str = ""
    founded: int = 0


@value
class TestRun(Event):
    """One test, as the kernel ran it."""

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
    """The blob with the files without a class that test code read; they are frozen by a claim."""
    known: bool = False
    """It fails on the ground too."""
    by: str = ""
    """The agent whose red it is: it ran the test by name, or saw it fail first; empty for a person."""
    over: tuple[str, ...] = ()
    """The stubs of what source lacks over which it ran, each as `PATH: TEXT`; no file holds them."""


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
    hindrance: Hindrance | None = None
    """Files that did not load."""


@value
class SuiteHindered(Event):
    """Tests did not run; without a hindrance: what was in their way is gone."""

    hindrance: Hindrance | None = None


@value
class SuiteCollected(Event):
    """The tests of a tree, which makes no baseline; `record`: a blob with each id and its status or null."""

    tree: str
    record: str


@value
class SessionStarted(Event):
    """An agent's session began in this worktree; its end is compared with this tree."""

    session: str
    tree: str
    commit: str | None = None
    suite: str = ""
    """The blob with every test's result on that tree, if it was known."""


@value
class RedsEnded(Event):
    """Reds whose test a run saw pass, or no longer found."""

    test_ids: tuple[str, ...]


@value
class FilesUnloaded(Event):
    """Which test files the runs so far could not load; it replaces what was known."""

    files: Mapping[str, str]
    """Path → the tree on which it did not load."""


@value
class Characterized(Event):
    """New tests passed at once, on unchanged source: they describe what the code does now."""

    test_ids: tuple[str, ...]
    tree: str = ""


@value
class TestBug(Event):
    """Somebody reported that a test is wrong; the source edits are set aside."""

    __test__ = False

    bug: str
    places: tuple[str, ...]
    why: str
    tree: str
    tests: tuple[str, ...] = ()
    """`PATH::NAME` of the tests at those places."""


@value
class Revised(Event):
    """Somebody who does not gain by it gave up tests, or allowed them to change, with a reason."""

    names: tuple[str, ...]
    """Test ids, slugs, files or folders."""
    why: str


@value
class TestBugClosed(Event):
    """A report about a test ended: the test was revised, or is right."""

    __test__ = False

    bug: str
    test_id: str


@value
class RefactorBegun(Event):
    """A refactor is open, with the results of every test before it."""

    tree: str
    record: str
    """Blob with every id and its status before."""
    uncovered: bool = False
    foundation: str = ""
    """The blob with the foundation, by content hash."""
    founded: int = 0
    optimizes: bool = False
    """Set by a driver that measures speed: no test notices faster code, so that is only noted."""


@value
class RefactorEnded(Event):
    """The verdict on a refactor, or its abort."""

    verdict: str
    tree: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    next: str = ""
    """The way out of a refusal, if it is another than the phase's usual move."""
    unproven: bool = False
    """Every test passes; nothing shows that behaviour was kept."""


@value
class SwitchedOff(Event):
    """A person switched the law off."""

    why: str


@value
class SwitchedOn(Event):
    """A person switched the law on."""

    tree: str


@value
class WeakerAccepted(Event):
    """A person accepted weaker ways of confining than before; kind of process → way, empty for none."""

    ways: Mapping[str, str]
    why: str


@value
class LogRepaired(Event):
    """A person repaired the log or the store; what was damaged is kept."""

    kept: int
    lost: int
    why: str
    damaged: str
    objects: tuple[str, ...] = ()
    """Trees and blobs that the store has lost."""
