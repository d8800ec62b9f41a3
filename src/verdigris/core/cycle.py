"""Decides what each stage of a cycle lets an actor do, names the next step, and folds a cycle's events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core import events as e
from verdigris.core.actions import Deny
from verdigris.core.paths import PathClass
from verdigris.core.state import Cycle, Stage
from verdigris.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.events import Event
    from verdigris.core.records import Actor


PASS, CONCERNS, BLOCKER = "PASS", "CONCERNS", "BLOCKER"
DONE, ABORTED = "done", "aborted"
SOURCE_WAITS = "cycle-red"
"""The rule that keeps source closed while the tests are written."""


_WHO = {
    Stage.PLAN: "The plan is being made: until it is complete, no test and no source is written.",
    Stage.VALIDATE: "The tests are being validated: neither they nor source change until the verdict.",
    Stage.GREEN: "The cycle's tests are frozen, and no turn is open on them.",
}


_AUTHORED = {
    Stage.RED: frozenset({PathClass.TEST, PathClass.SOURCE}),
    Stage.GREEN: frozenset({PathClass.SOURCE}),
}


def authored_classes(cycle: Cycle | None) -> frozenset[PathClass]:
    """What the open stage is there to write: who does is recorded, whichever tool it is written by."""
    return frozenset() if cycle is None else _AUTHORED.get(cycle.stage, frozenset())


def closes_stage(denial: Deny) -> bool:
    """Whether the stage lets nobody write such a file, whatever is in it."""
    return denial.rule in {f"cycle-{stage}" for stage in _WHO}


def describe_standing(cycle: Cycle) -> str:
    return f"the cycle {cycle.id} on {cycle.spec_id} stands in stage {cycle.stage}: it is not finished"


def deny_write(cycle: Cycle, name: str) -> Deny:
    """Denies writing a test, source or spec that the stage closes."""
    why = "The cycle waits for a person." if cycle.stopped else _WHO.get(cycle.stage, "")
    return Deny(f"cycle-{cycle.stage}", f"{name}: {why}", next_step(cycle))


def deny_spec(cycle: Cycle) -> Deny:
    return Deny(
        "cycle-spec",
        f"{cycle.spec_path} is the spec of the open cycle {cycle.id}: it cannot be edited, only superseded.",
        supersede_steps(cycle),
    )


def supersede_steps(cycle: Cycle) -> str:
    return (
        f"leave it as it was; if a requirement must change, a person runs `tdd cycle abort --why WHY`, "
        f"`tdd spec supersede {cycle.spec_path}`, activates the new spec, and starts a cycle on that"
    )


def deny_source(cycle: Cycle, path: str) -> Deny:
    """More than stubs, while the tests are still being written."""
    return Deny(
        SOURCE_WAITS,
        f"{path or 'this edit'}: source waits until the tests of {cycle.spec_id} are validated and frozen; "
        "now only stubs marked STUB:TDD are written, which return a value, so that an assertion fails.",
        next_step(cycle),
    )


def deny_claim(cycle: Cycle, test_id: str) -> Deny | None:
    """In a cycle, freezing claims: what is claimed otherwise is a frozen test whose turn ended early."""
    if cycle.stage is not Stage.GREEN or cycle.stopped:
        return Deny(
            "cycle-claim",
            f"In a cycle nobody claims by hand: `tdd cycle freeze` does (stage {cycle.stage}).",
            next_step(cycle),
        )
    if test_id not in cycle.tests:
        return Deny("cycle-claim", f"{test_id} is no test that this cycle froze.", next_step(cycle))
    return None


def next_step(cycle: Cycle, *, turn: bool = False) -> str:
    """The move that leads on; `turn`: the coder's turn is open."""
    if cycle.bug:
        return (
            f"a person or the validator rules on {cycle.bug}: `tdd cycle test-bug uphold WHY` opens the "
            "tests again, `tdd cycle test-bug dismiss WHY` lets the coder go on"
        )
    if cycle.stopped:
        return "a person decides: `tdd cycle resume --why WHY`, or `tdd cycle abort --why WHY`"
    match cycle.stage:
        case Stage.PLAN:
            return f"write the plan to {cycle.plan}, then `tdd cycle advance`"
        case Stage.RED:
            return (
                "write tests that carry `@scenario: ID` in a comment and fail on an assertion, then "
                f"`tdd cycle advance`; `tdd spec show {cycle.spec_path}` lists the ids"
            )
        case Stage.VALIDATE if cycle.verdict == PASS:
            return "`tdd cycle freeze`"
        case Stage.VALIDATE:
            return "`tdd cycle validate`, by somebody who did not write the tests"
        case Stage.GREEN if cycle.proven:
            return "`tdd cycle advance` writes the evidence"
        case Stage.GREEN if turn:
            return "make the frozen tests pass, then `tdd settle`"
        case Stage.GREEN:
            return "`tdd cycle resume` opens the coder's turn again"
        case Stage.DONE:
            return f"{cycle.evidence} has the evidence; review the code"


