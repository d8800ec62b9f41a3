"""Judges the tester's edits: one new test that is red for the right reason, and no test lost.

A test that passes at once is one too if it pays what accepted code owes.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Mapping
from difflib import SequenceMatcher

from verdigris.checks.observation import find_unclaimed
from verdigris.checks.weakening import find_losses
from verdigris.core.events import TestRun
from verdigris.core.languages import known_suffixes, language_of
from verdigris.core.paths import PathClass
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.core.verdict import first_line
from verdigris.drivers.commits import Verified, summarise_red
from verdigris.drivers.edits import (
    Bad,
    Judged,
    Seen,
    StepRules,
    forbid,
    format_changes,
    make_quote,
    run_linters,
    with_changes,
    write_changes,
)
from verdigris.execution.test_run import run_request
from verdigris.execution.test_selection import baseline_ids, by_stack
from verdigris.languages.registry import UNREAD, is_traced, language_for, reader_of
from verdigris.models.roles import feedback
from verdigris.models.roles.check import EditPlan
from verdigris.runners.protocol import TestRequest
from verdigris.runners.registry import BUILT_IN
from verdigris.storage.project import Project, texts_at
from verdigris.turns.test import run_tests
from verdigris.turns.test_record import Tested

_NAMED = 4
"""How many tests a reason names."""


def judge_tests(project: Project, rules: StepRules, plan: EditPlan, start: str, seen: Seen) -> Judged:
    """Checks for stubs before it writes: an open red would make more source look claimed."""
    return (
        _only_stubs(project, start, with_changes(project, start, plan.changes))
        or write_changes(project, plan.changes)
        or judge_written_tests(project, rules, start, seen)
    )


def judge_written_tests(project: Project, rules: StepRules, start: str, seen: Seen) -> Judged:
    """Judges the present tree against the step's start."""
    return (
        _only_stubs(project, start, project.workspace.snapshot())
        or format_changes(project, start)
        or run_linters(project)
        or _check_nothing_lost(project)
        or _judge_red(project, rules, start, seen)
    )


def _only_stubs(project: Project, start: str, tree: str) -> Bad | None:
    found = find_unclaimed(project, start, tree)
    if not found:
        return None
    first = found[0]
    return forbid(
        f"{first.path}:{first.line} is more than a stub, and a tester writes no source: {first.why}"
    )


def _check_nothing_lost(project: Project) -> Bad | None:
    """Compares with the last acceptance: a test-bug lets the tester change only the test written since."""
    state = replace(project.state(), test_bugs={})
    losses = find_losses(project, state, project.workspace.snapshot()).blocking
    return forbid(f"the suite lost something: {losses[0]}") if losses else None


def _judge_red(project: Project, rules: StepRules, start: str, seen: Seen) -> Judged:
    passing = baseline_ids(project, project.state()) or frozenset()
    tree = project.workspace.snapshot()
    changed = {change.path for change in project.workspace.changes(start, tree)}
    tested = _run_suite(project, changed)
    seen += [tested.report] if tested.report else []
    if tested.report is not None and tested.report.ended is not RunEnd.FINISHED and not tested.tests:
        why = f"the test run did not end as it should: {tested.report.ended}"
        return Bad(feedback.wrong_red(tested.tests, tested.report), (why,), tested.report.tail)
    if tested.report is not None and (many := _too_many(project, rules, start, changed, tested.report)):
        return many
    reds = [run for run in tested.tests if run.red == "valid" and split_id(run.native_id).path in changed]
    spoilt = [run for run in tested.tests if run not in reds and _is_spoilt(run, passing, changed)]
    errors = tested.report.errors if tested.report else ()
    if not reds and tested.paid and not (spoilt or errors):
        new = _new_passes(project, start, changed, tested)
        return Verified("characterization", f"{_count_passed(tested)} passed", new)
    if not reds:
        passing_new = _new_passes(project, start, changed, tested)
        stubbed = any(project.classify(path) is PathClass.SOURCE for path in changed)
        said = feedback.wrong_red(
            tested.tests, tested.report, passing=passing_new, stubbed=stubbed, quote=make_quote(project)
        )
        reasons = _why_no_red(tested, changed, passing_new, stubbed=stubbed)
        return Bad(said, reasons, _tail(tested), passing_new)
    idle = [run for run in reds if not asks_source(project, start, tree, run.native_id)]
    if idle:
        return forbid(
            f"{idle[0].test_id} fails, but runs nothing of the source: no implementation could make it pass."
            " Call the code that is asked for"
        )
    if spoilt or errors:
        said = feedback.describe_spoilt(spoilt, tested.report)
        what = [f"{run.test_id}: {run.failure or run.status}" for run in spoilt]
        what += [f"{error.path}: {error.kind}" for error in errors]
        return Bad(said, (f"besides the new red something else does not pass: {what[0]}",), _tail(tested))
    return _gather_verified(project, tested, reds)


