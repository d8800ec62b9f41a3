"""`tdd test`: runs tests, records what it saw, and prepares claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.evidence import (
    test_events,
    violations,
)
from verdigris.checks.observation import difference
from verdigris.core.events import TestRun
from verdigris.core.policy.next_move import covers_test, ended_reds
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import take_fields
from verdigris.execution.test_run import execute
from verdigris.execution.test_selection import resolve
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.turns.next_move import following_move, next_on_ground
from verdigris.turns.operation import operation
from verdigris.turns.test_record import Asked, Tested, run_asked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.state import Turn, WorktreeState
    from verdigris.storage.project import Project


def run_tests(
    project: Project,
    words: Sequence[str],
    *,
    cwd: Path,
    progress: Progress | None = None,
    again: bool = False,
) -> Tested:
    """`again`: also runs tests whose red was seen on this very tree."""
    with operation(project) as state:
        tree = project.workspace.snapshot()
        if state.turn is not None and state.turn.suspended and _names_claims(project, state, words, cwd):
            return _resume(project, state, state.turn, tree, progress)
        natives = resolve(project, words, cwd=cwd)
        seen = () if again or state.test_bugs else _already_seen(state, natives, tree)  # a run ends a report
        if seen:
            return Tested(seen, None, state.phase, next_on_ground(project, state, tree))
        return run_asked(project, state, Asked(natives, tree), progress)


def _already_seen(state: WorktreeState, natives: Sequence[str], tree: str) -> tuple[TestRun, ...]:
    """A red is not run twice on one tree: its event is the answer."""
    by_native = {red.native_id: red for red in state.reds.values() if red.valid and red.tree == tree}
    if not natives or not by_native.keys() >= set(natives):
        return ()
    reds = (by_native[native] for native in natives)
    return tuple(
        take_fields(TestRun, red, test_id_source=red.source, duration_ms=0, red=red.why, known=False, by="")
        for red in reds
    )


def _names_claims(project: Project, state: WorktreeState, words: Sequence[str], cwd: Path) -> bool:
    """Whether the words name a claim of the suspended turn; no word means all tests."""
    claims = state.claims.values()
    if not words or {*words} & {name for claim in claims for name in (claim.test_id, claim.native_id)}:
        return True
    natives = resolve(project, words, cwd=cwd)
    return any(covers_test(native, claim.native_id) for native in natives for claim in claims)


def _resume(
    project: Project, state: WorktreeState, turn: Turn, tree: str, progress: Progress | None
) -> Tested:
    """HEAD moved under the turn: its reds are proven again on the new start, without the turn's edits."""
    from verdigris.execution.test_run import on_start_tree
    from verdigris.turns.claim import continue_turn

    edits = difference(project, turn.tree, tree)
    paths = tuple(c.path for c in (*edits.source, *edits.other))
    files = {entry.path for entry in project.workspace.files(turn.tree)}
    natives = tuple(c.native_id for c in state.claims.values() if split_id(c.native_id).path in files)
    report = TestReport("", RunEnd.FINISHED, 0, 0)
    runs: tuple[TestRun, ...] = ()
    if natives:
        with on_start_tree(project, start=turn.tree, edited=tree, paths=paths) as layer:
            report = execute(project, TestRequest(natives), progress=progress, layer=layer)
            runs = test_events(project, report, turn.tree)
    recorded = project.record(*runs, *violations(project, report))
    seqs = {record.data["test_id"]: record.seq for record in recorded if record.type == "test_run"}
    reds = {
        run.test_id: seqs[run.test_id] for run in runs if run.red == "valid" and run.test_id in state.claims
    }
    ended = ended_reds(state.claims, report, ())
    given_up = None
    if reds.keys() | set(ended) >= state.claims.keys():
        given_up = continue_turn(project, state, turn, tree, reds, report.below)
    after = project.state()
    resumed = bool(reds) and after.turn is not None
    return Tested(
        runs, report, after.phase, following_move(project, after), resumed=resumed, given_up=given_up
    )
