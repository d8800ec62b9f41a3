"""The state of a worktree: the value that the log folds to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from verdigris.core.debts import Debt
from verdigris.core.records import Actor
from verdigris.core.report import IdSource, Status
from verdigris.core.suite_health import Hindrance, SuiteCounts, describe_suite
from verdigris.core.value import field, value


class Phase(StrEnum):
    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"
    PLAN = "plan"
    """In a cycle: only the plan is written."""
    HELD = "held"
    """In a cycle: nothing is written until its next step."""
    OFF = "off"


@value
class Red:
    """The latest run of a test that did not pass."""

    test_id: str
    native_id: str
    source: IdSource
    seq: int
    tree: str
    command: str
    status: Status
    why: str
    """`valid`, or why it is not."""
    failure: str = ""
    place: str = ""
    duration_ms: int = 0
    reads: str = ""
    known: bool = False
    """It fails on the ground too: only a claim that names it takes it."""
    by: str = ""
    """The agent that ran it by name, or saw it first; empty: a person."""

    @property
    def valid(self) -> bool:
        return self.why == "valid"


@value
class Claim:
    test_id: str
    native_id: str
    red: int
    targets: tuple[str, ...]
    implied: bool = False
    by: str = ""
    place: str = ""
    """Where its red failed, as `path:line`."""
    duration_ms: int = 0
    """How long that took."""
    weak: tuple[Debt, ...] = ()
    """Bodies that know nothing and with which its red passed."""


@value
class Refusal:
    """The last verdict on an open turn or refactor, which did not accept it."""

    verdict: str
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    next: str = ""
    unproven: bool = False
    outdated: bool = False
    """Tests were run or given up since; the same tree may be judged otherwise."""

    def __str__(self) -> str:
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return f"the refactor is not accepted [{self.verdict}]: {''.join(self.reasons[:1])}{more}"


@value
class Turn:
    id: str
    tree: str
    """The tree at its start: it holds the frozen oracle, and edits that are set aside go back to it."""
    suspended: bool = False
    judged: str | None = None
    """The tree of the last settlement within this turn."""
    foundation: str = ""
    """The blob with the foundation when the reds were claimed."""
    founded: int = 0
    """When that was, in nanoseconds."""
    why: str = ""
    """Why it is suspended; empty: HEAD moved."""
    late: bool = False
    """A person wrote before the red was seen: it lasts for one settlement."""
    reads: tuple[str, ...] = ()
    """Files without a class that the claimed tests read: they are frozen with the tests."""
    commit: str | None = ""
    """HEAD at its start; empty: unknown."""
    returned: str = ""
    """The tree in which edits had just come back."""
    refused: Refusal | None = None
    """On the tree `judged`."""


@value
class LaidAside:
    id: str
    paths: tuple[str, ...]
    edited: str
    start: str
    why: str
    test_ids: tuple[str, ...] = ()
    back_at_claim: bool = False


@value
class OpenTestBug:
    id: str
    places: tuple[str, ...]
    why: str
    tree: str
    tests: tuple[str, ...] = ()
    """`PATH::NAME` of the tests at those places."""


@value
class Refactor:
    tree: str
    record: str
    uncovered: bool = False
    strikes: int = 0
    judged: str | None = None
    foundation: str = ""
    founded: int = 0
    optimizes: bool = False
    commit: str | None = ""
    """HEAD at its start; empty: unknown."""
    refused: Refusal | None = None


LEAST_LIMIT = 120.0


@value
class Baseline:
    tree: str
    record: str
    duration_ms: int = 0
    counts: SuiteCounts | None = None

    def limit(self, configured: int) -> float:
        """The suite's time limit in seconds, from its last duration: a hang should not cost ten minutes."""
        return min(float(configured), max(LEAST_LIMIT, 3 * self.duration_ms / 1000))


@value
class SessionStart:
    """Where a session of an agent began: what it leaves is compared with this."""

    tree: str
    commit: str | None = None
    suite: str = ""
    """The blob with every test's result there, if the suite had been run."""
    seq: int = 0
    """The event that recorded it."""