def _is_spoilt(run: TestRun, passing: Collection[str], changed: Collection[str]) -> bool:
    """Whether a test that passed before, or is new, does not pass."""
    is_new = run.status is not Status.SKIP and split_id(run.native_id).path in changed
    return run.status is not Status.PASS and (is_new or run.native_id in passing)


def _too_many(
    project: Project, rules: StepRules, start: str, changed: set[str], report: TestReport
) -> Bad | None:
    new = new_functions(report, changed, test_texts_at(project, start).values())
    if len(new) <= rules.tests_per_step:
        return None
    names = ", ".join(name.partition("::")[2] for name in new[:_NAMED])
    most = f"{rules.tests_per_step} of them" if rules.tests_per_step > 1 else "one"
    more = ", …" if len(new) > _NAMED else ""
    return forbid(
        f"there are {len(new)} new tests ({names}{more}), and a step has {most}:"
        " keep the simplest one, the others get steps of their own"
    )


def _run_suite(project: Project, changed: set[str]) -> Tested:
    """Runs the suite, and changed test files too if the configured suite may leave them out."""
    whole = run_tests(project, (), cwd=project.root)
    files = [path for path in sorted(changed) if (project.root / path).is_file()]
    own = [path for path in files if project.classify(path) is PathClass.TEST]
    if not own or not any(stack.suite for stack in project.settings.stacks):
        return whole
    more = run_tests(project, own, cwd=project.root)
    known = {run.native_id for run in whole.tests}
    return replace(more, tests=(*whole.tests, *(run for run in more.tests if run.native_id not in known)))


def _new_passes(project: Project, start: str, changed: set[str], tested: Tested) -> tuple[str, ...]:
    if tested.report is None:
        return ()
    new = new_functions(tested.report, changed, test_texts_at(project, start).values())
    passing = {run.native_id.partition("[")[0] for run in tested.tests if run.status is Status.PASS}
    return tuple(name for name in new if name in passing)


def _why_no_red(
    tested: Tested, changed: set[str], passing: tuple[str, ...], *, stubbed: bool
) -> tuple[str, ...]:
    near = [run for run in tested.tests if split_id(run.native_id).path in changed and run.red]
    errors = tested.report.errors if tested.report else ()
    return (
        *(f"{run.test_id}: not red for the right reason: {run.red}" for run in near),
        *(f"{error.path}: {error.kind}: {first_line(error.message)}" for error in errors),
    ) or (
        f"no test fails: {passing[0]} passes {'with its own stub' if stubbed else 'already'}"
        if passing
        else "no test fails: nothing new is asked for",
    )


def _tail(tested: Tested) -> str:
    return tested.report.tail if tested.report else ""


def _gather_verified(project: Project, tested: Tested, reds: list[TestRun]) -> Verified:
    state = project.state()
    ids = sorted(run.test_id for run in reds)
    told = dict(summarise_red(state.reds[i]) for i in ids if i in state.reds)
    return Verified("red", f"{len(ids)} red, {_count_passed(tested)} passed", tuple(ids), told)


