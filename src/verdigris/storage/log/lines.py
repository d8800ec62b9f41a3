"""The lines of the log: their encoding, the head record and the hash chain."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

from verdigris.core.errors import REPAIR, LogDamaged
from verdigris.core.records import CHECKPOINT, GENESIS, Record, unflatten
from verdigris.core.value import value
from verdigris.storage.log.light import digest

BLOCK = 1 << 16
# ASCII, because the lone surrogates of names that are not UTF-8 survive as escapes only.
_encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder()


class LogLine(NamedTuple):
    offset: int
    text: bytes
    """The line without its newline."""
    whole: bool = True
    """False for the text after the last newline."""

    @property
    def end(self) -> int:
        return self.offset + len(self.text) + 1


def lines_forward(fd: int, start: int, end: int) -> Iterator[LogLine]:
    offset, rest = start, b""
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        start += len(block)
        *texts, rest = (rest + block).split(b"\n")
        for text in texts:
            yield LogLine(offset, text)
            offset += len(text) + 1
    if rest:
        yield LogLine(offset, rest, whole=False)


def lines_backward(fd: int, end: int) -> Iterator[bytes]:
    """The texts from the line that ends at `end` back to the first."""
    if end == 0:
        return
    rest, start = b"", end - 1  # without the last newline, each newline stands between two lines
    while start > 0:
        size = min(BLOCK, start)
        start -= size
        rest, *texts = (os.pread(fd, size, start) + rest).split(b"\n")
        yield from reversed(texts)
    yield rest


@value
class LogHead:
    seq: int
    hash: str
    """The hash of the last line."""
    size: int
    """The size of the log in bytes."""
    checkpoint: int
    """The offset of the last checkpoint's line; 0 if there is none yet."""

    def after(self, link: Link) -> LogHead:
        checkpoint = link.offset if link.record.type == CHECKPOINT else self.checkpoint
        return LogHead(link.record.seq, link.hash, link.end, checkpoint)


EMPTY = LogHead(0, GENESIS, 0, 0)


def render(head: LogHead, **more: int | str) -> bytes:
    return encode({**vars(head), **more}) + b"\n"


def parse(data: bytes) -> LogHead:
    match decode(data):
        case {"seq": int(seq), "hash": str(digest), "size": int(size), "checkpoint": int(checkpoint)} if (
            0 <= checkpoint <= size and seq >= 0
        ):
            return LogHead(seq, digest, size, checkpoint)
        case _:
            raise ValueError("the head record lacks a field")


def head_after(head: LogHead, links: Iterable[Link]) -> LogHead:
    """The head after these links."""
    return reduce(LogHead.after, links, head)


WAY_OUT = f"{REPAIR}; `tdd log verify` lists what is damaged"


class Link(NamedTuple):
    record: Record
    hash: str
    offset: int
    end: int


class Tail(NamedTuple):
    """What the log contains after the end that its head record names."""

    batch: tuple[Link, ...]
    """The whole batch of a writer that was killed before it could replace the head: it is valid."""
    torn: bool
    """Whether a batch was not written whole: it does not count."""


def damage(seq: int | None, what: str) -> LogDamaged:
    where = "" if seq is None else f" at event {seq}"
    return LogDamaged(f"the log is damaged{where}: {what}", hint=WAY_OUT)


def read(line: LogLine) -> Link:
    """Reads a line; raises ValueError if it is no record."""
    return Link(unflatten(decode(line.text)), digest(line.text), line.offset, line.end)


def follow(lines: Iterable[LogLine], seq: int, prev: str) -> Iterator[Link]:
    """The links after the one with this number and hash; raises LogDamaged if they do not follow it."""
    for line in lines:
        try:
            link = read(line)
        except ValueError as error:
            raise damage(seq + 1, "it cannot be read") from error
        if link.record.seq != seq + 1:
            raise damage(seq + 1, f"event {link.record.seq} stands in its place")
        if link.record.prev != prev:
            raise damage(max(seq, 1), f"it is not the one that event {seq + 1} was written after")
        seq, prev = seq + 1, link.hash
        yield link


def beyond(lines: Iterable[LogLine], head: LogHead) -> Tail:
    """Reads the lines after the head: none, a torn batch, or one whole batch. Anything else is damage."""
    whole, torn = [], False
    for line in lines:
        if line.whole:
            whole.append(line)
        else:
            torn = True
    batch: list[Link] = []
    for link in follow(whole, head.seq, head.hash):
        if batch and link.record.more != batch[-1].record.more - 1:
            raise damage(link.record.seq, "it comes after the end that the head record names")
        batch.append(link)
    complete = bool(batch) and batch[-1].record.more == 0
    if complete and torn:
        raise damage(batch[-1].record.seq, "it comes after the end that the head record names")
    return Tail(tuple(batch) if complete else (), torn=bool(whole or torn) and not complete)


def encode(fields: Mapping[str, Any]) -> bytes:
    """Writes one line without its newline; raises ValueError or TypeError for what JSON cannot express."""
    return _encoder.encode(fields).encode("ascii")


def decode(line: bytes) -> dict[str, Any]:
    """The fields of a line; raises ValueError if it is no JSON object."""
    try:
        fields = _decoder.decode(line.decode("ascii"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - a fact about the file, as all the others
    return fields
