"""Mutates what a refactor changed, and reports mutants that no test notices."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.checks.verdict_checks import NO_SANDBOX
from verdigris.core.languages import is_loaded_singly
from verdigris.core.report import Ended, Status
from verdigris.core.value import value
from verdigris.execution.test_run import execute_suite
from verdigris.languages.findings import Mutant, Mutated
from verdigris.languages.registry import by_language
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from collections.abc import Collection

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.report import TestReport
    from verdigris.execution.room.layers import Layer
    from verdigris.storage.project import Project

MOST = 12
"""Runs of the tests that one refactor is worth; which changes they try is drawn by lot."""
SECONDS = 60.0
_NO_TIME = "time or number of tries was used up"


@value
class Survivors:
    found: tuple[str, ...] = ()
    """What no test notices: behaviour that came with the refactor."""
    noted: tuple[str, ...] = ()
    """What no test notices and may well be the same behaviour, and what was not tried."""


def survivors(
    project: Project,
    start: str,
    tree: str,
    edits: TreeDifference,
    passing: Collection[str],
    room: Layer | None,
) -> Survivors:
    """`passing`: native ids of the tests that pass on `tree`."""
    made = _make_mutants(project, start, tree, edits)
    mutants = list(made.mutants)
    random.SystemRandom().shuffle(mutants)
    mutants.sort(key=lambda mutant: mutant.weak)  # those that can refuse come first
    if room is None:
        return Survivors((), (NO_SANDBOX,) if mutants else ())
    modes = {entry.path: entry.mode for entry in project.workspace.files(tree)}
    ends = time.monotonic() + SECONDS
    found: list[str] = []
    weak: list[str] = []
    untried = list(made.untried)
    for number, mutant in enumerate(mutants):
        left = ends - time.monotonic()
        if number >= MOST or left <= 0:
            untried.append(f"{_at(mutant)}: {_NO_TIME}")
            continue
        contents = {mutant.path: (modes[mutant.path], mutant.data)}
        layer = replace(room, wanted=project.workspace.compose(tree, contents), worktree=tree)
        report = execute_suite(project, TestRequest(timeout=left, sources=()), layer=layer)
        match _is_noticed(mutant, report, passing):
            case False:
                (weak if mutant.weak else found).append(f"{_at(mutant)}: {mutant.what}")
            case None:
                untried.append(f"{_at(mutant)}: what it was changed to does not build")
    not_tried = (f"not tried: {what}" for what in untried)
    return Survivors(tuple(sorted(found)), (*sorted(weak), *sorted(not_tried)))


def _make_mutants(project: Project, start: str, tree: str, edits: TreeDifference) -> Mutated:
    paths = [c.path for c in edits.source]
    found: list[Mutant] = []
    untried: list[str] = []
    unread: list[str] = []
    for language, mine in by_language(paths).items():
        read = [path for path in mine if language.traces or language.has_grammar(path)]
        unread += (f"{path}: nothing here reads it" for path in mine if path not in read)
        made = language.mutants(*(project.workspace.read_many(at, read) for at in (start, tree)))
        found += made.mutants
        untried += made.untried
    return Mutated(tuple(found), (*untried, *unread))


def _is_noticed(mutant: Mutant, report: TestReport, passing: Collection[str]) -> bool | None:
    """None where it was never run."""
    if not is_loaded_singly(mutant.path) and not report.results:
        return None
    if report.ended is not Ended.FINISHED:
        return True
    still = {result.native_id for result in report.results if result.status is Status.PASS}
    return not still.issuperset(passing)


def _at(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}"