def _count_passed(tested: Tested) -> int:
    return sum(run.status is Status.PASS for run in tested.tests)


_WORD = re.compile(r"[^\W\d]\w+")
_DECLARED = re.compile(r"\b(?:function|const|let|var|class|fn|func|use|import)\b[^\n]*")
_GRAMMAR = frozenset(
    re.findall(
        r"\S+",
        """
        function const let var export default new this null undefined true false async await
        fn pub mut mod use crate self super impl struct enum match macro_rules cfg
        func package type interface map range nil string int bool
        test it describe expect toBe toEqual assert assert_eq assert_ne testing Errorf
        """,
    )
) | frozenset((*keyword.kwlist, *BUILT_IN))
"""Words that do not show that the project's source is used."""


# -- new tests ---------------------------------------------------------------------------------


def new_functions(report: TestReport, changed: Collection[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Tests of the changed files whose names occur in none of the earlier texts.

    The cases of one function count as one, and so do the titles that one line of a table generates.
    """
    before = "\n".join(texts)
    found: dict[tuple[str, str | int], str] = {}
    for result in report.results:
        test = split_id(result.native_id)
        name = re.split(r"::| › ", test.function)[-1]
        if test.path in changed and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", before):
            found.setdefault((test.path, result.line or test.function), f"{test.path}::{test.function}")
    return tuple(found.values())


def test_texts_at(project: Project, tree: str) -> dict[str, str]:
    return _texts(project, tree, PathClass.TEST)


# -- use of the source -----------------------------------------------------


def asks_source(project: Project, start: str, tree: str, red: str) -> bool:
    """Whether a red names something of the source, or runs some of it."""
    path = split_id(red).path
    sources = _texts(project, tree, PathClass.SOURCE)
    before, after = texts_at(project, start, [path]), texts_at(project, tree, [path])
    if names_source(path, before.get(path, ""), after.get(path, ""), sources):
        return True
    return is_traced(path) and _runs_source(project, red, sources)


def names_source(path: str, before: str, after: str, sources: Mapping[str, str]) -> bool:
    """Whether the new lines name something of the source, one of its modules, or a helper beside the test."""
    matcher = SequenceMatcher(a=before.splitlines(), b=after.splitlines(), autojunk=False)
    spans = [range(j1 + 1, j2 + 1) for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    language = language_for(path) or UNREAD
    # Without comments and imports, if the language is read.
    new = "\n".join(language.tests.new_words(after, [number for span in spans for number in span]))
    words = {word for word in _WORD.findall(new) if not word.lower().startswith("test")} - _GRAMMAR
    stems = {part for name in sources for part in re.split(r"[/.]", name)} - {
        "src",
        *(suffix[1:] for suffix in known_suffixes()),
    }
    known = {word for text in sources.values() for word in _WORD.findall(text)}
    if not is_traced(path):
        known |= {word for line in _DECLARED.findall(before) for word in _WORD.findall(line)}
    return not words.isdisjoint((known | stems) - _GRAMMAR)


def _runs_source(project: Project, red: str, sources: Mapping[str, str]) -> bool:
    """Whether a line inside a function runs: lines at a module's top run on import."""
    paths = [path for path in sources if is_traced(path)]
    for stack, names in by_stack(project.settings.stacks, [red]).items() if paths else ():
        report = run_request(project, stack, TestRequest(names, trace=tuple(paths)))
        for path in paths:
            tracing, ran = reader_of(path).tracing(), report.lines.get(path)
            if tracing is not None and ran and tracing.function_lines(sources[path]) & ran:
                return True
    return False


def _texts(project: Project, tree: str, cls: PathClass) -> dict[str, str]:
    paths = [entry.path for entry in project.workspace.files(tree) if project.classify(entry.path) is cls]
    return texts_at(project, tree, [path for path in paths if language_of(path)])
