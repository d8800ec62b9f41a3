"""Events about a cycle: from a spec to evidence, stage by stage."""

from __future__ import annotations

from verdigris.core.events.event import Event
from verdigris.core.records import Actor
from verdigris.core.value import value


@value
class CycleStarted(Event):
    """Nothing but the plan may be written until it is there."""

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
    """What the stage before left in git."""
    plan_hash: str = ""
    why: str = ""


@value
class CycleMoved(Event):
    """Commits from elsewhere came into the tree of the open stage."""

    cycle: str
    tree: str


@value
class CycleValidated(Event):
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
    """The oracle is pinned: the spec's hash, the tree, the commit; the coder is on."""

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
    cycle: str
    at: int
    by: Actor
    why: str = ""


@value
class CycleEnded(Event):
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
    """A person's word on a spec: who it was stands in the record."""

    spec_id: str
    spec_path: str
    spec_hash: str
    """Of the normalized file, with its new status."""
    status: str
