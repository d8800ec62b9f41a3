"""Runs a fleet: what the folder has no answer to is carried out, a lost unit again, and then counted."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers.fleet.carrier import Errand
from verdigris.drivers.fleet.result_folder import ResultFolder
from verdigris.drivers.fleet.unit import choose_shard, read_units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.drivers.fleet.engines import Engine
    from verdigris.drivers.fleet.result_folder import FleetSummary
    from verdigris.drivers.fleet.unit import FleetUnit

ATTEMPTS = 3
SECONDS = 3600.0


@value
class FleetRequest:
    tasks: Path
    out: Path
    attempts: int = ATTEMPTS
    """For a unit that is lost or whose machine fails."""
    seconds: float = SECONDS
    """For one unit."""
    shard: tuple[int, int] = (1, 1)
    tdd: tuple[str, ...] = ()
    """The command, where it is not the one of the carrier's interpreter."""


class FleetWatcher(Protocol):
    """Is told how the fleet goes."""

    def began(self, total: int, known: int) -> None: ...

    def ended(self, unit: FleetUnit, answer: str) -> None: ...

    def lost(self, unit: FleetUnit, why: str, *, again: bool) -> None: ...


def prepare_units(asked: FleetRequest) -> tuple[FleetUnit, ...]:
    """The units of this shard; a wrong line is told before anything is carried out."""
    try:
        text = asked.tasks.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"the tasks {asked.tasks} cannot be read: {error}", hint="name a file of JSON lines"
        ) from None
    return choose_shard(read_units(text, str(asked.tasks.resolve().parent)), *asked.shard)


def run_fleet(
    asked: FleetRequest, units: Sequence[FleetUnit], engine: Engine, watcher: FleetWatcher
) -> FleetSummary:
    folder = ResultFolder(asked.out.resolve())
    folder.prepare()
    waiting = deque(unit for unit in units if folder.read(unit) is None)
    watcher.began(len(units), len(units) - len(waiting))
    tries: Counter[str] = Counter()
    on_their_way = 0
    try:
        while waiting or on_their_way:
            while waiting and on_their_way < engine.jobs:
                engine.submit(Errand(waiting.popleft(), str(folder.path), asked.seconds, asked.tdd))
                on_their_way += 1
            carried = engine.wait()
            on_their_way -= 1
            unit = carried.errand.unit
            found = folder.read(unit)
            if found is not None:
                watcher.ended(unit, ", ".join(found["answers"]) or found["outcome"])
                continue
            tries[unit.key] += 1
            again = tries[unit.key] < asked.attempts
            watcher.lost(unit, carried.why, again=again)
            if again:
                waiting.append(unit)
            else:
                folder.note_failure(unit, carried.why)
    finally:
        engine.close()
    return folder.summarise(units)
