"""A small fold, and logs folded by it, for the tests of the log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

from verdigris.core.records import CHECKPOINT, REPAIRED, Draft, Record
from verdigris.storage.log.log import Log

ACTOR = {"role": "tester", "context": "c1", "client": "pytest"}


def repair_draft(why: str) -> Draft:
    return Draft(REPAIRED, {"why": why}, "main", "trunk", ACTOR)


@dataclass(frozen=True)
class Tally:
    events: int = 0
    trail: int = 0
    """Depends on each event and on their order."""


class TallyFolding:
    def initial(self) -> Tally:
        return Tally()

    def step(self, state: Tally, record: Record) -> Tally:
        assert record.type != CHECKPOINT
        mark = json.dumps([record.type, dict(record.data)], sort_keys=True).encode()
        return Tally(state.events + 1, crc32(mark, state.trail))

    def dump(self, state: Tally) -> Any:
        return {"events": state.events, "trail": state.trail}

    def load(self, data: Any) -> Tally:
        return Tally(**data)


def draft(n: object = 0, kind: str = "noted", **data: Any) -> Draft:
    return Draft(kind, {"n": n, **data}, "main", "trunk", ACTOR)


def open_log(control: Path, every: int = 32) -> Log[Tally]:
    ticks = count(1_700_000_000_000, 1000)
    return Log(control, TallyFolding(), clock=lambda: next(ticks), checkpoint_every=every)


def filled(control: Path, events: int, every: int = 1000) -> Log[Tally]:
    """A log of single events 1…n, by default without checkpoints."""
    log = open_log(control, every)
    for n in range(1, events + 1):
        log.append([draft(n)])
    return log


def lines(control: Path) -> list[bytes]:
    return (control / "events.jsonl").read_bytes().splitlines(keepends=True)


def put_lines(control: Path, changed: list[bytes]) -> None:
    (control / "events.jsonl").write_bytes(b"".join(changed))


def numbers(log: Log[Tally], **how: Any) -> list[object]:
    """The `n` of each event, in order."""
    return [record.data["n"] for record in log.records(**how)]
