"""Turns test reports into events, and judges what each red is worth."""

from __future__ import annotations

import json
import os.path
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.events import Event, RedsEnded, SuiteRun, TestRun, Violation
from verdigris.core.languages import language_of
from verdigris.core.paths import PathClass
from verdigris.core.policy.next_move import covers_test, ended_reds
from verdigris.core.report import Place, RunEnd, Status, TestReport, TestResult, suite_of
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.core.verdict import first_line
from verdigris.core.verdict.redness import judge_red
from verdigris.execution.test_selection import baseline_ids
from verdigris.storage.project import Project, bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.core.suite_health import Hindrance


SINGLE_PASSES = 200
"""A run with more passes than this keeps them in its suite record alone."""


def test_events(project: Project, report: TestReport, tree: str) -> tuple[TestRun, ...]:
    results = report.results
    if any(result.failure for result in results):
        results = with_subjects(project, results)
    held = _files_of_failures(project, tree, results)
    runs = tuple(_event(project, report, result, tree, held) for result in results)
    if not any(run.red == "valid" for run in runs):
        return runs
    from verdigris.checks.file_use import recorded_reads

    reads = recorded_reads(project, report, tree)
    return tuple(replace(run, reads=reads) if run.red == "valid" else run for run in runs) if reads else runs


def _files_of_failures(project: Project, tree: str, results: Iterable[TestResult]) -> frozenset[str]:
    """The files of tests that failed, as far as the snapshot has them."""
    failed = {split_id(r.native_id).path for r in results if r.status not in {Status.PASS, Status.SKIP}}
    read = project.workspace.read_many(tree, sorted(failed)) if failed else {}
    return frozenset(path for path, data in read.items() if data is not None)


def run_events(
    project: Project,
    state: WorktreeState,
    report: TestReport,
    runs: tuple[TestRun, ...],
    asked: Sequence[str],
    always: Collection[str] = (),
) -> tuple[Event, ...]:
    """What a run adds to the log: its tests, the reds that it ended, and what it tried to write.

    One event a test; a large run leaves its passes to the suite record, except `always` (native ids).
    `asked` as for `ended_reds`.
    """
    if len(runs) > SINGLE_PASSES:
        runs = tuple(run for run in runs if run.status is not Status.PASS or run.native_id in always)
    runs = tuple(replace(run, by=_whose(project, state, run, asked)) if run.red else run for run in runs)
    reds = {i: red for i, red in state.reds.items() if i not in state.claims}
    ended = ended_reds(reds, report, asked)
    return (*runs, *([RedsEnded(test_ids=ended)] if ended else []), *violations(project, report))


def _whose(project: Project, state: WorktreeState, run: TestRun, asked: Sequence[str]) -> str:
    """A run of the whole suite leaves each red to the agent that has it."""
    red = state.reds.get(run.test_id)
    named = any(name not in {"", "."} and covers_test(name.rstrip("/"), run.native_id) for name in asked)
    return project.context if red is None or named else red.by


def suite_names(project: Project, claimed: Sequence[str] = ()) -> tuple[str, ...]:
    """What a run of the configured suite asks for; nothing where that is all there is."""
    stacks = project.settings.stacks
    if not any(stack.suite for stack in stacks):
        return ()
    whole = (stack.root for stack in stacks if not stack.suite)
    return (*whole, *(name for stack in stacks for name in suite_of(stack).names), *claimed)


def _event(
    project: Project,
    report: TestReport,
    result: TestResult,
    tree: str,
    held: frozenset[str],
) -> TestRun:
    failure = result.failure
    place = failure.own_place if failure else None
    return TestRun(
        test_id=result.id,
        test_id_source=result.id_source,
        status=result.status,
        command=report.command,
        duration_ms=result.duration_ms,
        tree=tree,
        native_id=result.native_id,
        red=red_of(project, result, held),
        failure=f"{failure.kind}: {first_line(failure.message)}" if failure else "",
        place=f"{place.path}:{place.line}" if place else "",
    )


def red_of(project: Project, result: TestResult, held: frozenset[str]) -> str | None:
    if result.status in {Status.PASS, Status.SKIP}:
        return None
    native = split_id(result.native_id)
    if not _is_frozen(project, result.native_id, native.path):
        return "not-a-test"
    if native.path not in held:
        return "unrecorded"
    return judge_red(
        result,
        classify=project.classify,
        rule=project.settings.red,
        at=partial(_class_at, project),
    )


def _is_frozen(project: Project, native_id: str, path: str) -> bool:
    """Whether its text stays as it is while going green; a doc test stands among the words about source."""
    from verdigris.languages.registry import holds_tests

    cls = project.classify(path)
    if not holds_tests(path, cls):
        return cls is PathClass.TEST
    from verdigris.checks.source_edits import on_disk, test_text
    from verdigris.execution.test_selection import stack_of
    from verdigris.runners.registry import kind_of

    data = on_disk(project)(path)
    is_doc_test = kind_of(stack_of(project.settings.stacks, path).runner).is_doc_test
    if data is None or (is_doc_test is not None and is_doc_test(native_id)):
        return False
    return bool(test_text(path, data, on_disk(project)).strip())


def _class_at(project: Project, place: Place) -> PathClass:
    """The path class of one line: tests may stand among source."""
    from verdigris.languages.registry import holds_tests

    cls = project.classify(place.path)
    if not holds_tests(place.path, cls):
        return cls
    from verdigris.checks.source_edits import on_disk, only_for_tests
    from verdigris.languages.registry import reader_of

    data = on_disk(project)(place.path)
    if data is None:
        return cls
    regions = reader_of(place.path).test_regions()
    in_region = regions is not None and regions.is_test_line(data, place.line)
    tests = in_region or only_for_tests(place.path, on_disk(project))
    return PathClass.TEST if tests else cls