@value
class Intent:
    """An effect that was announced and whose outcome is not recorded yet."""

    kind: str
    data: Mapping[str, Any]


@value
class SeenHead:
    commit: str | None
    on: str | None


@value
class Earned:
    """What was accepted last, and HEAD at that time."""

    tree: str
    commit: str | None


@value
class OpenStep:
    """A step of a driver that has begun."""

    step: int
    role: str
    commit: str
    """HEAD at its start."""
    tree: str
    """The tree at its start."""
    rest: str = ""
    """The tree that a refused attempt goes back to, if not the start: accepted edits stay."""
    proposal: str = ""
    """The blob with the commit's message."""
    verdict: str = ""
    """`accepted` once the kernel has accepted it: only the commit is left."""
    tests: tuple[str, ...] = ()
    """Accepted within it."""
    concerns: tuple[str, ...] = ()
    """Of the accepting verdict."""
    asides: int = 0
    """How many things were set aside before it began."""
    driver: str = "machine"


@value
class PassedStep:
    step: int
    role: str
    outcome: str
    why: str
    after: str
    driver: str = "machine"


@value
class MachineState:
    runs: int = 0
    first: int = 0
    last: int = 0
    """The steps of a run that has not ended; 0: there is none."""
    step: OpenStep | None = None
    passed: tuple[PassedStep, ...] = ()
    """Steps without a commit, the newest last."""
    stopped: PassedStep | None = None
    """Why the last run went no further, until a step goes on."""


PASS, CONCERNS, BLOCKER = "PASS", "CONCERNS", "BLOCKER"
"""Verdicts on the tests of a cycle."""
DONE, ABORTED = "done", "aborted"
"""How a cycle ends."""


class Stage(StrEnum):
    PLAN = "plan"
    RED = "red"
    VALIDATE = "validate"
    GREEN = "green"
    DONE = "done"


