"""What a session's model is sent: a pinned prefix, and a conversation that is only ever added to.

Nothing that changes from turn to turn (a clock, the cost, the phase) stands before the last message, so that
every prompt begins with the prompt before it. Scratch, such as digests of files, is never in here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.models.protocol import Ask, Message
from verdigris.models.request import estimate
from verdigris.models.tool_calls import cancel_calls, sendable_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.models.protocol import ModelReply, ToolSpec

KEPT_TOKENS = 8_000
"""Of the newest messages, as they were, after a compaction."""
INSTRUCTION_CHARACTERS = 24_000
"""Of the repository's own instructions."""
_CUT = "\n… (the rest is left out: read_file has it)"


@value
class Conversation:
    prefix: tuple[Message, ...]
    """The same for the whole session."""
    said: tuple[Message, ...] = ()

    def add(self, *messages: Message) -> Conversation:
        return replace(self, said=(*self.said, *messages))

    def ask(self, tools: tuple[ToolSpec, ...]) -> Ask:
        return Ask((*self.prefix, *self.said), tools=tools, needs_tools=True)


def pin_prefix(system: str, instructions: Iterable[tuple[str, str]]) -> tuple[Message, ...]:
    """`instructions`: name and text of the files in which a repository tells agents what it wants."""
    parts = [system.strip()]
    for name, text in instructions:
        shown = text.strip()
        if len(shown) > INSTRUCTION_CHARACTERS:
            shown = shown[:INSTRUCTION_CHARACTERS] + _CUT
        parts.append(f"# {name} of this repository\n\n{shown}")
    return (Message("system", "\n\n".join(parts)),)


def reply_message(reply: ModelReply) -> Message:
    """As it goes back to the model with the next question."""
    return Message("assistant", reply.text, sendable_calls(reply.calls))


def close_calls(conversation: Conversation, why: str) -> Conversation:
    """No server takes a conversation in which a call has no answer."""
    return conversation.add(*cancel_calls(conversation.said, why))


@value
class Essentials:
    """What a compaction keeps word for word."""

    tasks: tuple[str, ...]
    """What the person asked for, the latest last."""
    law: tuple[str, ...] = ()
    """Phase, open reds and claims."""
    plan: str = ""
    verdicts: tuple[str, ...] = ()
    """The footers of the turns so far."""


def compact(conversation: Conversation, keep: Essentials, *, kept_tokens: int = KEPT_TOKENS) -> Conversation:
    """One deliberate rebuild: the essentials, and the newest messages from a reply on."""
    parts = ["The conversation so far was too long and is left out; this is what matters of it."]
    parts += [f"# Task\n{task}" for task in keep.tasks]
    parts += ["# Where the law stands\n" + "\n".join(keep.law)] if keep.law else []
    parts += [f"# Plan\n{keep.plan}"] if keep.plan else []
    parts += ["# Verdicts so far\n" + "\n".join(keep.verdicts)] if keep.verdicts else []
    parts.append("Read a file again before you edit it.")
    start = Message("user", "\n\n".join(parts))
    return replace(conversation, said=(start, *_newest(conversation.said, kept_tokens)))


def _newest(said: Sequence[Message], tokens: int) -> Sequence[Message]:
    """From a reply on: an answer to a call never stands without its call."""
    starts = [at for at, message in enumerate(said) if message.role == "assistant"]
    for at in starts:
        if sum(estimate(_text(message)) for message in said[at:]) <= tokens:
            return said[at:]
    return ()


def _text(message: Message) -> str:
    return message.content + "".join(call.arguments for call in message.calls)
