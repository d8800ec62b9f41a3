"""The conversation with a model that reads before it answers: bounded in rounds and in what it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.models.protocol import Ask, Message, Model, Reply, Usage
from verdigris.models.roles.tools import answer

if TYPE_CHECKING:
    from verdigris.models.roles.material import Material

ROUNDS = 6
"""Of one step."""
CHARACTERS = 120_000
"""Of all that the tools give in one conversation."""
_CALLS = 16
"""Answered in one round."""
_ENOUGH = "You have read enough: no tool gives anything any more. Answer now."


@value
class Exchange:
    ask: Ask
    reply: Reply


@value
class Conversed:
    reply: Reply
    """The answer itself; its calls are not carried out any more."""
    ask: Ask
    """What was asked last, with all that was read: to go on from."""
    exchanges: tuple[Exchange, ...]
    read: tuple[str, ...] = ()
    """Files that were given whole."""

    @property
    def usage(self) -> Usage:
        return sum((each.reply.usage for each in self.exchanges), Usage())


def converse(
    model: Model, ask: Ask, material: Material, *, rounds: int = ROUNDS, characters: int = CHARACTERS
) -> Conversed:
    """After so many rounds the tools are taken away, and stay so: the last question offers none."""
    exchanges: list[Exchange] = []
    read: list[str] = []
    left = characters
    while True:
        reply = model.ask(ask)
        exchanges.append(Exchange(ask, reply))
        if not reply.calls or not ask.tools:
            return Conversed(reply, ask, tuple(exchanges), tuple(dict.fromkeys(read)))
        over = len(exchanges) > rounds
        answers: list[Message] = []
        for number, call in enumerate(reply.calls):
            found = None if over or left <= 0 or number >= _CALLS else answer(call, material, left)
            text = _ENOUGH if found is None else found.text
            answers.append(Message("tool", text, call_id=call.id))
            if found is not None:
                left -= len(found.text)
                read += [found.path] if found.path else []
        ask = replace(
            ask,
            messages=(*ask.messages, Message("assistant", reply.text, reply.calls), *answers),
            tools=() if over else ask.tools,
        )
