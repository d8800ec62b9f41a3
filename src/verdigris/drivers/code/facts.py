"""The state of an open session for its panes: read from log, worktree and meter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from verdigris.core.events import Accepted, Event, RefactorEnded, Repair, Settled
from verdigris.core.value import value
from verdigris.drivers.code.plan import Colour, colour_of
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.tools.law import events_of
from verdigris.models.protocol import Usage

MOST_LINES = 200
"""The most lines of a diff."""


@value
class StepFacts:
    """A step of the plan."""

    title: str
    test_id: str
    colour: Colour


@value
class VerdictFacts:
    """The last verdict of the session."""

    kind: str = ""
    """Empty if there is none yet."""
    tests: tuple[str, ...] = ()
    """The tests that it accepted."""
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    aside: str = ""
    """The id of the edits that were set aside."""
    refactor: bool = False


@value
class Changes:
    """A diff of the worktree."""

    of: str = ""
    """Since when: `the open turn`, `the open refactor` or `the last turn`; empty: nothing is changed."""
    lines: tuple[str, ...] = ()
    left_out: int = 0


@value
class SessionFacts:
    session: str = ""
    model: str = ""
    phase: str = ""
    steps: tuple[StepFacts, ...] = ()
    verdict: VerdictFacts = VerdictFacts()
    changes: Changes = Changes()
    usage: Usage = Usage()
    """Of this run."""
    cost: float | None = None
    """None: no prices are configured."""
    seconds: float = 0.0
    """Since the session was opened."""


def read_facts(session: Session, changes: Changes = Changes()) -> SessionFacts:  # noqa: B008 - frozen
    """`changes` is a parameter because reading the worktree costs more than all the rest."""
    project, record, spent = session.bench.project, session.file.record, session.spent()
    verdicts = session.dispatcher.verdicts()
    last = VerdictFacts()
    for event in events_of(project, record):
        last = verdict_after(last, event)
    return SessionFacts(
        session.file.name,
        session.model.name,
        str(project.state().phase),
        tuple(StepFacts(step.title, step.test_id, colour_of(step, verdicts)) for step in record.plan.steps),
        last,
        changes,
        session.meter.usage,
        spent.money,
        spent.seconds,
    )


def verdict_after(last: VerdictFacts, event: Event) -> VerdictFacts:
    match event:
        case Settled():
            return VerdictFacts(event.verdict, reasons=event.reasons, concerns=event.concerns)
        case RefactorEnded():
            return VerdictFacts(event.verdict, reasons=event.reasons, concerns=event.concerns, refactor=True)
        case Accepted():
            return replace(last, tests=(*last.tests, event.test_id))
        case Repair():
            return replace(last, aside=event.aside)
        case _:
            return last


def describe_usage(usage: Usage, count: Callable[[int], str] = str) -> str:
    """Tokens of a run. If the server does not report cached tokens, they are unknown, not none."""
    if not usage.prompt:
        return "no tokens yet"
    cached = "cached unknown"
    if usage.cache_known:
        cached = f"{count(usage.cached)} cached, {count(usage.prompt - usage.cached)} uncached"
    about = "about " if usage.estimated else ""
    total = count(usage.prompt + usage.completion)
    return f"{about}{total} tokens: {cached}, {count(usage.completion)} written"


def read_changes(session: Session) -> Changes:
    """What the open turn or refactor changed, or else the last turn that changed anything."""
    project, turns = session.bench.project, session.file.record.turns
    state, now = project.state(), project.workspace.snapshot()
    if state.turn is not None:
        start, of = state.turn.tree, "the open turn"
    elif state.refactor is not None:
        start, of = state.refactor.tree, "the open refactor"
    else:
        start, of = next((turn.tree for turn in reversed(turns) if turn.tree != now), now), "the last turn"
    paths = [change.path for change in project.workspace.changes(start, now)]
    if not paths:
        return Changes()
    lines = session.bench.scrub(project.workspace.diff(start, now, paths)).splitlines()
    return Changes(of, tuple(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES))
