"""What one line of the log is, and what the log needs to know of a fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

S = TypeVar("S")

GENESIS = "0" * 64
"""The `prev` of the first record."""
CHECKPOINT = "checkpoint"
REPAIRED = "log_repaired"
ENVELOPE = frozenset({"seq", "ts", "worktree", "branch", "actor", "v", "prev", "type", "more"})

_HIGHEST_SEQ = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Record:
    seq: int
    ts: int
    """Milliseconds since the epoch."""
    worktree: str
    branch: str | None
    actor: Mapping[str, str]
    """`role`, `context` and `client`."""
    v: int
    prev: str
    """SHA-256 of the line before, in hex."""
    type: str
    data: Mapping[str, Any]
    more: int = 0
    """How many records of the same batch still follow."""


@value
class Stamp:
    """Where a record comes from."""

    worktree: str
    branch: str | None
    actor: Mapping[str, str]


@value
class Draft:
    """A record before the log has given it its number, time and place in the chain."""

    type: str
    data: Mapping[str, Any]
    worktree: str
    branch: str | None
    actor: Mapping[str, str]


class Folding(Protocol[S]):
    """How a log becomes a state; `step` never sees a checkpoint."""

    def initial(self) -> S: ...

    def step(self, state: S, record: Record) -> S: ...

    def dump(self, state: S) -> Any: ...

    def load(self, data: Any) -> S: ...


def flatten(record: Record) -> dict[str, Any]:
    """The fields of a record's line, in the order of the format."""
    if clash := ENVELOPE & record.data.keys():
        raise ValueError(
            f"event {record.type} has data under the log's own names: {', '.join(sorted(clash))}"
        )
    fields = {
        "seq": record.seq,
        "ts": record.ts,
        "worktree": record.worktree,
        "branch": record.branch,
        "actor": dict(record.actor),
        "v": record.v,
        "prev": record.prev,
        "type": record.type,
        **record.data,
    }
    if record.more:
        fields["more"] = record.more
    return fields


def unflatten(fields: dict[str, Any]) -> Record:
    """The record of a line's fields; ValueError where they are no record's."""
    match fields:
        case {
            "seq": int(seq),
            "ts": int(ts),
            "worktree": str(worktree),
            "branch": str() | None as branch,
            "actor": dict(actor),
            "v": int(v),
            "prev": str(prev),
            "type": str(kind),
            **rest,
        } if 0 < seq <= _HIGHEST_SEQ and isinstance(more := rest.pop("more", 0), int):
            return Record(seq, ts, worktree, branch, actor, v, prev, kind, rest, more)
        case _:
            raise ValueError("it lacks a field that every event has")
