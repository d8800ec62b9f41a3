"""Which lines a batch of drafts becomes, and when a checkpoint closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from verdigris.core.errors import HarnessError
from verdigris.core.record import CHECKPOINT, Draft, Record, S, flatten
from verdigris.core.value import value
from verdigris.storage.log.chain import Link, read
from verdigris.storage.log.format import encode
from verdigris.storage.log.head import reached
from verdigris.storage.log.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.record import Folding
    from verdigris.storage.log.head import Head
    from verdigris.storage.log.view import View

CHECKPOINT_BYTES = 64 * 1024
KERNEL = {"role": "kernel", "context": "", "client": "tdd"}
"""The actor of the log's own records."""


@value
class Batch(Generic[S]):
    lines: bytes
    head: Head
    """After the batch."""
    records: tuple[Record, ...]
    state: S


@value
class Rules:
    """How batches are written."""

    version: int
    checkpoint_every: int


def compose(before: View[S], drafts: Sequence[Draft], folding: Folding[S], ts: int, rules: Rules) -> Batch[S]:
    lines, links = chained(before.head, drafts, ts, rules.version)
    head = reached(before.head, links)
    events = before.events + len(drafts)
    due = events >= rules.checkpoint_every or head.size - before.since >= CHECKPOINT_BYTES
    if due:
        lines, links = chained(before.head, drafts, ts, rules.version, more=1)
        head = reached(before.head, links)
    records = tuple(link.record for link in links)
    state = before.state
    for record in records:
        state = folding.step(state, record)
    if due:
        last = Draft(
            CHECKPOINT, {"state": folding.dump(state)}, drafts[-1].worktree, drafts[-1].branch, KERNEL
        )
        line, links = chained(head, [last], ts, rules.version)
        lines, head = lines + line, reached(head, links)
    return Batch(lines, head, records, state)


def chained(
    head: Head, drafts: Sequence[Draft], ts: int, version: int, *, more: int = 0
) -> tuple[bytes, list[Link]]:
    """The drafts as one batch after the head, of which `more` records are still to come.

    The records are read back from their lines: who appends an event sees what a later reader will see.
    """
    links: list[Link] = []
    lines = bytearray()
    seq, prev = head.seq, head.hash
    for left, draft in zip(range(len(drafts) - 1 + more, -1, -1), drafts, strict=False):
        record = Record(
            seq + 1,
            ts,
            draft.worktree,
            draft.branch,
            draft.actor,
            version,
            prev,
            draft.type,
            draft.data,
            left,
        )
        try:
            text = encode(flatten(record))
        except (TypeError, ValueError, RecursionError) as error:
            raise HarnessError(f"the event {draft.type} cannot be written: {error}") from error
        link = read(Line(head.size + len(lines), text))
        links.append(link)
        lines += text + b"\n"
        seq, prev = link.record.seq, link.hash
    return bytes(lines), links
