"""Records conversations, one JSON line per exchange, and replays them.

An exchange is known by its place (which role in which step) and its number there. A place that was begun
again, as by a resumed run, counts as it went the last time.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ModelMisused, ModelUnavailable, StorageError, UserError
from verdigris.core.value import value
from verdigris.models.protocol import Ask, ModelReply, ToolCall, Usage
from verdigris.models.request import prompt_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.models.protocol import Message, Model
    from verdigris.models.secrets import Scrubber


HEADER = {"recording": "verdigris", "schema": 1}


@value
class AskDigest:
    """What is kept of an ask: enough to tell where another differs, and none of its text."""

    wants: str
    """The schema's name, or nothing."""
    messages: tuple[tuple[str, str], ...]
    """Role and digest of each."""


@value
class Exchange:
    asked: AskDigest
    reply: ModelReply


def asked_of(ask: Ask) -> AskDigest:
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
        document = {"place": place, "number": number, "asked": _digest_ask(ask), "reply": _reply(reply)}
        line = json.dumps(self._scrub.document(document)).encode() + b"\n"
        try:
            with self.path.open("ab") as file:
                whole = _whole_lines(self.path, file.tell())
                file.truncate(whole)
                file.write(line if whole else json.dumps(HEADER).encode() + b"\n" + line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(
                f"cannot record to {self.path}: {error.strerror}", hint="name another file"
            ) from None


def _whole_lines(path: Path, end: int) -> int:
    """The size of a file without a last line that was torn by a kill."""
    with path.open("rb") as file:
        file.seek(max(0, end - 1))
        if file.read(1) in {b"", b"\n"}:
            return end
        file.seek(0)
        return file.read().rfind(b"\n") + 1


class Recorded:
    """Any model, with what it is asked and answers written down."""

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
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read the recording {path}: {error.strerror}") from None
    if not _is_header(lines[0]):
        raise UserError(
            f"{path} is not a recording", hint="`tdd run --record FILE` makes one; FILE must be new"
        )
    places: dict[str, list[Exchange]] = {}
    for number, line in enumerate(lines[1:-1], start=2):
        try:
            document = json.loads(line)
            taken = places.setdefault(document["place"], [])
            del taken[document["number"] - 1 :]
            taken.append(Exchange(_read_asked(document["asked"]), _read_reply(document["reply"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"line {number} of the recording {path} cannot be read: {error!r}") from None
    return {place: tuple(taken) for place, taken in places.items()}


def _is_header(line: bytes) -> bool:
    try:
        return bool(json.loads(line) == HEADER)
    except ValueError:
        return False


def _digest_ask(ask: Ask) -> dict[str, Any]:
    asked = asked_of(ask)
    return {"wants": asked.wants, "messages": asked.messages}


def _reply(reply: ModelReply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "text": reply.text,
        "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls],
        "usage": {
            "prompt": usage.prompt,
            "cached": usage.cached,
            "completion": usage.completion,
            "estimated": usage.estimated,
            "cache_known": usage.cache_known,
        },
        "finish": reply.finish,
        "model": reply.model,
    }


def _read_asked(document: Mapping[str, Any]) -> AskDigest:
    return AskDigest(document["wants"], tuple((role, digest) for role, digest in document["messages"]))


def _read_reply(document: Mapping[str, Any]) -> ModelReply:
    return ModelReply(
        document["text"],
        tuple(ToolCall(**call) for call in document["calls"]),
        Usage(**document["usage"]),
        document["finish"],
        document["model"],
    )


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
        self._compare(exchange.asked, asked_of(ask))
        return exchange.reply

    def _compare(self, then: AskDigest, now: AskDigest) -> None:
        which = f"answer {self._number} of {self._place} in the recording {self._recording.path}"
        if then.wants != now.wants:
            raise ModelMisused(
                f"{which} has the form {then.wants or 'text'}, and {now.wants or 'text'} is asked for",
                hint="the recording is of another run: record again with `tdd run --record FILE`",
            )
        if not self._recording.drift and (difference := first_difference(then, now)):
            self._recording.drift = f"{which} was given to another prompt: {difference}"


def first_difference(then: AskDigest, now: AskDigest) -> str:
    """In words; empty where the asks are the same."""
    for number, (old, new) in enumerate(zip(then.messages, now.messages, strict=False), start=1):
        if old != new:
            return f"message {number} ({new[0]}) differs"
    if len(then.messages) != len(now.messages):
        return f"it had {len(then.messages)} messages, now {len(now.messages)}"
    return ""