def cycle_after(cycle: Cycle | None, event: Event, seq: int) -> Cycle | None:
    if isinstance(event, e.CycleStarted):
        return _start(event, seq)
    if cycle is None or not cycle.open:
        return cycle
    match event:
        case e.CycleAdvanced():
            return _advance(cycle, event, seq)
        case e.CycleValidated():
            return _validate(cycle, event)
        case e.CycleFrozen():
            return _freeze(cycle, event, seq)
        case e.CycleEnded(outcome="done"):
            commits = {**cycle.commits, Stage.GREEN: event.commit}
            ended = replace(cycle, stage=Stage.DONE, entered=event.at, since=seq)
            workers = _join_workers(cycle, Stage.GREEN, event.workers)
            return replace(ended, commits=commits, evidence=event.evidence, workers=workers)
        case e.CycleEnded() | e.SwitchedOff():
            return None
        case _:
            return _within_stage(cycle, event, seq)


def _within_stage(cycle: Cycle, event: Event, seq: int) -> Cycle:
    match event:
        case e.CycleMoved():
            return replace(cycle, tree=event.tree)
        case e.CycleStopped():
            return replace(cycle, stopped=event.why)
        case e.CycleResumed():
            return replace(cycle, stopped="", bug="")
        case e.TestBug() if cycle.stage is Stage.GREEN:
            why = f"the coder says that a test is wrong: {', '.join(event.places)} — {event.why}"
            return replace(cycle, bugs=cycle.bugs + 1, bug=event.bug, stopped=why)
        case e.Accepted() if cycle.stage is Stage.GREEN:
            green = (*cycle.green, event.test_id)
            return replace(cycle, green=green, settled=seq, accepted=event.after, tree=event.after)
        case _:
            return cycle


def _start(event: e.CycleStarted, seq: int) -> Cycle:
    return Cycle(
        event.cycle,
        event.spec_id,
        event.spec_path,
        event.spec_hash,
        event.plan,
        event.on,
        event.commit,
        event.tree,
        event.at,
        event.at,
        seq,
        seq,
        suite=event.suite,
    )


def _advance(cycle: Cycle, event: e.CycleAdvanced, seq: int) -> Cycle:
    left = cycle.stage
    commits = {**cycle.commits, left: event.commit} if event.commit else cycle.commits
    again = event.stage == Stage.RED
    return replace(
        cycle,
        stage=Stage(event.stage),
        tree=event.tree,
        entered=event.at,
        since=seq,
        plan_hash=event.plan_hash or cycle.plan_hash,
        planned=event.tree if left is Stage.PLAN else cycle.planned,
        workers=_join_workers(cycle, left, event.workers),
        commits=commits,
        verdict="" if again else cycle.verdict,
        stopped="",
        bug="",
        green=() if again else cycle.green,
    )


def _freeze(cycle: Cycle, event: e.CycleFrozen, seq: int) -> Cycle:
    return replace(
        cycle,
        stage=Stage.GREEN,
        entered=event.at,
        since=seq,
        tree=event.tree,
        frozen=event.tree,
        frozen_hash=event.spec_hash,
        tests=event.tests,
        commits={**cycle.commits, Stage.RED: event.commit},
    )


def _validate(cycle: Cycle, event: e.CycleValidated) -> Cycle:
    return replace(
        cycle,
        verdict=event.verdict,
        record=event.record,
        judged=event.tree,
        findings=event.findings,
        rounds=cycle.rounds + (event.verdict != PASS),
        workers=_join_workers(cycle, Stage.VALIDATE, (event.by,), anew=True),
        stopped=event.findings[0] if event.verdict == BLOCKER and event.findings else "",
    )


def _join_workers(
    cycle: Cycle, stage: str, workers: tuple[Actor, ...], *, anew: bool = False
) -> Mapping[str, tuple[Actor, ...]]:
    known = () if anew else cycle.workers.get(stage, ())
    return {**cycle.workers, stage: tuple(dict.fromkeys((*known, *workers)))}
