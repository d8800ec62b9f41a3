"""Events about drivers: steps of roles with their commits, and the stages of a cycle."""

from __future__ import annotations

from verdigris.core.records import Actor, Announcement, Event, Outcome
from verdigris.core.value import value


@value
class CycleStarted(Event):
    """Only the plan may be written until it is complete."""

    cycle: str
    spec_id: str
    spec_path: str
    spec_hash: str
    """Of the normalized file, as it was then."""
    plan: str
    """Where the plan is to be written."""
    tree: str
    commit: str
    on: str
    """The branch."""
    at: int
    """Milliseconds since the epoch."""
    by: Actor
    suite: str = ""
    """The blob with every test's result before anything was written."""


@value
class CycleAdvanced(Event):
    """A stage is done; the next one is open."""

    cycle: str
    stage: str
    """The one that is open now."""
    tree: str
    at: int
    by: Actor
    workers: tuple[Actor, ...] = ()
    """Who worked in the stage before."""
    commit: str = ""
    """The commit that ended the stage before."""
    plan_hash: str = ""
    why: str = ""


@value
class CycleMoved(Event):
    """Commits from elsewhere came into the tree of the open stage."""

    cycle: str
    tree: str


@value
class CycleValidated(Event):
    """The tests of a cycle were validated: the verdict with its checks."""

    cycle: str
    verdict: str
    """`PASS`, `CONCERNS` or `BLOCKER`."""
    record: str
    """The blob with the checks and findings."""
    tree: str
    at: int
    by: Actor
    findings: tuple[str, ...] = ()


@value
class CycleFrozen(Event):
    """The oracle is pinned by the spec's hash, the tree and the commit; the coder's stage begins."""

    cycle: str
    spec_hash: str
    tree: str
    commit: str
    tests: tuple[str, ...]
    at: int
    by: Actor


@value
class CycleStopped(Event):
    """It waits for a person."""

    cycle: str
    why: str


@value
class CycleResumed(Event):
    """A person let a stopped cycle go on."""

    cycle: str
    at: int
    by: Actor
    why: str = ""


@value
class CycleEnded(Event):
    """A cycle is done, or aborted."""

    cycle: str
    outcome: str
    """`done` or `aborted`."""
    at: int
    by: Actor
    why: str = ""
    evidence: str = ""
    commit: str = ""
    tree: str = ""
    workers: tuple[Actor, ...] = ()
    """Who wrote the code."""


@value
class SpecStatusSet(Event):
    """A person set the status of a spec; the record names the person."""

    spec_id: str
    spec_path: str
    spec_hash: str
    """Of the normalized file, with its new status."""
    status: str


MACHINE = "machine"
"""The driver of a step that names none: logs of older versions have no other."""


@value
class MachineStarted(Event):
    """A run of the machine; the next run resumes one that has not ended."""

    first: int
    last: int
    """The numbers of its steps."""


@value
class MachineEnded(Event):
    """A run of the machine ended, and why."""

    outcome: str
    why: str = ""


@value
class StepBegun(Event):
    """One role's step, on a clean tree; its uncommitted edits are set aside before another try."""

    step: int
    role: str
    commit: str
    tree: str
    driver: str = MACHINE


@value
class StepProposed(Event):
    """A readable plan of edits, before any of them is written."""

    step: int
    attempt: int
    proposal: str
    """The blob with the commit's message."""


@value
class StepRefused(Event):
    """An attempt that was refused."""

    step: int
    attempt: int
    reasons: tuple[str, ...]


@value
class StepPassed(Event):
    """A step that ended without a commit; the next role follows."""

    step: int
    role: str
    outcome: str
    why: str
    after: str
    """The driver's last commit before it; empty where there is none."""
    driver: str = MACHINE


@value
class StepStopped(Event):
    """A step that the next run tries again: its attempts are used up, or the role cannot go on."""

    step: int
    role: str
    outcome: str
    why: str
    driver: str = MACHINE


@value
class Committing(Announcement):
    """A judged tree is about to be committed by the user's own git."""

    step: int
    role: str
    parent: str
    tree: str
    message: str
    """The blob with it."""
    paths: tuple[str, ...]
    driver: str = MACHINE


@value
class Committed(Outcome):
    """The user's git made the commit."""

    step: int
    role: str
    commit: str
    driver: str = MACHINE


@value
class NotCommitted(Outcome):
    """The user's git made no commit, and why."""

    step: int
    why: str
