"""The folder of a fleet's results: the first result of a unit counts, and a resumed fleet reads only this."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verdigris.core.errors import StorageError
from verdigris.core.value import value
from verdigris.drivers.fleet.unit import SCHEMA, FleetUnit, UnitEnd, UnitOutcome

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
RESULTS, FAILURES, SUMMARY = "results", "infrastructure", "summary.json"


@value
class ResultFolder:
    path: Path

    def prepare(self) -> None:
        try:
            for name in (RESULTS, FAILURES):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def read(self, unit: FleetUnit) -> dict[str, Any] | None:
        """Returns the unit's result; None if there is none that can be read, so that the unit runs again."""
        try:
            result = json.loads(self._file(RESULTS, unit).read_bytes())
        except (OSError, ValueError):
            return None
        return result if isinstance(result, dict) and result.get("schema") == SCHEMA else None

    def keep(self, unit: FleetUnit, judged: UnitEnd, exit_code: int) -> None:
        """Writes a result whole or not at all. The first wins: a lost carrier may still end."""
        document = {
            "schema": SCHEMA,
            "key": unit.key,
            "unit": dict(unit.asked),
            "outcome": str(judged.outcome),
            "answers": list(judged.answers),
            "why": judged.why,
            "exit_code": exit_code,
            "report": judged.report,
        }
        file = self._file(RESULTS, unit)
        if self.read(unit) is None and file.exists():
            file.unlink(missing_ok=True)  # half a file, which somebody else left: we write whole files
        draft = file.with_name(f".{unit.key}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            draft.write_text(_text(document), "utf-8")
            _put_first(draft, file)
        except OSError as error:
            if self.read(unit) is None:  # else another was first, and may have swept our draft away
                raise _unwritable(file, error) from error
        finally:
            draft.unlink(missing_ok=True)
        self._file(FAILURES, unit).unlink(missing_ok=True)

    def note_failure(self, unit: FleetUnit, why: str) -> None:
        """Writes a note for people. It is no result: the next run tries the unit again."""
        document = {"schema": SCHEMA, "key": unit.key, "unit": dict(unit.asked), "why": why}
        self._replace(self._file(FAILURES, unit), document)

    def summarise(self, units: Iterable[FleetUnit]) -> FleetSummary:
        summary = FleetSummary()
        for unit in units:
            result = self.read(unit)
            summary = summary.with_result(unit, result)
            for left in (self.path / RESULTS).glob(f".{unit.key}.*") if result else ():
                left.unlink(missing_ok=True)  # of a carrier that was killed while it wrote
        self._replace(self.path / SUMMARY, summary.document())
        return summary

    def _replace(self, file: Path, document: dict[str, Any]) -> None:
        draft = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            draft.write_text(_text(document), "utf-8")
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise _unwritable(file, error) from error

    def _file(self, kind: str, unit: FleetUnit) -> Path:
        return self.path / kind / f"{unit.key}.json"


@value
class FleetSummary:
    """Counts of a fleet: verdicts, units that were not judged, and failures of the machine."""

    units: int = 0
    verdicts: tuple[str, ...] = ()
    """`KIND ANSWER` of each."""
    negative: int = 0
    """Units whose command said no: exit code 1."""
    unverified: int = 0
    infrastructure: int = 0
    """Units without an answer."""

    def with_result(self, unit: FleetUnit, result: dict[str, Any] | None) -> FleetSummary:
        outcome = result or {"outcome": UnitOutcome.INFRASTRUCTURE}
        verdict = outcome["outcome"] == UnitOutcome.VERDICT
        answers = tuple(f"{unit.kind} {answer}" for answer in outcome.get("answers", ())) if verdict else ()
        return FleetSummary(
            self.units + 1,
            (*self.verdicts, *answers),
            self.negative + (verdict and outcome.get("exit_code") != 0),
            self.unverified + (outcome["outcome"] == UnitOutcome.UNVERIFIED),
            self.infrastructure + (outcome["outcome"] == UnitOutcome.INFRASTRUCTURE),
        )

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "units": self.units,
            "verdicts": dict(sorted(Counter(self.verdicts).items())),
            "negative": self.negative,
            "unverified": self.unverified,
            "infrastructure": self.infrastructure,
        }

    @property
    def exit_code(self) -> int:
        if self.infrastructure:
            return 70
        return 1 if self.negative or self.unverified else 0


def _put_first(draft: Path, file: Path) -> None:
    """Writes only if there is no file yet. Without hard links two may be first, and both say the same."""
    try:
        os.link(draft, file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        draft.replace(file)


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the fleet cannot write {path}: {error.strerror}",
        hint="make room there; then the same command goes on",
    )
