"""What the head record says: where the log ends, so that a cut tail is found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING

from verdigris.core.record import CHECKPOINT, GENESIS
from verdigris.storage.log.format import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.storage.log.chain import Link


@dataclass(frozen=True, slots=True)
class Head:
    seq: int
    hash: str
    """Of the last line."""
    size: int
    """Of the log, in bytes."""
    checkpoint: int
    """Offset of the last checkpoint's line; 0 before there is one."""

    def after(self, link: Link) -> Head:
        checkpoint = link.offset if link.record.type == CHECKPOINT else self.checkpoint
        return Head(link.record.seq, link.hash, link.end, checkpoint)


EMPTY = Head(0, GENESIS, 0, 0)


def render(head: Head, **more: int) -> bytes:
    return encode({**asdict(head), **more}) + b"\n"


def parse(data: bytes) -> Head:
    match decode(data):
        case {"seq": int(seq), "hash": str(digest), "size": int(size), "checkpoint": int(checkpoint)} if (
            0 <= checkpoint <= size and seq >= 0
        ):
            return Head(seq, digest, size, checkpoint)
        case _:
            raise ValueError("the head record lacks a field")


def reached(head: Head, links: Iterable[Link]) -> Head:
    """The head after these links."""
    return reduce(Head.after, links, head)
