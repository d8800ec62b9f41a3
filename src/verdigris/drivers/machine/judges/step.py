"""Judges what is the same for all roles: edits are written, formatted and checked."""

from __future__ import annotations

import hashlib
import json
import re
from textwrap import shorten
from typing import TYPE_CHECKING, TypeAlias

from verdigris.checks.observation import ORACLE
from verdigris.core.actions import Deny
from verdigris.core.paths import FILE, PathClass
from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.drivers.machine.message import Verified
from verdigris.execution.test_run import run_tool
from verdigris.models.roles import feedback
from verdigris.setup.initialisation import has_tests
from verdigris.storage.project import text_of, texts_at
from verdigris.turns.formatting import format_edits
from verdigris.turns.operation import operation
from verdigris.turns.test import run_tests
from verdigris.turns.write import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.report import TestReport
    from verdigris.storage.project import Project


_TELLING = re.compile(r"error|:\d+[:,)]|\(\d+,\d+\)", re.IGNORECASE)
_GIST = 200
FORMATTED = frozenset({PathClass.TEST, PathClass.SOURCE})


@value
class Bad:
    said: str
    """To the model."""
    reasons: tuple[str, ...]
    """For people."""
    output: str = ""
    """What a tool printed."""


Judged: TypeAlias = Verified | Bad
Seen: TypeAlias = "list[TestReport]"
"""The runs that a judgement rests on, for the step's log."""


def write_changes(project: Project, changes: Mapping[str, bytes | None]) -> Bad | None:
    """Through the kernel, which decides by path, phase and content."""
    decision = write(project, changes, cwd=project.root)
    if isinstance(decision, Deny):
        return Bad(feedback.describe_denial(decision), (f"denied [{decision.rule}]: {decision.reason}",))
    return None


def format_changes(project: Project, start: str) -> Bad | None:
    """Tests and source that differ from `start`, as the configured formatters write them."""
    with operation(project):
        tree = project.workspace.snapshot()
        changed = [c.path for c in project.workspace.changes(start, tree) if not c.deleted]
        paths = tuple(path for path in changed if project.classify(path) in FORMATTED)
        tools = format_edits(project, tree, paths)[1] if paths else ()
    failed = next((tool for tool in tools if not tool.ok), None)
    return None if failed is None else _tool_failure(failed.name, failed.command, failed.output)


def run_linters(project: Project) -> Bad | None:
    """The stacks' linters; a settlement runs them too, a tester's step has none."""
    for stack in project.settings.stacks:
        if stack.check:
            tool = run_tool(project, stack, "check", stack.check)
            if not tool.ok:
                return _tool_failure(tool.name, tool.command, tool.output)
    return None


def _tool_failure(name: str, command: str, output: str) -> Bad:
    reason = f"{name} failed: {command}{gist_of(output)}"
    return Bad(feedback.tool_failed(name, command, output), (reason,), output)


def gist_of(output: str) -> str:
    """The first line of a tool's output that names a place or an error, to be said after its name."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return f": {shorten((telling or lines)[0], _GIST, placeholder=' …')}" if lines else ""


def quoting(project: Project, tree: str | None = None) -> feedback.Quote:
    """Lines as they stand in a tree, or in the files."""

    def quoted(path: str, line: int) -> str:
        text = texts_at(project, tree, [path]).get(path) if tree else text_of(project, path)
        lines = (text or "").splitlines()
        return f" `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else ""

    return quoted


def join_reasons(reasons: Iterable[str]) -> str:
    """On one line."""
    return "; ".join(reason.rstrip(".") for reason in reasons)


def forbidden(reason: str) -> Bad:
    return Bad(feedback.not_allowed(reason), (reason,))


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
