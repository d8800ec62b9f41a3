"""The log as the kernel sees it: the state now, and batches of events appended to it."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Generic

from verdigris.core.record import REPAIRED, Draft, Record, S, Stamp
from verdigris.core.upcast import SCHEMA
from verdigris.core.value import value
from verdigris.storage.log.batch import Rules, compose
from verdigris.storage.log.files import Files, storing
from verdigris.storage.log.reader import records
from verdigris.storage.log.view import View, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from verdigris.core.record import Folding
    from verdigris.core.upcast import Schema
    from verdigris.storage.log.finding import Verification
    from verdigris.storage.log.repair import Repaired

__all__ = ["Appended", "Draft", "Log", "Record", "Stamp"]

CHECKPOINT_EVERY = 32


def now() -> int:
    return time.time_ns() // 1_000_000


@value
class Appended(Generic[S]):
    records: tuple[Record, ...]
    state: S


class Log(Generic[S]):
    def __init__(
        self,
        control: Path,
        folding: Folding[S],
        *,
        clock: Callable[[], int] = now,
        checkpoint_every: int = CHECKPOINT_EVERY,
        schema: Schema = SCHEMA,
    ) -> None:
        self._files = Files(os.fspath(control))
        self._folding = folding
        self._clock = clock
        self._schema = schema
        self._rules = Rules(schema.current, checkpoint_every)

    def state(self) -> S:
        """The fold of all events, at a cost that does not grow with their number."""
        with self._files.reading() as there:
            return self._view().state if there else self._folding.initial()

    def append(self, drafts: Sequence[Draft], *, sync: bool = False) -> Appended[S]:
        """All of the drafts, in this order, or none."""
        return self.transact(lambda _: drafts, sync=sync)

    def transact(self, decide: Callable[[S], Sequence[Draft]], *, sync: bool = False) -> Appended[S]:
        """What `decide` makes of the state, appended before anyone else can change it.

        `decide` runs under the log's lock: it must be quick, and must not use this log.
        """
        with self._files.writing():
            with self._files.opened() as log:
                self._files.settle_repair(log)
            before = self._view()
            drafts = decide(before.state)
            if not drafts:
                return Appended((), before.state)
            if before.head != before.recorded:
                # So that a killed append never leaves more than one batch beyond the head.
                self._files.replace_head(before.head)
            batch = compose(before, drafts, self._folding, self._clock(), self._rules)
            self._files.extend(before.head, batch.lines, batch.head, sync=sync)
            return Appended(batch.records, batch.state)

    def records(self, *, start: int = 1, reverse: bool = False, limit: int | None = None) -> Iterator[Record]:
        """The events from `start` to the last, without checkpoints; `reverse` begins with the last."""
        return islice(records(self._files, self._schema, start=start, reverse=reverse), limit)

    def verify(self) -> Verification:
        from verdigris.storage.log.verify import verify

        return verify(self._files, self._folding, self._schema)

    def repair(self, why: str, stamp: Stamp) -> Repaired:
        """Keep the longest run of events that nothing contradicts, and the damaged file beside it."""
        from verdigris.storage.log.repair import repair

        draft = Draft(REPAIRED, {"why": why}, stamp.worktree, stamp.branch, stamp.actor)
        return repair(self._files, self._folding, self._schema, draft, self._clock)

    def _view(self) -> View[S]:
        with self._files.opened() as log, storing(self._files.control):
            return view(self._files, log, self._folding, self._schema)
