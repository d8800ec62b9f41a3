"""Intents: events that announce an effect, and how one that a kill left open is finished or undone.

The module that carries an effect out registers here how its intent is finished: with `carries_out` if
the effect can be repeated, else with `finishes`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from verdigris.core.errors import HarnessError
from verdigris.core.events import Event
from verdigris.core.records import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.storage.project import Project

    Finish = Callable[[Project, "Intent"], str]

Intent = TypeVar("Intent", bound=Event)
Effect = TypeVar("Effect", bound="Callable[..., object]")
GROUP = "verdigris.intents"
"""The group of entry points: modules of other packages that register intents."""
HOMES = (
    "verdigris.turns.aside",
    "verdigris.turns.candidate_run",
    "verdigris.turns.rollback",
    "verdigris.turns.person",
    "verdigris.execution.test_run",
    "verdigris.turns.git",
    "verdigris.turns.skip",
)
"""Our modules that register intents; they are loaded only if an intent is open."""
_FINISHERS: dict[type[Event], Callable[..., str]] = {}


def finishes(kind: type[Intent]) -> Callable[[Finish[Intent]], Finish[Intent]]:
    """Registers a function that finishes or undoes an intent of this kind and says which, in words."""

    def register(finish: Finish[Intent]) -> Finish[Intent]:
        _FINISHERS[kind] = finish
        return finish

    return register


def carries_out(kind: type[Event], done: str) -> Callable[[Effect], Effect]:
    """Registers a function that carries an intent out and may be repeated after a kill.

    `done` reports it to a person; `{intent.NAME}` in it stands for a field of the intent.
    """

    def register(effect: Effect) -> Effect:
        def finish(project: Project, intent: Event) -> str:
            effect(project, intent)
            return done.format(intent=intent)

        _FINISHERS[kind] = finish
        return effect

    return register


def finisher_of(kind: type[Event]) -> Callable[..., str]:
    for name in HOMES:
        import_module(name)
    if kind not in _FINISHERS:
        from verdigris.seams import Seam

        tuple(Seam(GROUP).others())
    if kind not in _FINISHERS:
        raise HarnessError(
            f"the log announces an effect ({kind.__name__}) that no installed package can finish",
            hint="install the package that made it, or ask for help with `tdd log`",
        )
    return _FINISHERS[kind]


def recover(project: Project) -> str | None:
    """Finishes or undoes an open intent; returns which, in words. None if no intent was open."""
    pending = project.state().intent
    if pending is None:
        return None
    kind = Event.kinds[pending.kind]
    return finisher_of(kind)(project, from_json(kind, pending.data))
