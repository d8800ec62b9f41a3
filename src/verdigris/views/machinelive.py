"""How a run stands at a glance: role, step, attempt, time, tokens, a dot a step, the last verdict."""

from __future__ import annotations

from dataclasses import replace

from verdigris.core.value import value
from verdigris.drivers.machine import events as w
from verdigris.views.machine import DOTS, passed_by

_PASSED = "·"


@value
class Glance:
    first: int = 0
    last: int = 0
    step: int = 0
    role: str = ""
    player: str = ""
    attempt: int = 0
    attempts: int = 0
    tokens: int = 0
    cached: int = 0
    dots: tuple[tuple[str, str], ...] = ()
    """A mark and its colour, one for each step that has ended."""
    verdict: str = ""
    doing: str = ""


def after(glance: Glance, happening: w.Happening) -> Glance:
    match happening:
        case w.RunBegan():
            return replace(glance, first=happening.first, last=happening.last)
        case w.StepBegan():
            return replace(
                glance,
                step=happening.step,
                role=happening.role,
                player=happening.player,
                attempt=0,
                attempts=happening.attempts,
                doing="reads",
            )
        case w.Attempted():
            return replace(glance, attempt=happening.attempt, doing="writes")
        case w.Asked():
            cached = glance.cached + happening.cached
            return replace(glance, tokens=happening.total, cached=cached, doing="is judged")
        case w.Delayed():
            return replace(glance, doing=f"waits: {happening.why}")
        case w.Refused():
            return replace(glance, verdict=f"attempt {happening.attempt} was refused", doing="tries again")
        case w.StepEnded():
            dot = ("●", DOTS[happening.role]) if happening.commit else (_PASSED, passed_by(happening))
            verdict = happening.verdict or happening.outcome
            return replace(glance, dots=(*glance.dots, dot), verdict=verdict, doing="")
        case _:
            return glance


def told(glance: Glance, elapsed: float) -> list[str]:
    """Two lines below the dots."""
    minutes, seconds = divmod(int(elapsed), 60)
    attempt = f", attempt {glance.attempt} of {glance.attempts}" if glance.attempt else ""
    doing = f" {glance.doing}" if glance.doing else ""
    cached = f" ({glance.cached} cached)" if glance.cached else ""
    return [
        f"step {glance.step} of {glance.last}: the {glance.role}{doing}{attempt}  ({glance.player})",
        f"{minutes}:{seconds:02}  {glance.tokens} tokens{cached}  {glance.verdict}",
    ]
