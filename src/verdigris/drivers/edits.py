"""Shows roles a project, takes their edits through the kernel, and tells them how the suite stands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Protocol, TypeAlias

from verdigris.checks.observation import ORACLE
from verdigris.core.actions import Deny
from verdigris.core.paths import FILE, LINK, Entry, PathClass
from verdigris.core.report import Status, TestReport
from verdigris.core.settings import ConcernRule
from verdigris.core.state import Red
from verdigris.core.value import value
from verdigris.drivers.commits import Verified
from verdigris.execution.test_run import run_tool
from verdigris.models.roles import feedback
from verdigris.models.roles.context import HUGE, Material, Tree, as_text
from verdigris.setup.initialisation import has_tests
from verdigris.storage.project import Project, text_of, texts_at
from verdigris.turns.candidate_run import format_edits
from verdigris.turns.operation import operation
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.test import run_tests
from verdigris.turns.write import write

_TELLING = re.compile(r"error|:\d+[:,)]|\(\d+,\d+\)", re.IGNORECASE)
_GIST = 200
FORMATTED = frozenset({PathClass.TEST, PathClass.SOURCE})
_MANY_FILES = 2_000
"""In a larger project roles are shown only tests and source."""


@value
class Bad:
    """Why an edit is refused."""

    said: str
    """For the model."""
    reasons: tuple[str, ...]
    """For people."""
    output: str = ""
    """The output of a tool that failed."""
    passing: tuple[str, ...] = ()
    """New tests that pass already, if that is the reason."""


Seen: TypeAlias = "list[TestReport]"
"""The test runs of a judgement, for the step's log."""


def write_changes(project: Project, changes: Mapping[str, bytes | None]) -> Bad | None:
    """Writes through the kernel, which decides by path, phase and content."""
    decision = write(project, changes, cwd=project.root)
    return refuse(decision) if isinstance(decision, Deny) else None


def format_changes(project: Project, start: str) -> Bad | None:
    """Runs the configured formatters on tests and source that differ from `start`."""
    with operation(project):
        tree = project.workspace.snapshot()
        changed = [c.path for c in project.workspace.changes(start, tree) if not c.deleted]
        paths = tuple(path for path in changed if project.classify(path) in FORMATTED)
        tools = format_edits(project, tree, paths)[1] if paths else ()
    failed = next((tool for tool in tools if not tool.ok), None)
    return None if failed is None else _tool_failure(failed.name, failed.command, failed.output)