def rewritten_files(project: Project, report: TestReport) -> tuple[str, ...]:
    """Source, tests, their data and specs that the run wrote or deleted.

    Later tests were judged by them, so the tree that the run judged is not the one that would be accepted.
    """
    return tuple(path for path in report.wrote if _decides(project, path))


def about_the_run(project: Project, report: TestReport) -> tuple[str, ...]:
    """Concerns of a verdict: what the room could not give, what is odd, and what else the run wrote."""
    others = (path for path in report.wrote if not _decides(project, path))
    return (*report.notes, *(f"the test run wrote {path}, which the worktree did not get" for path in others))


def _decides(project: Project, path: str) -> bool:
    """Not a new file of data among the tests: no test found that in the tree."""
    cls = project.classify(path)
    code = cls in {PathClass.TEST, PathClass.SPEC} and language_of(path) is not None
    return cls is PathClass.SOURCE or code or _is_oracle(project, path)


def _is_oracle(project: Project, path: str) -> bool:
    return project.classify(path) in {PathClass.TEST, PathClass.SPEC} and os.path.lexists(project.root / path)


def violations(project: Project, report: TestReport) -> tuple[Violation, ...]:
    """Attempts of a run to write switches and the oracle; the worktree does not get what is written."""
    if report.sandbox == "none":
        return ()
    switches = (path for path in report.wrote if project.classify(path) is PathClass.SWITCH)
    oracle = (path for path in report.wrote if _is_oracle(project, path))
    what = "written by a test run; the worktree did not get it"
    return tuple(Violation(path=path, what=what) for path in (*switches, *oracle))


def suite_event(project: Project, report: TestReport, tree: str) -> SuiteRun | None:
    """Only a run that finished says how the suite stands."""
    if report.ended is not RunEnd.FINISHED or not report.results:
        return None
    counts = Counter(r.status for r in report.results)
    record = {r.native_id: r.status for r in report.results}
    return SuiteRun(
        tree=tree,
        command=report.command,
        record=project.workspace.blob(json.dumps(record, sort_keys=True).encode("ascii")),
        passed=counts[Status.PASS],
        failed=counts[Status.FAIL] + counts[Status.ERROR],
        skipped=counts[Status.SKIP],
        duration_ms=report.duration_ms,
        hindrance=hindrance_in(project, report, tree, whole=True),
    )


def hindrance_in(project: Project, report: TestReport, tree: str, *, whole: bool) -> Hindrance | None:
    """What kept tests of a run from running."""
    if _ran_freely(report):
        return None
    from verdigris.checks.hindrance import hindrance_of

    return hindrance_of(project, report, tree, whole=whole)


def _ran_freely(report: TestReport) -> bool:
    return not report.errors and not report.outside and report.ended is not RunEnd.NO_START


def standing_events(
    project: Project, state: WorktreeState, report: TestReport, tree: str, *, whole: bool
) -> tuple[Event, ...]:
    """What a run says about the suite. `whole`: all of it was asked for.

    Only acceptance may make the baseline smaller: else a test could be configured away before a claim.
    """
    if whole and _is_whole(project, state, report, tree):
        suite = suite_event(project, report, tree)
        if suite is not None:
            return (suite,)
    if state.hindrance is None and _ran_freely(report):
        return ()
    from verdigris.checks.hindrance import hindered_events

    return hindered_events(project, state, report, tree, whole=whole)


def _is_whole(project: Project, state: WorktreeState, report: TestReport, tree: str) -> bool:
    """Whether no test that is known can be missing.

    A first baseline is made only if nothing differs from the ground that could leave tests out, or if none
    ran there.
    """
    if state.turn is not None:
        return False
    ids = baseline_ids(project, state)
    hindered = state.hindrance is not None and state.hindrance.blocks
    if ids is not None or state.ground is None or hindered:
        return (ids or frozenset()) <= {result.native_id for result in report.results}
    from verdigris.checks.observation import difference
    from verdigris.languages.registry import reader_of

    changed = difference(project, state.ground, tree).oracle
    return all(reader_of(path).tests.holds_test(bytes_of(project, path) or b"") for path in changed)


def with_subjects(project: Project, results: tuple[TestResult, ...]) -> tuple[TestResult, ...]:
    if not any(map(_gave_up, results)):
        return results
    functions = _functions(project)
    return tuple(_add_subject(project, r, functions) if _gave_up(r) else r for r in results)


def _gave_up(result: TestResult) -> bool:
    failure = result.failure
    if failure is None:
        return False
    from verdigris.languages.registry import reader_of

    return reader_of(split_id(result.native_id).path).unwraps.gave_up(failure)


def _add_subject(project: Project, result: TestResult, functions: Mapping[str, str]) -> TestResult:
    from verdigris.languages.registry import reader_of

    failure, native = result.failure, split_id(result.native_id)
    text = text_of(project, native.path)
    if failure is None or not text:
        return result
    returned = reader_of(native.path).unwraps.subject_of(failure, text, native.function, functions)
    if returned is None:
        return result
    subject, line = returned
    frames = failure.frames or (Place(native.path, line),)
    return replace(result, failure=replace(failure, subject=subject, frames=frames))


def _functions(project: Project) -> dict[str, str]:
    """The functions of the project's source, without the tests in it."""
    from verdigris.languages.registry import by_language

    tree = project.workspace.snapshot()
    paths = (entry.path for entry in project.workspace.files(tree))
    source = by_language(path for path in paths if project.classify(path) is PathClass.SOURCE)
    functions: dict[str, str] = {}
    for language, mine in source.items():
        if language.facts.tests_in_source:
            data = project.workspace.read_many(tree, mine)
            functions |= language.unwraps.functions({path: text or b"" for path, text in data.items()})
    return functions
