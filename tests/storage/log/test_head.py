from __future__ import annotations

import pytest

from verdigris.core.records import CHECKPOINT, GENESIS, Record
from verdigris.storage.log.lines import EMPTY, Link, LogHead, head_after, parse, render


def link(seq: int, kind: str, offset: int) -> Link:
    return Link(Record(seq, 0, "main", None, {}, 1, GENESIS, kind, {}), f"h{seq}", offset, offset + 10)


def test_a_head_comes_back_as_it_was_written() -> None:
    head = LogHead(7, "ab", 900, 300)

    assert render(head) == b'{"seq":7,"hash":"ab","size":900,"checkpoint":300}\n'
    assert parse(render(head)) == head
    assert parse(render(head, inode=5)) == head


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\0\0",
        b'{"seq":7,"hash":"ab","size":900}',
        b'{"seq":7,"hash":"ab","size":9,"checkpoint":300}',
        b'{"seq":-7,"hash":"ab","size":900,"checkpoint":300}',
    ],
)
def test_anything_else_is_no_head(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(data)


def test_the_head_moves_along_and_remembers_the_last_checkpoint() -> None:
    links = [link(1, "noted", 0), link(2, CHECKPOINT, 10), link(3, "noted", 20)]

    assert head_after(EMPTY, links) == LogHead(3, "h3", 30, 10)
