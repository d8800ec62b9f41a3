"""A model that answers from a recorded conversation.

Answers are found by place and order, so a recording outlives edits of the prompts. What is asked for must be
the same still (a plan, an edit): a recording that is out of step says so instead of answering something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import ModelMisused, ModelUnavailable
from verdigris.models.recording import asked_of, read_recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.models.protocol import Ask, Reply
    from verdigris.models.recording import Asked, Exchange


class Recording:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: Mapping[str, tuple[Exchange, ...]] = read_recording(path)
        self.drift = ""
        """The first ask whose wording was another when it was recorded; empty while there is none."""

    def at(self, place: str) -> Replay:
        return Replay(self, place)


class Replay:
    def __init__(self, recording: Recording, place: str) -> None:
        self._recording, self._place = recording, place
        self._number = 0

    @property
    def name(self) -> str:
        return f"replay:{self._recording.path.name}"

    def ask(self, ask: Ask) -> Reply:
        taken = self._recording.places.get(self._place, ())
        if self._number >= len(taken):
            raise ModelUnavailable(
                f"the recording {self._recording.path} ends: it has {len(taken)} answers for {self._place}",
                hint="replay fewer steps, or record again with `tdd run --record FILE`",
            )
        exchange, self._number = taken[self._number], self._number + 1
        self._compare(exchange.asked, asked_of(ask))
        return exchange.reply

    def _compare(self, then: Asked, now: Asked) -> None:
        which = f"answer {self._number} of {self._place} in the recording {self._recording.path}"
        if then.wants != now.wants:
            raise ModelMisused(
                f"{which} is {then.wants or 'a text'}, and {now.wants or 'a text'} is asked",
                hint="the recording is of another run: record again with `tdd run --record FILE`",
            )
        if not self._recording.drift and (difference := first_difference(then, now)):
            self._recording.drift = f"{which} was given to another prompt: {difference}"


def first_difference(then: Asked, now: Asked) -> str:
    """In words; empty where the asks are the same."""
    for number, (old, new) in enumerate(zip(then.messages, now.messages, strict=False), start=1):
        if old != new:
            return f"message {number} ({new[0]}) differs"
    if len(then.messages) != len(now.messages):
        return f"it had {len(then.messages)} messages, now {len(now.messages)}"
    return ""
