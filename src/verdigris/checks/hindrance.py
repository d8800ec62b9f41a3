"""Finds what keeps the tests of a project from running, and records how its suite stands."""

from __future__ import annotations

import re
import shlex
from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.confinement.needs import find_hindrance
from verdigris.core.events import SuiteHindered
from verdigris.core.paths import PathClass
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.suite_health import AGAIN, Hindrance
from verdigris.core.test_ids import split_id
from verdigris.core.verdict import first_line
from verdigris.execution.tools.registry import tool_of
from verdigris.languages.findings import StackFacts
from verdigris.languages.registry import language_named
from verdigris.runners.registry import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.confinement.needs import FindCause
    from verdigris.core.errors import VerdigrisError
    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


def hindrance_of(project: Project, report: TestReport, tree: str, *, whole: bool) -> Hindrance | None:
    """What kept tests of this run from running, as it is recorded."""
    hindrance = find_hindrance(report, tuple(_causes(project, tree)))
    return None if hindrance is None else hindrance.record(tree, whole=whole)


def hindered_events(
    project: Project, state: WorktreeState, report: TestReport, tree: str, *, whole: bool
) -> tuple[SuiteHindered, ...]:
    """What a run without a suite record says about the suite: what is in its way, or what is not any more."""
    hindrance = hindrance_of(project, report, tree, whole=whole)
    before = state.hindrance
    if hindrance is not None:
        return (SuiteHindered(hindrance=hindrance),) if hindrance.blocks or whole else ()
    if before is None or (before.elsewhere and not report.loaded) or report.ended is not RunEnd.FINISHED:
        return ()
    ran = {split_id(result.native_id).path for result in report.results}
    loads = not ran.isdisjoint(before.files) if before.files else bool(ran)
    return (SuiteHindered(),) if whole or loads else ()


def record_missing_tool(project: Project, error: VerdigrisError, tree: str) -> None:
    """No tool could be started."""
    cure = f"{error.hint}, {AGAIN}" if error.hint else "`tdd doctor`"
    project.record(SuiteHindered(hindrance=Hindrance(error.message, cure, tree=tree, blocks=True)))


def _causes(project: Project, tree: str) -> Iterator[FindCause]:
    paths = (entry.path for entry in project.workspace.files(tree))
    source = frozenset(path for path in paths if project.classify(path) is PathClass.SOURCE)
    for stack in project.settings.stacks:
        yield _of_stack(stack, _facts(project, stack, source))
        here = "" if stack.root in {".", ""} else f"cd {shlex.quote(stack.root)} && "
        yield partial(_lacks_download, kind_of(stack.runner).downloads, here)


def _of_stack(stack: Stack, facts: StackFacts) -> FindCause:
    language = language_named(stack.language)
    return lambda kind, text: language.project.find_cause(stack.runner, kind, text, facts)


def _facts(project: Project, stack: Stack, source: frozenset[str]) -> StackFacts:
    install = partial(tool_of(stack.runner).installation, stack, project.root)
    return StackFacts(project.root / stack.root, stack.root, source, install)


def _lacks_download(
    downloads: tuple[tuple[str, str], ...],
    here: str,
    kind: str,  # noqa: ARG001 - its text tells
    text: str,
) -> Hindrance | None:
    for pattern, move in downloads:
        if line := re.search(rf".*(?:{pattern}).*", text):
            cure = f"{move.replace('`', f'`{here}', 1)}, {AGAIN}"
            return Hindrance(f"a test run downloads nothing: {first_line(line[0])}", cure)
    return None
