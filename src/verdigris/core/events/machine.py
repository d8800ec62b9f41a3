"""Events about steps of drivers that have roles, and the commits that they make."""

from __future__ import annotations

from verdigris.core.events.event import Announcement, Event, Outcome
from verdigris.core.value import value

MACHINE = "machine"
"""The driver of a step that names none, as in logs from before there were others."""


@value
class MachineStarted(Event):
    """A run of the machine; one without an end is resumed by the next."""

    first: int
    last: int
    """The steps that it is to make."""


@value
class MachineEnded(Event):
    outcome: str
    why: str = ""


@value
class StepBegun(Event):
    """One role's step, on a clean tree; what is not committed of it is set aside before another try."""

    step: int
    role: str
    commit: str
    tree: str
    driver: str = MACHINE


@value
class StepProposed(Event):
    """An edit plan that could be read, before anything of it is written."""

    step: int
    attempt: int
    proposal: str
    """The blob with what the commit's message will say."""


@value
class StepRefused(Event):
    """An attempt that came to nothing."""

    step: int
    attempt: int
    reasons: tuple[str, ...]


@value
class StepPassed(Event):
    """A step that ended without a commit, and the next role is on."""

    step: int
    role: str
    outcome: str
    why: str
    after: str
    """The driver's last commit before it; empty where there is none."""
    driver: str = MACHINE


@value
class StepStopped(Event):
    """A step that will be tried again: the attempts are used up, or a role said that it cannot go on."""

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
    step: int
    role: str
    commit: str
    driver: str = MACHINE


@value
class NotCommitted(Outcome):
    step: int
    why: str