def run_linters(project: Project) -> Bad | None:
    """Runs the stacks' linters: a tester's step has no settlement that would."""
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
    """The first line of a tool's output that names a place or an error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return f": {shorten((telling or lines)[0], _GIST, placeholder=' …')}" if lines else ""


def make_quote(project: Project, tree: str | None = None) -> feedback.Quote:
    """Quotes lines of a tree, or of the files on disk."""

    def quote(path: str, line: int) -> str:
        text = texts_at(project, tree, [path]).get(path) if tree else text_of(project, path)
        lines = (text or "").splitlines()
        return f" `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else ""

    return quote


def join_reasons(reasons: Iterable[str]) -> str:
    """Joins reasons on one line."""
    return "; ".join(reason.rstrip(".") for reason in reasons)


def forbid(reason: str) -> Bad:
    return Bad(feedback.not_allowed(reason), (reason,))


def refuse(denial: Deny) -> Bad:
    """A denial of the kernel, in words for a role."""
    return Bad(feedback.describe_denial(denial), (f"denied [{denial.rule}]: {denial.reason}",))


def quote_judged(project: Project, aside: str | None) -> feedback.Quote:
    """Quotes lines as they were judged, also after the edits were set aside as `aside`."""
    laid = project.state().aside.get(aside or "")
    return make_quote(project, laid.edited if laid is not None else None)


def settle_edits(project: Project, seen: Seen) -> Bad | None:
    return refuse_judged(project, settle(project), seen)


def refuse_judged(project: Project, judged: Settlement | Deny, seen: Seen) -> Bad | None:
    """None: the settlement, or the end of the refactor, is accepted."""
    if isinstance(judged, Deny):
        return refuse(judged)
    seen += [judged.report] if judged.report else []
    verdict, report, output = judged.verdict, judged.report, judged.output
    if verdict.accepted:
        return None
    withheld = frozenset(project.state().held_out)
    quote = quote_judged(project, judged.aside)
    said = feedback.describe_verdict(verdict, report, output, withheld=withheld, quote=quote)
    why = feedback.causes(verdict, report) + "".join(map(gist_of, output))
    return Bad(said, (f"{verdict.kind}: {why}",), "\n".join(output))


def describe_reds(reds: tuple[Red, ...]) -> tuple[str, ...]:
    """Describes reds for a role; the text is the same from the log as right after the run."""
    return tuple(f"{red.test_id}{f' at {red.place}' if red.place else ''}: {red.failure}" for red in reds)


def quote_reds(project: Project, reds: Iterable[Red]) -> tuple[str, ...]:
    """Describes reds for watchers, each as three lines: its id, the failing line and its message."""
    quote = make_quote(project)
    found = []
    for red in reds:
        path, _, line = red.place.rpartition(":")
        failing = quote(path, int(line) if line.isdecimal() else 0).strip(" `")
        found.append(f"{red.test_id}\n{failing}\n{red.failure}")
    return tuple(found)


def describe_tools(project: Project) -> Iterator[str]:
    """Tells a role which commands format and check what it writes."""
    for stack in project.settings.stacks:
        if stack.format:
            yield f"What you write is formatted by `{stack.format}`."
        if stack.check:
            yield f"It has to pass `{stack.check}`."


def gather_material(project: Project, files: Tree, brief: str, brief_path: str, budget: int) -> Material:
    """`files`: the project at the start of the step. `brief`: the text that says what is to be built."""
    stack = project.settings.stacks[0]
    return Material(
        kata=brief,
        classify=project.classify,
        language=stack.language,
        runner=stack.runner,
        kata_path=brief_path,
        files=files,
        tools=tuple(describe_tools(project)),
        withheld=frozenset(project.state().held_out),
        budget=budget,
    )


def read_files(project: Project, tree: str) -> Tree:
    entries = project.workspace.files(tree)
    paths = [entry.path for entry in shown_entries(entries, project.classify)]
    return as_tree(entries, project.workspace.read_many(tree, paths))


def shown_entries(entries: Sequence[Entry], classify: Callable[[str], PathClass]) -> list[Entry]:
    """The files whose text roles are shown."""
    many = len(entries) > _MANY_FILES
    return [e for e in entries if e.mode != LINK and (not many or classify(e.path) in FORMATTED)]


def as_tree(entries: Iterable[Entry], data: Mapping[str, bytes | None]) -> Tree:
    """Every path; None in place of a text that is not shown, not text, or very large."""
    texts = {
        path: as_text(found) if found is not None and len(found) <= 4 * HUGE else None
        for path, found in data.items()
    }
    return {**dict.fromkeys((entry.path for entry in entries), None), **texts}


Judged: TypeAlias = Verified | Bad


class StepRules(Protocol):
    """A driver's own rules for the edits of its roles; its settings have these values."""

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
    """The tree with these edits; no file is written."""
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
    """A digest of the oracle: tests, specifications and switches, by content."""
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
    """Ids of tests, and paths of files that do not load."""

    @property
    def green(self) -> bool:
        return not self.failing

    @property
    def named(self) -> str:
        more = f" and {len(self.failing) - _NAMED} more" if len(self.failing) > _NAMED else ""
        return ", ".join(self.failing[:_NAMED]) + more

    @property
    def words(self) -> str:
        """The words for a role."""
        if self.failing:
            return f"These tests fail now: {self.named}. {self.passed} pass."
        if self.passed > 1:
            return f"All {self.passed} tests pass."
        return "The one test there is passes." if self.passed else "There is no test yet."


def accepted_suite(project: Project) -> dict[str, Status]:
    """How each test ended in the run of the last acceptance; empty if there was none."""
    baseline = project.state().baseline
    data = project.workspace.blob_bytes(baseline.record) if baseline else None
    return {name: Status(status) for name, status in json.loads(data or b"{}").items()}


def read_standing(project: Project) -> SuiteStanding:
    baseline = project.state().baseline
    known = baseline is not None and baseline.tree == project.workspace.snapshot()
    if known and (statuses := accepted_suite(project)):
        return _count_standing(statuses, ())
    if not has_tests(project):
        return SuiteStanding(0, ())
    tested = run_tests(project, (), cwd=project.root)
    errors = tested.report.errors if tested.report is not None else ()
    return _count_standing(
        {run.native_id: run.status for run in tested.tests}, [error.path for error in errors]
    )


def _count_standing(statuses: dict[str, Status], unloaded: tuple[str, ...] | list[str]) -> SuiteStanding:
    failing = sorted(name for name, status in statuses.items() if status in _BAD)
    passed = sum(status is Status.PASS for status in statuses.values())
    return SuiteStanding(passed, (*failing, *dict.fromkeys(unloaded)))
