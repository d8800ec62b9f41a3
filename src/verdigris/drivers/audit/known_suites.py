"""Keeps how the suites of trees ended, and what their tests used: on the disk for later audits, and the last
few in memory, since each change begins where the one before it ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from verdigris.core.records import from_json, to_json
from verdigris.core.report import Status, TestReport
from verdigris.core.value import value
from verdigris.drivers.audit.reuse import from_plain, to_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.core.reuse import RunRecord
    from verdigris.drivers.audit.folder import AuditFolder

T = TypeVar("T")
WHOLE = "suites"
CARRIED = "carried"
_RECORD = "records"
_HELD = 8
"""Values in memory: of a few trees, since a suite may have many thousands of tests."""


@value
class Suite:
    """How all tests ended on one tree."""

    report: TestReport
    traced: tuple[str, ...] = ()
    carried: bool = False
    """Results of it come from other trees (`reuse`)."""

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(r.native_id for r in self.report.results if r.status is Status.PASS)

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(r.native_id for r in self.report.results if r.status in {Status.FAIL, Status.ERROR})


class KnownSuites:
    """Suites by the key of a tree with its settings and environment."""

    def __init__(self, folder: AuditFolder) -> None:
        self.folder = folder
        self._held: dict[tuple[str, str], Any] = {}

    def suite(self, kind: str, key: str) -> Suite | None:
        return self._look_up(kind, key, _to_suite)

    def keep_suite(self, kind: str, key: str, suite: Suite) -> None:
        self.folder.keep(kind, key, to_json(suite))
        self._hold((kind, key), suite)

    def record(self, key: str) -> RunRecord | None:
        return self._look_up(_RECORD, key, from_plain)

    def keep_record(self, key: str, record: RunRecord) -> None:
        self.folder.keep(_RECORD, key, to_plain(record))
        self._hold((_RECORD, key), record)

    def share(self, known: str, same: str) -> None:
        """What is known under one key holds for the other."""
        for kind in (WHOLE, CARRIED, _RECORD):
            if self.folder.share(kind, known, same) and (kind, known) in self._held:
                self._hold((kind, same), self._held[kind, known])

    def _look_up(self, kind: str, key: str, read: Callable[[Any], T | None]) -> T | None:
        found: T | None = self._held.pop((kind, key), None)
        if found is None:
            data = self.folder.read(kind, key)
            found = None if data is None else read(data)
        if found is not None:
            self._hold((kind, key), found)
        return found

    def _hold(self, name: tuple[str, str], found: Any) -> None:
        self._held.pop(name, None)
        self._held[name] = found
        while len(self._held) > _HELD:
            del self._held[next(iter(self._held))]


def _to_suite(data: Any) -> Suite | None:
    try:
        return from_json(Suite, data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
