"""`tdd settle --watch`: after each save a dot and a line: red, green, and why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verdigris.cli.context import here, show
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.records import AGENT
from verdigris.core.verdict import first_line
from verdigris.turns.implied_reds import find_changed_tests
from verdigris.turns.late_proof import is_late
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.test import run_tests
from verdigris.views.lines import Line, count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.storage.project import Project

_LOOK = 0.3
"""Seconds between two looks at the files."""


def watch_saves(project: Project) -> int:
    """Looks until Ctrl-C; a save that comes while tests run is looked at next."""
    if project.actor.role == AGENT:
        raise UserError("`--watch` is for a person at a terminal.", hint="`tdd settle` judges once")
    show([Line("watching; Ctrl-C ends it")])
    seen = ""
    try:
        while True:
            tree = project.workspace.snapshot()
            if tree == seen:
                time.sleep(_LOOK)
                continue
            seen = tree
            show(describe_save(project))
    except KeyboardInterrupt:
        return 0


def describe_save(project: Project) -> list[Line]:
    """Judges what stands in the tree, and says it in a line or two, or why it cannot be judged yet."""
    try:
        state = project.state()
        tests = find_changed_tests(project, state, project.workspace.snapshot())
        if not state.claims and not is_late(project, state):
            return _describe_tests(project, tests)
        match settle(project):
            case Deny() as denial:
                return [Line(f"{first_line(denial.reason)} next: {denial.next}", "red")]
            case judged:
                return _describe_verdict(judged)
    except VerdigrisError as error:
        return [Line(f"{error.message} {error.hint or ''}".rstrip(), "yellow")]


def _describe_tests(project: Project, tests: Sequence[str]) -> list[Line]:
    """Says which of the changed tests is red: its code may be written next."""
    if not tests:
        return [Line("nothing changed that a verdict is about")]
    tested = run_tests(project, tests, cwd=here())
    reds = [run for run in tested.tests if run.red == "valid"]
    if reds:
        return [Line(f"red: {run.test_id}: {run.failure}", "red") for run in reds]
    return [Line(f"no red in {', '.join(tests)}; next: {tested.next}", "yellow")]


def _describe_verdict(judged: Settlement) -> list[Line]:
    if not judged.verdict.accepted:
        return [Line(f"{judged.verdict.kind}: {judged.verdict.reasons[0]}", "red")]
    owed = f"; owes {count_of(len(judged.owed), 'case')}" if judged.owed else ""
    return [Line(f"accepted: {', '.join(judged.accepted)}{owed}", "green")]
