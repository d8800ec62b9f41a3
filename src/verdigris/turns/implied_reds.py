"""Runs changed tests before an edit of source takes effect, so that the edit claims their reds by itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import RED_FIRST
from verdigris.core.report import RunEnd
from verdigris.core.test_ids import split_id
from verdigris.core.verdict import first_line
from verdigris.core.verdict.redness import ASKS_EXISTENCE, VALID, judge_collect_error, way_out, why_not
from verdigris.execution.test_run import on_start_tree
from verdigris.languages.registry import reader_of
from verdigris.storage.lock import seconds_left
from verdigris.turns.claim_check import own_view
from verdigris.turns.test_record import Asked, run_asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project
    from verdigris.turns.test_record import Tested

_ANSWER = 3.0
"""Seconds that are kept for the answer, of those that a client gives a hook."""
_AGAIN = 30
"""Seconds after which an edit is worth another try, while its tests run."""


def see_reds(
    project: Project,
    state: WorktreeState,
    start: str,
    edited: str = "",
    paths: Sequence[str] = (),
    *,
    then: str = "repeat this edit",
) -> Deny | None:
    """Runs the tests that changed since the ground on the tree `start`; the caller holds the operation.

    `edited`: the worktree's tree, if `paths` are different there. `then`: what comes after a red. None: a red
    was seen that an edit may claim, or no test changed.
    """
    changed = find_changed_tests(project, state, start)
    if not changed:
        return None
    left = seconds_left()
    limit = None if left is None else max(1.0, left - _ANSWER)
    with on_start_tree(project, start=start, edited=edited or start, paths=paths) as layer:
        tested = run_asked(project, state, Asked(changed, start, layer, limit))
    if any(run.red == VALID for run in tested.tests):
        return None
    if tested.report is not None and tested.report.ended is RunEnd.TIMEOUT and limit is not None:
        _run_on(project, changed)
        why = f"the changed tests take longer than {limit:.0f} s, so they run on by themselves."
        return Deny("tests-run", f"This edit waits for a red: {why}", f"repeat the edit in {_AGAIN} s")
    return _explain(tested, then)


def find_changed_tests(project: Project, state: WorktreeState, tree: str) -> tuple[str, ...]:
    """The files with tests that differ from the ground, without those whose reds are another agent's.

    Helpers have no test to run.
    """
    own = own_view(project, state).reds
    theirs = {split_id(red.native_id).path for name, red in state.reds.items() if name not in own}
    changed = [path for path in difference(project, state.ground or tree, tree).oracle if path not in theirs]
    texts = project.workspace.read_many(tree, changed)
    return tuple(
        path for path, text in texts.items() if text is not None and reader_of(path).tests.holds_test(text)
    )


def _explain(tested: Tested, then: str) -> Deny:
    """What the changed tests did, and what would make one of them a red."""
    lines = (*_describe_runs(tested), *_describe_errors(tested))
    ways = {way_out(run.red, split_id(run.native_id).path) for run in tested.tests if run.red}
    errors = () if tested.report is None else tested.report.errors
    ways |= {way_out(judge_collect_error(error), error.path) for error in errors}
    first = next(iter(sorted(ways)), why_not("passing")[1])
    what = "The changed tests were run without this edit, and none is red for the right reason:"
    return Deny(RED_FIRST, "\n  ".join((what, *lines)), f"{first}; then {then}")


def _describe_runs(tested: Tested) -> Iterator[str]:
    for run in tested.tests:
        if run.native_id in tested.existing:
            yield f"{run.test_id} {ASKS_EXISTENCE}"
        elif run.red is None:
            yield f"{run.test_id} {'passes' if run.status == 'pass' else 'is skipped'}"
        else:
            yield f"{run.test_id}: {run.failure or run.status}: {why_not(run.red)[0]}"


def _describe_errors(tested: Tested) -> Iterator[str]:
    for error in tested.report.errors if tested.report else ():
        passing = [name for name in tested.existing if split_id(name).path == error.path]
        yield from (f"{name} {ASKS_EXISTENCE}" for name in passing)
        if not passing:
            yield f"{error.path} does not load: {first_line(error.message)}"


def _run_on(project: Project, paths: Sequence[str]) -> None:
    """Runs the tests in a process that outlives this one; the next try finds what it recorded."""
    subprocess.Popen(
        [sys.executable, "-P", "-m", "verdigris", "test", "--", *paths],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
