"""Whether each checkpoint is what the events before it fold to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from verdigris.core.errors import UserError
from verdigris.core.record import CHECKPOINT, S
from verdigris.storage.log.format import decode, encode

if TYPE_CHECKING:
    from verdigris.core.record import Folding, Record
    from verdigris.core.upcast import Schema


class Replay(Generic[S]):
    def __init__(self, folding: Folding[S], schema: Schema) -> None:
        self._folding = folding
        self._schema = schema
        self._state = folding.initial()
        self._lost = False

    def lose(self) -> None:
        """An event is missing or changed: until the next checkpoint no state is known."""
        self._lost = True

    def objection(self, record: Record) -> str | None:
        """Fold the record; what is wrong with it, if anything is."""
        record = self._schema.lift(record)
        try:
            if record.type != CHECKPOINT:
                if not self._lost:
                    self._state = self._folding.step(self._state, record)
            elif self._schema.reads_checkpoint(record):
                return self._compare(record)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a fold raises on a forged event is a finding
            self.lose()
            return f"it cannot be folded: {error!r}"
        return None

    def _compare(self, record: Record) -> str | None:
        stored = record.data["state"]
        if self._lost:
            self._state, self._lost = self._folding.load(stored), False
            return None
        folded = decode(encode({"state": self._folding.dump(self._state)}))["state"]
        return None if folded == stored else "it is not what the events before it fold to"
