"""The base of all events, and how an event is written and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from verdigris.core.records import from_json, to_json
from verdigris.core.value import value


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).removeprefix("_")


@value
class Event:
    """One fact. Its name in the log is its class name in snake case."""

    kinds: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls, **_: object) -> None:
        Event.kinds[_snake(cls.__name__)] = cls

    @classmethod
    def kind(cls) -> str:
        return _snake(cls.__name__)


@value
class Announcement(Event):
    """An intent: an effect on the tree follows it, and then its outcome, also after a kill."""


@value
class Outcome(Event):
    """The effect that an announcement stood for is done, or undone."""


def encode(event: Event) -> tuple[str, dict[str, Any]]:
    return event.kind(), to_json(event)


def decode(kind: str, data: Mapping[str, Any]) -> Event | None:
    """None for a type that this version does not know: such an event changes no state."""
    cls = Event.kinds.get(kind)
    return None if cls is None else from_json(cls, data)
