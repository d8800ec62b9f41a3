"""Folds the events of a cycle into its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core import events as e
from verdigris.core.cycle import BLOCKER, PASS
from verdigris.core.state import Cycle, Stage
from verdigris.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.events import Event
    from verdigris.core.records import Actor


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
            workers = _joined(cycle, Stage.GREEN, event.workers)
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
        workers=_joined(cycle, left, event.workers),
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
        workers=_joined(cycle, Stage.VALIDATE, (event.by,), anew=True),
        stopped=event.findings[0] if event.verdict == BLOCKER and event.findings else "",
    )


def _joined(
    cycle: Cycle, stage: str, workers: tuple[Actor, ...], *, anew: bool = False
) -> Mapping[str, tuple[Actor, ...]]:
    known = () if anew else cycle.workers.get(stage, ())
    return {**cycle.workers, stage: tuple(dict.fromkeys((*known, *workers)))}
