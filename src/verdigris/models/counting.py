"""How many tokens a text is, without any model's tokenizer, and how much of a prompt may be cached.

`estimate` depends on the text alone, so what a model is shown by it is the same in a resumed run. `Counter`
learns from what a server reports: for what people are shown, and for budgets.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.models.protocol import Ask, Message

_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<space>\s+)|(?P<marks>[!-/:-@\[-`{-~]+)"
    r"|(?P<picture>[\U00010000-\U0010ffff])|(?P<foreign>[\x80-\uffff]+)|."
)
_MESSAGE = 4
"""Tokens around a message: its role and its ends."""


def estimate(text: str) -> int:
    """Within a fifth of what OpenAI's tokenizers make of code and prose; of other scripts mostly more."""
    return round(sum(_cost(match) for match in _PIECE.finditer(text)))


def _cost(piece: re.Match[str]) -> float:
    size = piece.end() - piece.start()
    match piece.lastgroup:
        case "word":
            return 1 if size <= 8 else size / 5.5  # noqa: PLR2004 - measured
        case "digits":
            return -(-size // 3)
        case "space":
            return 0 if piece.group() == " " else 1
        case "marks":
            return max(1.0, size / 2.5)
        case "picture":
            return 2
        case "foreign":
            return len(piece.group().encode(errors="surrogatepass")) / 3.3
        case _:
            return 1


def estimate_ask(ask: Ask) -> int:
    return estimate(prompt_text(ask)) + _MESSAGE * len(ask.messages)


def prompt_text(ask: Ask) -> str:
    """What a server makes a prompt of, in its order: the tools, then the messages.

    A schema is left out: servers enforce it by a grammar, and only some also put it before all else.
    """
    tools = [f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters)}" for tool in ask.tools]
    return "\n".join([*tools, *map(_message_text, ask.messages)])


def _message_text(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    return "\n".join([message.role, *filter(None, [message.call_id]), message.content, *calls])


class Counter:
    """Estimates, corrected by the share of them that a server's reports came to."""

    def __init__(self) -> None:
        self._estimated = 0.0
        self._reported = 0.0

    def learn(self, estimated: int, reported: int) -> None:
        """Recent reports weigh more: a model may be exchanged behind its name."""
        if estimated > 0 and reported > 0:
            self._estimated = self._estimated / 2 + estimated
            self._reported = self._reported / 2 + reported

    @property
    def ratio(self) -> float:
        return min(4.0, max(0.25, self._reported / self._estimated)) if self._estimated else 1.0

    def count(self, text: str) -> int:
        return round(estimate(text) * self.ratio)

    def count_ask(self, ask: Ask) -> int:
        return round(estimate_ask(ask) * self.ratio)


@value
class Share:
    """Of a prompt, in estimated tokens."""

    prompt: int
    shared: int
    """From its beginning, with the call before."""

    @property
    def share(self) -> float:
        return self.shared / self.prompt if self.prompt else 0.0


def prefix_share(before: Ask | None, now: Ask) -> Share:
    text = prompt_text(now)
    shared = "" if before is None else text[: _common(prompt_text(before), text)]
    return Share(estimate(text), min(estimate(shared), estimate(text)))


def whole_share(shares: Sequence[Share]) -> Share:
    """Of many calls together. The first has no call before it, and counts nevertheless."""
    return Share(sum(each.prompt for each in shares), sum(each.shared for each in shares))


def _common(one: str, other: str) -> int:
    """How many characters they share from the beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
