"""The lines of a file, forwards or backwards, in bounded memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 16


class Line(NamedTuple):
    offset: int
    text: bytes
    """Without the newline."""
    whole: bool = True
    """False for what stands after the last newline."""

    @property
    def end(self) -> int:
        return self.offset + len(self.text) + 1


def forward(fd: int, start: int, end: int) -> Iterator[Line]:
    offset, rest = start, b""
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        start += len(block)
        *texts, rest = (rest + block).split(b"\n")
        for text in texts:
            yield Line(offset, text)
            offset += len(text) + 1
    if rest:
        yield Line(offset, rest, whole=False)


def backward(fd: int, end: int) -> Iterator[bytes]:
    """The texts from the line that ends at `end` to the first."""
    if end == 0:
        return
    rest, start = b"", end - 1  # without the last newline, each newline stands between two lines
    while start > 0:
        size = min(BLOCK, start)
        start -= size
        rest, *texts = (os.pread(fd, size, start) + rest).split(b"\n")
        yield from reversed(texts)
    yield rest
