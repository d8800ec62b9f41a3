"""How a record of an older schema version is read as one of the current version.

A change of an event's fields, or of what a checkpoint holds, is a new version: raise CURRENT and say under
the old number how its events become the next ones (the same pair, where only the checkpoints changed).
Checkpoints of an older version are not read; their state is folded anew from the events.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import HarnessError, UserError
from verdigris.core.record import CHECKPOINT
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verdigris.core.record import Record

    Upcaster = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]

CURRENT = 1
UPCASTERS: Mapping[int, Upcaster] = {}
"""From each older version to the one after it."""


@value
class Schema:
    current: int
    upcasters: Mapping[int, Upcaster]

    def lift(self, record: Record) -> Record:
        if record.v > self.current:
            raise UserError(
                f"event {record.seq} was written by a newer version of tdd "
                f"(schema {record.v}; this one knows {self.current})",
                hint="upgrade tdd",
            )
        if record.v == self.current or record.type == CHECKPOINT:
            return record
        kind, data = record.type, record.data
        for version in range(record.v, self.current):
            if version not in self.upcasters:
                raise HarnessError(f"event {record.seq} has schema {record.v}, which no version of tdd wrote")
            kind, data = self.upcasters[version](kind, data)
        return replace(record, v=self.current, type=kind, data=data)

    def reads_checkpoint(self, record: Record) -> bool:
        return record.type == CHECKPOINT and record.v == self.current


SCHEMA = Schema(CURRENT, UPCASTERS)
