"""Gathers what the judges of all roles need of a tree: its oracle, and how its tests end."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Protocol, TypeAlias

from verdigris.checks.observation import ORACLE
from verdigris.core.paths import FILE
from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.drivers.edits import Bad
from verdigris.drivers.step_records import Verified
from verdigris.setup.initialisation import has_tests
from verdigris.turns.test import run_tests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import ConcernRule
    from verdigris.storage.project import Project


Judged: TypeAlias = Verified | Bad


class StepRules(Protocol):
    """What a driver asks of its roles' edits beyond the law; its settings have these values."""

    @property
    def refactor_files(self) -> int: ...

    @property
    def refactor_lines(self) -> int: ...

    @property
    def coverage_guard(self) -> bool: ...

    @property
    def expected_literals(self) -> ConcernRule: ...

    @property
    def tests_per_step(self) -> int: ...


def with_changes(project: Project, tree: str, changes: Mapping[str, bytes | None]) -> str:
    """The tree as it would be with these edits; nothing is written."""
    modes = {entry.path: entry.mode for entry in project.workspace.files(tree)}
    return project.workspace.compose(
        tree,
        {
            path: None if data is None else (modes.get(path, FILE), data)
            for path, data in changes.items()
            if data is not None or path in modes
        },
    )


def oracle_of(project: Project, tree: str) -> str:
    """One digest of all that decides: tests, specification and switches, by content."""
    digest = hashlib.sha256()
    for entry in sorted(project.workspace.files(tree), key=lambda entry: entry.path):
        if project.classify(entry.path) in ORACLE:
            digest.update(f"{entry.mode} {entry.blob} {entry.path}\0".encode(errors="surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


_NAMED = 8
_BAD = frozenset({Status.FAIL, Status.ERROR})


@value
class SuiteStanding:
    passed: int
    failing: tuple[str, ...]
    """Ids; of files that do not load, their paths."""

    @property
    def green(self) -> bool:
        return not self.failing

    @property
    def named(self) -> str:
        more = f" and {len(self.failing) - _NAMED} more" if len(self.failing) > _NAMED else ""
        return ", ".join(self.failing[:_NAMED]) + more

    @property
    def words(self) -> str:
        """As a role is told it."""
        if self.failing:
            return f"These tests fail now: {self.named}. {self.passed} pass."
        if self.passed > 1:
            return f"All {self.passed} tests pass."
        return "The one test there is passes." if self.passed else "There is no test yet."


def standing(project: Project) -> SuiteStanding:
    baseline = project.state().baseline
    data = project.workspace.blob_bytes(baseline.record) if baseline is not None else None
    if baseline is not None and data is not None and baseline.tree == project.workspace.snapshot():
        statuses = {name: Status(status) for name, status in json.loads(data).items()}
        return _standing(statuses, ())
    if not has_tests(project):
        return SuiteStanding(0, ())
    tested = run_tests(project, (), cwd=project.root)
    errors = tested.report.errors if tested.report is not None else ()
    return _standing({run.native_id: run.status for run in tested.tests}, [error.path for error in errors])


def _standing(statuses: dict[str, Status], unloaded: tuple[str, ...] | list[str]) -> SuiteStanding:
    failing = sorted(name for name, status in statuses.items() if status in _BAD)
    passed = sum(status is Status.PASS for status in statuses.values())
    return SuiteStanding(passed, (*failing, *dict.fromkeys(unloaded)))