@value
class Cycle:
    id: str
    spec_id: str
    spec_path: str
    spec_hash: str
    """Of the spec as it was at the start."""
    plan: str
    on: str
    """The branch."""
    commit: str
    """HEAD at the start."""
    tree: str
    """At the start of the open stage."""
    started: int
    entered: int
    """When the open stage began; both in milliseconds since the epoch."""
    first: int = 0
    """The sequence number of its first event, and of the open stage's."""
    since: int = 0
    suite: str = ""
    """The blob with every test's result at the start."""
    stage: Stage = Stage.PLAN
    rounds: int = 0
    """Validations that sent the tests back."""
    verdict: str = ""
    """Of the last validation, until the tests are open again."""
    record: str = ""
    """The blob with that validation."""
    judged: str = ""
    """The tree that the last validation judged."""
    findings: tuple[str, ...] = ()
    plan_hash: str = ""
    planned: str = ""
    """The tree when the plan was complete, before any test was written."""
    frozen: str = ""
    """The tree whose tests the coder has to pass."""
    frozen_hash: str = ""
    """Of the spec, stamped with the PASS."""
    tests: tuple[str, ...] = ()
    """Tests that have to become green."""
    green: tuple[str, ...] = ()
    """Those of them that were accepted."""
    settled: int = 0
    """The sequence number of the last acceptance, and its tree."""
    accepted: str = ""
    bugs: int = 0
    """Test-bugs that the coder reported."""
    bug: str = ""
    """The one that waits for a ruling."""
    stopped: str = ""
    """Why it waits for a person."""
    workers: Mapping[str, tuple[Actor, ...]] = field(default_factory=dict)
    """Stage → who worked in it."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """Stage → the commit that ended it."""
    evidence: str = ""

    @property
    def open(self) -> bool:
        return self.stage is not Stage.DONE

    @property
    def proven(self) -> bool:
        return bool(self.tests) and set(self.tests) <= set(self.green)

    @property
    def authors(self) -> tuple[Actor, ...]:
        return self.workers.get(Stage.RED, ())


@value
class WorktreeState:
    phase: Phase = Phase.RED
    ground: str | None = None
    """HEAD's tree, and on top of it what was accepted and nobody had committed at the last look."""
    earned: Earned | None = None
    unearned: Mapping[str, str] = field(default_factory=dict)
    """Path → blob in HEAD of what an agent committed since, and no verdict accepted."""
    head: SeenHead | None = None
    grounds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commit → the grounds when HEAD came to it and left it, the latest last."""
    reds: Mapping[str, Red] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    turn: Turn | None = None
    turns: int = 0
    strikes: Mapping[str, int] = field(default_factory=dict)
    overfits: Mapping[str, int] = field(default_factory=dict)
    """Test id → how often held-out tests failed where it passed, until it is accepted or a person revises."""
    aside: Mapping[str, LaidAside] = field(default_factory=dict)
    asides: int = 0
    test_bugs: Mapping[str, OpenTestBug] = field(default_factory=dict)
    bugs: int = 0
    reported: tuple[str, ...] = ()
    """Tests that were revised after a report, since the last acceptance: they may ask for something else."""
    unloaded: Mapping[str, str] = field(default_factory=dict)
    """Test files that the last run of them could not load, each with the tree of that run."""
    characterized: tuple[str, ...] = ()
    """Tests that passed when they were new: they describe code that had no tests."""
    owed: Mapping[str, Debt] = field(default_factory=dict)
    """What accepted code decides and no test notices, by id, the oldest first."""
    refactor: Refactor | None = None
    baseline: Baseline | None = None
    hindrance: Hindrance | None = None
    """What kept tests from running when they were run last."""
    collected: Mapping[str, str] = field(default_factory=dict)
    """Tree → the blob with its tests, of trees of which no baseline was made."""
    sessions: Mapping[str, SessionStart] = field(default_factory=dict)
    """By the client's id, the newest last."""
    intent: Intent | None = None
    revised: tuple[str, ...] = ()
    """Given up with a reason since the last acceptance."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Tests that the kernel skipped, by id, with the reason; until one runs again."""
    held_out: Mapping[str, str] = field(default_factory=dict)
    """Path → `mode blob` of the tests that only verdicts run."""
    violations: tuple[str, ...] = ()
    """Of the open turn, newest last."""
    off_why: str = ""
    tools: tuple[str, ...] = ()
    """Sources of unknown tools that a person has allowed."""
    sent_back: int = 0
    """Stops refused in a row."""
    left_open: tuple[str, ...] = ()
    """What the last stop left open."""
    machine: MachineState = MachineState()
    cycle: Cycle | None = None
    """The open one, or the last."""
    cycles: int = 0
    configuration: Configuration | None = None
    """Its own: another worktree may have another branch's tdd.yaml."""

    @property
    def open_cycle(self) -> Cycle | None:
        return self.cycle if self.cycle is not None and self.cycle.open else None

    @property
    def suite(self) -> str:
        """How the suite stood when it was run last, in one line; empty if nobody knows."""
        health = describe_suite(self.baseline.counts if self.baseline else None, self.hindrance)
        return f"baseline: {health}" if health else ""

    @property
    def valid_reds(self) -> tuple[Red, ...]:
        return tuple(red for red in self.reds.values() if red.valid)

    @property
    def brought_reds(self) -> tuple[Red, ...]:
        """The valid reds that this change brought: tests that are new, changed, or passed on the ground."""
        return tuple(red for red in self.valid_reds if not red.known)


@value
class Configuration:
    tdd_yaml: str
    settings: Mapping[str, Any]
    classes: Any
    runner_files: tuple[str, ...] = ()
    runner: str = "unknown"


@value
class State:
    configuration: Configuration | None = None
    """The newest of any worktree."""
    worktrees: Mapping[str, WorktreeState] = field(default_factory=dict)

    def of(self, worktree: str) -> WorktreeState:
        """A worktree that the log does not know is red: adding one does not switch the law off."""
        return self.worktrees.get(worktree, WorktreeState())
