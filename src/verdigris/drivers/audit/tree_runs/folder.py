"""What an audit keeps for the next one, in the user's cache and never in the repository.

The suites of the last few trees also stay in memory, since each change begins where the one before it ended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from verdigris.core.errors import StorageError
from verdigris.core.records import from_json, to_json
from verdigris.core.report import Status, TestReport, TestUse
from verdigris.core.reuse.facts import RunRecord
from verdigris.core.value import replace, value
from verdigris.storage.repository import Repository

DRIVER = "audit"


@value
class AuditFolder:
    path: Path

    def repository(self, repo: Repository, job: int = 0) -> Repository:
        """The user's repository with the kernel's files in this folder, and an index for each job."""
        return replace(repo, apart=self.path / "kernel", worktree=f"job-{job}")

    def read(self, kind: str, key: str) -> Any | None:
        """Returns what was kept under the key, or None if that is nothing or cannot be read."""
        try:
            return json.loads(self._file(kind, key).read_bytes())
        except (OSError, ValueError):
            return None

    def keep(self, kind: str, key: str, data: Any) -> None:
        """Writes the file whole or not at all, also if we are killed."""
        self._write(self._file(kind, key), json.dumps(data).encode())

    def share(self, kind: str, known: str, same: str) -> bool:
        """Keeps under a second key what is kept under the first. Returns whether there was anything."""
        try:
            data = self._file(kind, known).read_bytes()
        except OSError:
            return False
        self._write(self._file(kind, same), data)
        return True

    def _file(self, kind: str, key: str) -> Path:
        return self.path / kind / f"{key}.json"

    def _write(self, file: Path, data: bytes) -> None:
        draft = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StorageError(
                f"the audit cannot keep {file}: {error.strerror}",
                hint="set XDG_CACHE_HOME to a folder that can be written and has room",
            ) from error


def find_folder(repo: Repository) -> AuditFolder:
    from verdigris.drivers.private_worktree import worktree_path

    folder = AuditFolder(worktree_path(repo, DRIVER, repo.worktree).parent)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"the audit's folder {folder.path} cannot be made: {error.strerror}",
            hint="set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return folder


T = TypeVar("T")
WHOLE = "suites"
CARRIED = "carried"
_RECORD = "records"
_HELD = 8
"""Suites and records in memory: few, since a suite may have many thousands of tests."""


@value
class Suite:
    """How all tests ended on one tree."""

    report: TestReport
    traced: tuple[str, ...] = ()
    carried: bool = False
    """Some of its results come from another tree (`reuse`)."""

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
        return self._look_up(kind, key, partial(from_json, Suite))

    def keep_suite(self, kind: str, key: str, suite: Suite) -> None:
        self.folder.keep(kind, key, to_json(suite))
        self._hold((kind, key), suite)

    def record(self, key: str) -> RunRecord | None:
        return self._look_up(_RECORD, key, _parse_record)

    def keep_record(self, key: str, record: RunRecord) -> None:
        self.folder.keep(_RECORD, key, _render_record(record))
        self._hold((_RECORD, key), record)

    def share(self, known: str, same: str) -> None:
        """Keeps what is known under the key `known` also under `same`."""
        for kind in (WHOLE, CARRIED, _RECORD):
            if self.folder.share(kind, known, same) and (kind, known) in self._held:
                self._hold((kind, same), self._held[kind, known])

    def _look_up(self, kind: str, key: str, read: Callable[[Any], T]) -> T | None:
        """What is known; None if that is nothing, or damaged."""
        found: T | None = self._held.pop((kind, key), None)
        if found is None:
            data = self.folder.read(kind, key)
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                found = None if data is None else read(data)
        if found is not None:
            self._hold((kind, key), found)
        return found

    def _hold(self, name: tuple[str, str], found: Any) -> None:
        self._held.pop(name, None)
        self._held[name] = found
        while len(self._held) > _HELD:
            del self._held[next(iter(self._held))]


def _render_record(record: RunRecord) -> dict[str, Any]:
    """A test is a list without the names of its fields, since there are thousands of tests."""
    tests = [[i, u.functions, u.hits, u.fills, int(u.unsure)] for i, u in record.tests.items()]
    return {
        "functions": record.functions,
        "sets": record.sets,
        "tests": tests,
        "common": record.common,
        "files": sorted(record.files),
        "read": sorted(record.read),
        "listed": sorted(record.listed),
    }


def _parse_record(data: Any) -> RunRecord:
    return RunRecord(
        tuple((path, name) for path, name in data["functions"]),
        tuple(map(tuple, data["sets"])),
        {i: TestUse(at, tuple(h), tuple(f), bool(u)) for i, at, h, f, u in data["tests"]},
        data["common"],
        *(frozenset(data[name]) for name in ("files", "read", "listed")),
    )
