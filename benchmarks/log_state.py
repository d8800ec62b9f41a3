"""What reading the state and appending cost, in logs of different lengths."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from timing import against, interleaved, table

from verdigris.core.records import CHECKPOINT, GENESIS, Draft, Record, flatten
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import LogHead, encode, render
from verdigris.storage.log.log import Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from timing import Row

SIZES = (1_000, 100_000, 1_000_000)
READS = 200
APPENDS = 50
APPEND, SYNCED = "append to the longest", "append to the longest, synced"
PAST_CHECKPOINT = 16
"""Events after the last checkpoint: the middle of what a reader meets."""
ACTOR = {"role": "agent", "context": "0123456789ab", "client": "bench"}
EVENT = {
    "test_id": "tests/test_orders.py::TestTotals::test_sum_of_an_order_with_discount",
    "test_id_source": "native",
    "status": "fail",
    "command": "python -m pytest tests/test_orders.py",
    "duration_ms": 123,
}


class Latest:
    """The newest events of each of some twenty tests: about 4 KiB of state."""

    def initial(self) -> dict[str, Any]:
        return {}

    def step(self, state: dict[str, Any], record: Record) -> dict[str, Any]:
        return {**state, str(record.seq % 20): dict(record.data)}

    def dump(self, state: dict[str, Any]) -> dict[str, Any]:
        return state

    def load(self, data: dict[str, Any]) -> dict[str, Any]:
        return data


def build(control: Path, events: int) -> None:
    """A log of single events with a checkpoint after each 32, written directly."""
    folding = Latest()
    state, prev, size, checkpoint = folding.initial(), GENESIS, 0, 0
    control.mkdir(parents=True)
    with (control / "events.jsonl").open("wb") as log:
        for seq in range(1, events + 1):
            kind, data = (
                (CHECKPOINT, {"state": state}) if _checkpoint_at(seq, events) else ("test_run", EVENT)
            )
            record = Record(seq, 1_700_000_000_000 + seq, "main", "trunk", ACTOR, 1, prev, kind, data)
            if kind == CHECKPOINT:
                checkpoint = size
            else:
                state = folding.step(state, record)
            line = encode(flatten(record))
            log.write(line + b"\n")
            prev, size = digest(line), size + len(line) + 1
    (control / "head").write_bytes(render(LogHead(events, prev, size, checkpoint)))


def _checkpoint_at(seq: int, events: int) -> bool:
    return (events - seq) % 33 == PAST_CHECKPOINT


def rows(sizes: Sequence[int] = SIZES) -> list[Row]:
    draft = Draft("test_run", EVENT, "main", "trunk", ACTOR)
    with TemporaryDirectory(prefix="tdd-bench-") as folder:
        logs = {f"state, {size:,} events": _log(Path(folder, str(size)), size) for size in sizes}
        reads = interleaved({name: log.state for name, log in logs.items()}, READS)
        shortest, *longer = reads
        longest = logs[list(logs)[-1]]
        appends = interleaved(
            {APPEND: lambda: longest.append([draft]), SYNCED: lambda: longest.append([draft], sync=True)},
            APPENDS,
        )
    return against(reads, shortest, dict.fromkeys(longer, "≤ 1.2")) + against(appends, APPEND, {})


def _log(control: Path, events: int) -> Log[dict[str, Any]]:
    build(control, events)
    return Log(control, Latest())


if __name__ == "__main__":
    print(table(rows([int(size) for size in sys.argv[1:]] or SIZES)))
