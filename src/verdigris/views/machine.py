"""A run of the machine as lines for people and as JSON events for programs."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from verdigris.agents.roles.plan import Say
from verdigris.core.codec import to_json
from verdigris.drivers.machine import watching as w
from verdigris.drivers.machine.position import NOTHING_RED, NOTHING_TO_DO
from verdigris.views.line import Line, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.views.line import Dot

DOTS: dict[str, Dot] = {"tester": "red", "implementor": "green", "refactorer": "green"}
_SHORT = 9
_FINE = frozenset({NOTHING_TO_DO, NOTHING_RED, Say.KATA_DONE})


def lines(happening: w.Happening) -> list[Line]:
    return list(_lines(happening))


def _lines(happening: w.Happening) -> Iterator[Line]:
    match happening:
        case w.RunBegan():
            again = ", taken up again" if happening.resumed else ""
            yield Line(f"steps {happening.first} to {happening.last}{again}, for {happening.branch}")
            yield from (Line(f"  {player}") for player in _players(happening.models))
            yield Line(f"  in {happening.worktree}")
        case w.StepBegan():
            yield Line(f"step {happening.step}: {happening.role} ({happening.player})")
        case w.Delayed():
            yield Line(f"  waiting: {happening.why}")
        case w.Refused():
            which = f"attempt {happening.attempt} " if happening.attempt else ""
            yield Line(f"  {which}not accepted: {happening.why}", "yellow")
        case w.StepEnded():
            yield from _ended(happening)
        case w.Noted():
            yield Line(f"note: {happening.text}")
        case w.YourTurn():
            yield Line(f"step {happening.step}: you are the {happening.role}", "yellow")
            yield from (Line(f"  {line}") for text in happening.what for line in text.splitlines())
        case w.RunEnded():
            yield from _summary(happening)


def _players(models: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """A line for each model, with the roles that it plays."""
    for model in dict.fromkeys(model for _, model in models):
        roles = ", ".join(role for role, played in models if played == model)
        yield f"{roles}: {model}"


def _ended(step: w.StepEnded) -> Iterator[Line]:
    if step.commit:
        yield Line(
            f"step {step.step}: {step.verdict}: {step.commit[:_SHORT]} {step.subject}", DOTS[step.role]
        )
    else:
        yield Line(f"step {step.step}: {step.role}: {step.outcome}: {step.why}", passed_by(step))


def passed_by(step: w.StepEnded) -> Dot:
    """A step without a commit: as it should be, or something to look at."""
    return "green" if step.outcome in _FINE else "yellow"


def _summary(ended: w.RunEnded) -> Iterator[Line]:
    why = f": {ended.why}" if ended.why else ""
    made = f"{counted(ended.steps, 'step')}, {counted(len(ended.commits), 'commit')}"
    yield Line(f"{ended.outcome}{why}", "green" if ended.outcome in {"steps-made", "kata-done"} else "yellow")
    cached = f", {ended.cached} cached" if ended.cached else ""
    share = f"; {ended.prefix:.0%} of the prompts as in the call before" if ended.tokens else ""
    yield Line(f"  {made}; {ended.tokens} tokens{cached}{share}")
    yield Line(f"next: {ended.following}")


def document(happening: w.Happening) -> dict[str, Any]:
    """Every field, also one that holds its default."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(happening).__name__).lower()
    names = [field.name for field in fields(happening)]
    return {"event": kind, **{name: to_json(getattr(happening, name)) for name in names}}
