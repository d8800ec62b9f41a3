"""Records conversations, one JSON line per exchange, and replays them.

An exchange is known by its place (which role in which step) and its number there. A place that was begun
again, as by a resumed run, counts as it went the last time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ModelMisused, ModelUnavailable, UserError
from verdigris.core.records import from_json
from verdigris.core.value import value
from verdigris.models.protocol import Ask, Message, Model, ModelReply
from verdigris.models.request import prompt_text
from verdigris.storage.durable_files import append_line, read_lines

if TYPE_CHECKING:
    from verdigris.models.providers import Scrubber


HEADER = {"recording": "verdigris", "schema": 1}


@value
class AskDigest:
    """The digest of an ask: enough to find where another one differs, without its text."""

    wants: str
    """The schema's name, or nothing."""
    messages: tuple[tuple[str, str], ...]
    """Role and digest of each."""


@value
class Exchange:
    asked: AskDigest
    reply: ModelReply


def digest_ask(ask: Ask) -> AskDigest:
    wants = ask.schema_name if ask.schema is not None else ""
    return AskDigest(wants, tuple((message.role, _digest(message)) for message in ask.messages))


def _digest(message: Message) -> str:
    text = prompt_text(Ask((message,)))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


class Recorder:
    """Appends exchanges to a file, each on the disk before its reply is used."""

    def __init__(self, path: Path, scrub: Scrubber) -> None:
        self.path = path
        self._scrub = scrub
        if path.exists() and path.stat().st_size:
            read_recording(path)  # nothing is appended to a file that is not ours

    def append(self, place: str, number: int, ask: Ask, reply: ModelReply) -> None:
        document = {"place": place, "number": number, "asked": vars(digest_ask(ask)), "reply": _reply(reply)}
        append_line(self.path, self._scrub.document(document), header=HEADER)


class Recorded:
    """A model whose exchanges are recorded."""

    def __init__(self, model: Model, recorder: Recorder, place: str) -> None:
        self._model, self._recorder, self._place = model, recorder, place
        self._number = 0

    @property
    def name(self) -> str:
        return self._model.name

    def ask(self, ask: Ask) -> ModelReply:
        reply = self._model.ask(ask)
        self._number += 1
        self._recorder.append(self._place, self._number, ask, reply)
        return reply


def read_recording(path: Path) -> Mapping[str, tuple[Exchange, ...]]:
    """The exchanges of each place, in order; a last line that was torn by a kill is left out."""
    places: dict[str, list[Exchange]] = {}
    hint = "`tdd run --record FILE` makes one; FILE must be new"
    for number, document in read_lines(path, header=HEADER, what="a recording", hint=hint):
        try:
            taken = places.setdefault(document["place"], [])
            del taken[document["number"] - 1 :]
            taken.append(from_json(Exchange, {"asked": document["asked"], "reply": document["reply"]}))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"line {number} of the recording {path} cannot be read: {error!r}", hint=hint
            ) from None
    return {place: tuple(taken) for place, taken in places.items()}


def _reply(reply: ModelReply) -> dict[str, Any]:
    """Every field but the number of tries, those with a default too."""
    fields = {name: field for name, field in vars(reply).items() if name != "tries"}
    return fields | {"calls": [vars(call) for call in reply.calls], "usage": vars(reply.usage)}


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

    def ask(self, ask: Ask) -> ModelReply:
        taken = self._recording.places.get(self._place, ())
        if self._number >= len(taken):
            raise ModelUnavailable(
                f"the recording {self._recording.path} ends: it has {len(taken)} answers for {self._place}",
                hint="replay fewer steps, or record again with `tdd run --record FILE`",
            )
        exchange, self._number = taken[self._number], self._number + 1
        self._compare(exchange.asked, digest_ask(ask))
        return exchange.reply

    def _compare(self, then: AskDigest, now: AskDigest) -> None:
        which = f"answer {self._number} of {self._place} in the recording {self._recording.path}"
        if then.wants != now.wants:
            raise ModelMisused(
                f"{which} has the form {then.wants or 'text'}, and {now.wants or 'text'} is requested",
                hint="the recording is of another run: record again with `tdd run --record FILE`",
            )
        if not self._recording.drift and (difference := first_difference(then, now)):
            self._recording.drift = f"{which} was given to another prompt: {difference}"


def first_difference(then: AskDigest, now: AskDigest) -> str:
    """Describes the first difference; empty if the asks are the same."""
    for number, (old, new) in enumerate(zip(then.messages, now.messages, strict=False), start=1):
        if old != new:
            return f"message {number} ({new[0]}) differs"
    if len(then.messages) != len(now.messages):
        return f"it had {len(then.messages)} messages, now {len(now.messages)}"
    return ""
