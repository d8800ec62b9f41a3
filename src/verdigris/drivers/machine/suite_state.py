"""How the tests stand on the tree as it is: by the log where it knows, else by a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.setup.initialisation import has_tests
from verdigris.turns.test import run_tests

if TYPE_CHECKING:
    from verdigris.storage.project import Project

_NAMED = 8
_BAD = frozenset({Status.FAIL, Status.ERROR})


@value
class Standing:
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


def standing(project: Project) -> Standing:
    baseline = project.state().baseline
    data = project.workspace.blob_bytes(baseline.record) if baseline is not None else None
    if baseline is not None and data is not None and baseline.tree == project.workspace.snapshot():
        statuses = {name: Status(status) for name, status in json.loads(data).items()}
        return _standing(statuses, ())
    if not has_tests(project):
        return Standing(0, ())
    tested = run_tests(project, (), cwd=project.root)
    errors = tested.report.errors if tested.report is not None else ()
    return _standing({run.native_id: run.status for run in tested.tests}, [error.path for error in errors])


def _standing(statuses: dict[str, Status], unloaded: tuple[str, ...] | list[str]) -> Standing:
    failing = sorted(name for name, status in statuses.items() if status in _BAD)
    passed = sum(status is Status.PASS for status in statuses.values())
    return Standing(passed, (*failing, *dict.fromkeys(unloaded)))
