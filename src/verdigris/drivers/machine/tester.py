"""The tester's edits: tests and stubs only, a red for the right reason, and nothing lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.agents.roles import feedback
from verdigris.core.pathclass import PathClass
from verdigris.core.report import Ended, Status
from verdigris.core.testids import split_id
from verdigris.drivers.machine.judging import (
    Bad,
    Judged,
    checked,
    forbidden,
    formatted,
    with_changes,
    written,
)
from verdigris.drivers.machine.message import Verified, told_red
from verdigris.kernel.evidence import baseline_ids
from verdigris.kernel.observe import unclaimed
from verdigris.kernel.testing import run_tests
from verdigris.kernel.weakening import lost

if TYPE_CHECKING:
    from verdigris.agents.roles.check import EditPlan
    from verdigris.core.events import TestRun
    from verdigris.drivers.machine.judging import Seen
    from verdigris.kernel.project import Project
    from verdigris.kernel.testing import Tested


def judge_tests(project: Project, plan: EditPlan, start: str, seen: Seen) -> Judged:
    """Said before it is written: a red that happens to be open must not make it look claimed."""
    return (
        _only_stubs(project, start, with_changes(project, start, plan.changes))
        or written(project, plan.changes)
        or judge_written_tests(project, start, seen)
    )


def judge_written_tests(project: Project, start: str, seen: Seen) -> Judged:
    """The tree as it stands, against the step's start."""
    return (
        _only_stubs(project, start, project.workspace.snapshot())
        or formatted(project, start)
        or checked(project)
        or _kept(project)
        or _red(project, start, seen)
    )


def _only_stubs(project: Project, start: str, tree: str) -> Bad | None:
    found = unclaimed(project, start, tree)
    if not found:
        return None
    first = found[0]
    return forbidden(
        f"{first.path}:{first.line} is more than a stub, and a tester writes no source: {first.why}"
    )


def _kept(project: Project) -> Bad | None:
    """Against the last acceptance: a test-bug frees the tester's last test only, which came after it."""
    state = replace(project.state(), test_bugs={})
    losses = lost(project, state, project.workspace.snapshot()).blocking
    return forbidden(f"the suite lost something: {losses[0]}") if losses else None


def _red(project: Project, start: str, seen: Seen) -> Judged:
    passing = baseline_ids(project, project.state()) or frozenset()
    tree = project.workspace.snapshot()
    changed = {change.path for change in project.workspace.changes(start, tree)}
    tested = _tested(project, changed)
    seen += [tested.report] if tested.report else []
    if tested.report is not None and tested.report.ended is not Ended.FINISHED and not tested.tests:
        why = f"the test run did not end as it should: {tested.report.ended}"
        return Bad(feedback.wrong_red(tested.tests, tested.report), (why,), tested.report.tail)
    reds = [run for run in tested.tests if run.red == "valid" and split_id(run.native_id).path in changed]
    if not reds:
        return Bad(
            feedback.wrong_red(tested.tests, tested.report), _why_no_red(tested, changed), _tail(tested)
        )
    spoilt = [run for run in tested.tests if _spoilt(run, reds, passing, changed)]
    errors = tested.report.errors if tested.report else ()
    if spoilt or errors:
        said = feedback.spoilt(spoilt, tested.report)
        what = [f"{run.test_id}: {run.failure or run.status}" for run in spoilt] or [
            f"{error.path}: {error.kind}" for error in errors
        ]
        return Bad(said, (f"besides the new red something else does not pass: {what[0]}",), _tail(tested))
    return _verified(project, tested, reds)


def _tested(project: Project, changed: set[str]) -> Tested:
    """The suite; and the files that changed, where a configuration may leave them out of it."""
    whole = run_tests(project, (), cwd=project.root)
    files = [path for path in sorted(changed) if (project.root / path).is_file()]
    own = [path for path in files if project.classify(path) is PathClass.TEST]
    if not own or not any(stack.suite for stack in project.settings.stacks):
        return whole
    more = run_tests(project, own, cwd=project.root)
    known = {run.native_id for run in whole.tests}
    return replace(more, tests=(*whole.tests, *(run for run in more.tests if run.native_id not in known)))


def _spoilt(run: TestRun, reds: list[TestRun], passing: frozenset[str], changed: set[str]) -> bool:
    """What passed before, or is new, and neither passes nor is one of the reds."""
    if run.status in {Status.PASS, Status.SKIP} or run in reds:
        return run.status is Status.SKIP and run.native_id in passing
    return run.native_id in passing or split_id(run.native_id).path in changed


def _why_no_red(tested: Tested, changed: set[str]) -> tuple[str, ...]:
    near = [run for run in tested.tests if split_id(run.native_id).path in changed and run.red]
    errors = tested.report.errors if tested.report else ()
    return (
        *(f"{run.test_id}: not red for the right reason: {run.red}" for run in near),
        *(f"{error.path}: {error.kind}" for error in errors),
    ) or ("no test fails: nothing new is asked for",)


def _tail(tested: Tested) -> str:
    return tested.report.tail if tested.report else ""


def _verified(project: Project, tested: Tested, reds: list[TestRun]) -> Verified:
    state = project.state()
    ids = sorted(run.test_id for run in reds)
    passed = sum(run.status is Status.PASS for run in tested.tests)
    lines = (
        f"red for the right reason: {', '.join(ids)}",
        f"passing as before: {passed}",
    )
    told = dict(told_red(state.reds[i]) for i in ids if i in state.reds)
    return Verified("red", lines, tuple(ids), told)
