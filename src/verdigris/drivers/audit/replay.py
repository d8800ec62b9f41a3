"""Replays one change: its tests over the source of before, all tests after, and what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.coverage import uncovered_lines, watchable
from verdigris.checks.observation import Candidate, difference, is_layout
from verdigris.checks.refactor import find_unrun
from verdigris.checks.verdict_checks import VerdictChecks, find_concerns, scrutinise
from verdigris.checks.weakening import RECORDED, describe_weakening, find_weakenings
from verdigris.core.languages import facts_of
from verdigris.core.paths import PathClass
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import function_of, innermost, split_id
from verdigris.core.value import replace, value
from verdigris.core.verdict import reason_for, reasons_against_run
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit, missing_downloads, why_unknown
from verdigris.drivers.audit.red_runs import (
    find_reds,
    judge_reds,
    lay_tests,
    list_idle,
    repeat_reds,
)
from verdigris.drivers.audit.report import FLAKY, AuditOutcome, FoundPlace, LostCheck
from verdigris.drivers.audit.tree_runs.folder import Suite
from verdigris.execution.rooms import frozen_layer
from verdigris.languages.registry import holds_tests
from verdigris.languages.tests import still_written
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.paths import Change
    from verdigris.drivers.audit.report import RedTest
    from verdigris.drivers.audit.tree_runs.suite import TestRuns
    from verdigris.drivers.audit.units import Unit
    from verdigris.storage.project import Project

NOTHING = Suite(TestReport("", RunEnd.FINISHED, 0, 0))
_PROSE = (".md", ".rst", ".txt", ".adoc", ".lock", ".yml", ".yaml", ".gitignore", ".svg", ".png")
"""What changes beside the code and is rarely read by a test."""


@value
class Replayed:
    facts: UnitFacts
    concerns: tuple[FoundPlace, ...] = ()
    notes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Of source and tests, what changed by more than layout."""
    passing: tuple[str, ...] = ()
    """Native ids of tests that pass before and after."""


@value
class _Change:
    """The unit, as far as it is known without a run."""

    before: str
    after: str
    edits: TreeDifference
    source: tuple[Change, ...]
    """Of source, what is more than comments and layout."""
    oracle: tuple[str, ...]
    """Tests, their data and runner keys, changed by more than that."""

    tests: bool
    """Of these, some are tests or their data, not keys of a runner alone."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(one.path for one in self.source), *self.oracle)))


def replay(runs: TestRuns, unit: Unit, *, deep: bool = False) -> Replayed:
    """Raises what keeps a run from being made; `TimedOut` where the unit's time is over."""
    change = _look(runs.at(unit.after), unit)
    if not change.source and not change.oracle:
        runs.share(unit.before, unit.after)
        return Replayed(UnitFacts())
    runs.prepare()
    project = runs.at(unit.after)
    runs.tell("all tests before the change")
    before = _suite_before(runs, unit.before)
    runs.tell("all tests after it")
    # To trace may double the time of a whole run: where tests came along, those are asked first.
    traced = watchable(change.edits) if runs.reuse or not change.oracle else ()
    after = runs.suite(unit.after, traced, base=unit.before)
    if after.report.ended in {RunEnd.DIED, RunEnd.EARLY_EXIT} and before.passed:
        after = runs.suite(unit.after)  # a crash that does not repeat blames nobody
    facts = UnitFacts(
        source=bool(change.source),
        tests=change.tests,
        configuration=bool(change.oracle) and not change.tests,
        ran=bool(after.passed),
    )
    if missing := missing_downloads(unit, before, after):
        return Replayed(replace(facts, unknown=missing, curable=True), paths=change.paths)
    if unknown := why_unknown(project, unit, before, after):
        return Replayed(replace(facts, unknown=unknown), paths=change.paths)
    runs.tell("its tests over the source of before")
    weakened, noted = _find_lost_checks(project, unit, before, after)
    regressed, unstable = _find_regressions(runs, unit, before, after, change)
    reds = _reds(runs, change, before, after, unstable)
    # They ask whether what made tests green was written for them.
    asked = change.source or reds
    concerns = find_concerns(project, unit.before, unit.after, change.edits) if asked else ()
    places = (*(FoundPlace(c.path, c.line, c.what, c.kind) for c in concerns), *_find_idle(project, reds))
    notes = (*noted, *_note_flaky(reds, unstable), *_note_before(before, after))
    runs.tell("which of the changed lines are run")
    facts = replace(
        facts,
        reds=reds,
        tests=change.tests and (not change.source or _ask_otherwise(project, unit, reds)),
        waiting=tuple(sorted(after.failed - before.failed - unstable)) if not change.source else (),
        regressed=regressed,
        weakened=weakened,
        hollow=tuple(f"{c.path}:{c.line}: {c.kind}: {c.what}" for c in concerns if c.blocks),
        uncovered=_uncovered(runs, unit, change, after),
    )
    if judge_unit(facts)[0] is AuditOutcome.REFACTOR:
        facts = replace(facts, uncovered=(*facts.uncovered, *_unrun(project, unit, change, after)))
    if deep:
        runs.tell("its tests with false expectations")
        live = _try_assertions(project, unit, change, after, reds)
        facts = replace(facts, hollow=tuple(dict.fromkeys((*facts.hollow, *live.blocking))))
        notes = (*notes, *live.noted, *live.doubts)
    return Replayed(facts, places, notes, change.paths, tuple(sorted(before.passed & after.passed)))


def _try_assertions(
    project: Project, unit: Unit, change: _Change, after: Suite, reds: Collection[RedTest]
) -> VerdictChecks:
    """Whether the right reds are green by their assertions, as a settlement would ask."""
    results = (after.report.result(red.id) for red in reds if red.valid)
    claimed = [result.native_id for result in results if result is not None]
    if not claimed:
        return VerdictChecks()
    room = frozen_layer(project, unit.after, {split_id(native).path for native in claimed})
    candidate = Candidate(project, unit.before, unit.after, change.edits, room)
    return scrutinise(candidate, claimed, suite=after.report)


def _look(project: Project, unit: Unit) -> _Change:
    edits = difference(project, unit.before, unit.after)
    changes = {c.path: c for c in project.workspace.changes(unit.before, unit.after)}
    oracle = tuple(p for p in edits.oracle if _asks(project, p) and not is_layout(project, changes[p]))
    return _Change(
        unit.before,
        unit.after,
        edits,
        tuple(c for c in edits.source if not is_layout(project, c)),
        oracle,
        any(_is_tested(project, path) for path in oracle),
    )


def _is_tested(project: Project, path: str) -> bool:
    cls = project.classify(path)
    return cls is PathClass.TEST or holds_tests(path, cls)


def _ask_otherwise(project: Project, unit: Unit, reds: Sequence[RedTest]) -> bool:
    """Whether the tests ask for more or less than they did; where one was red, that is the answer."""
    sides = (unit.before, unit.after), (unit.after, unit.before)
    return bool(reds) or any(find_weakenings(project, *side, ()) for side in sides)


def _find_idle(project: Project, reds: Sequence[RedTest]) -> Iterator[FoundPlace]:
    for native in list_idle(project, reds):
        yield FoundPlace(split_id(native).path, 0, f"{native} asserts nothing", "no-assertion")


def _note_flaky(reds: Sequence[RedTest], unstable: Collection[str]) -> Iterator[str]:
    yield from (
        f"{FLAKY}: {red.id} was red, and passed when it was run again" for red in reds if red.why == FLAKY
    )
    yield from (f"{FLAKY}: {native} both passes and fails on one tree" for native in sorted(unstable))


def _note_before(before: Suite, after: Suite) -> Iterator[str]:
    if failing := len(before.failed & after.failed):
        yield f"{failing} test{' fails' if failing == 1 else 's fail'} before and after"
    if before.report.ended is not RunEnd.FINISHED:
        yield f"what passed before is not known: {reasons_against_run(before.report)[0]}"


def _asks(project: Project, path: str) -> bool:
    """Specs and switches ask nothing of a run."""
    return project.classify(path) not in {PathClass.SPEC, PathClass.SWITCH}


def _suite_before(runs: TestRuns, tree: str) -> Suite:
    project = runs.at(tree)
    tested = any(_is_tested(project, entry.path) for entry in project.workspace.files(tree))
    return runs.suite(tree) if tested else NOTHING


def _find_lost_checks(
    project: Project, unit: Unit, before: Suite, after: Suite
) -> tuple[tuple[LostCheck, ...], tuple[str, ...]]:
    """What the suite asks less, and what is only noted."""
    found = find_weakenings(project, unit.before, unit.after, ())
    skipped = {r.native_id for r in after.report.results if r.status is Status.SKIP} & before.passed
    files = {split_id(native).path for native in skipped}
    # A skip with another condition takes nothing away where its tests still run.
    told = [
        w for w in found if w.kind in RECORDED or (w.kind == "skipped" and w.before and w.path not in files)
    ]
    lost = [LostCheck(w.kind, w.path, w.line, w.before, w.after) for w in found if w not in told]
    noted = tuple(map(describe_weakening, told))
    seen = {r.native_id for r in after.report.results}
    functions = {*map(function_of, seen)}
    unseen = [
        i
        for i in sorted(before.passed)
        if function_of(i) not in functions and not _is_unloaded(i, after.report)
    ]
    weaker = {one.path for one in lost}
    if unseen and after.report.ended is RunEnd.FINISHED:
        texts = texts_at(project, unit.after, {split_id(i).path for i in unseen})
        for native in still_written(texts, unseen, seen):
            path = split_id(native).path
            if path not in weaker:
                lost.append(LostCheck("uncollected", path, 0, native, ""))
    return tuple(lost), noted


def _find_regressions(
    runs: TestRuns, unit: Unit, before: Suite, after: Suite, change: _Change
) -> tuple[tuple[FoundPlace, ...], frozenset[str]]:
    """Tests that passed before and fail after, and those that give both answers on one tree."""
    if after.report.ended is not RunEnd.FINISHED:
        why = reasons_against_run(after.report)
        return ((FoundPlace("", 0, f"the whole suite: {why[0]}"),) if before.passed else ()), frozenset()
    seen = {result.native_id for result in after.report.results}
    lost = sorted(i for i in before.passed if i not in seen and _is_unloaded(i, after.report))
    doubtful = (after.failed & before.passed).union(lost)
    if not change.source:
        # A test that was changed and fails without any change of source asks for something new.
        doubtful -= {i for i in doubtful if split_id(i).path in change.oracle}
    unstable = _passing(runs, unit.after, doubtful)
    failing = doubtful - unstable
    unstable |= failing - _passing(runs, unit.before, failing)
    failing -= unstable
    return tuple(_place(after.report, native) for native in innermost(sorted(failing))), unstable


def _is_unloaded(native: str, report: TestReport) -> bool:
    """Its file did not load; or one that it is compiled with did not."""
    path = split_id(native).path
    language = facts_of(path)
    together = language is not None and not language.loads_singly
    return any(
        error.path == path or (together and facts_of(error.path) is language) for error in report.errors
    )


def _passing(runs: TestRuns, tree: str, ids: Collection[str]) -> frozenset[str]:
    """Those that pass when they are run once more."""
    if not ids:
        return frozenset()
    again = runs.run(tree, sorted({split_id(native).path for native in ids}))
    return frozenset(r.native_id for r in again.results if r.status is Status.PASS and r.native_id in ids)


def _place(report: TestReport, native: str) -> FoundPlace:
    result = report.result(native)
    failure = None if result is None else result.failure
    at = None if failure is None else failure.own_place
    path, line = (split_id(native).path, 0) if at is None else (at.path, at.line)
    return FoundPlace(path, line, reason_for(report, native, native))


def _reds(
    runs: TestRuns, change: _Change, before: Suite, after: Suite, unstable: Collection[str]
) -> tuple[RedTest, ...]:
    """Reds of the tests that the change brought, and of those that stood in the suite already."""
    known = (before.failed & after.passed) - frozenset(unstable)
    if not change.oracle:
        found = judge_reds(runs.at(change.before), before.report, change.before, sorted(known))
        return tuple((found | repeat_reds(runs, change.before, found)).values())
    if not _may_turn(change):
        return ()
    sides = (change.before, change.after)
    tree = lay_tests(runs.at(change.after), *sides, change.oracle)
    brought = frozenset(i for i in after.passed if split_id(i).path in change.oracle)
    found = find_reds(runs, tree, sides, brought | known)
    shared = set(change.oracle).difference(split_id(native).path for native in brought)
    if shared and not any(red.valid for red in found.values()):
        found |= find_reds(runs, tree, sides, after.passed - brought - known)
    return tuple(found.values())


def _may_turn(change: _Change) -> bool:
    """Whether anything changed besides the tests that could make one green."""
    others = (c.path for c in change.edits.other)
    return bool(change.source) or any(not path.endswith(_PROSE) for path in others)


def _uncovered(runs: TestRuns, unit: Unit, change: _Change, after: Suite) -> tuple[FoundPlace, ...]:
    """Changed lines that no test runs: neither those that came along nor, where these leave any, the rest."""
    watched = watchable(change.edits)
    if not watched or not after.passed:
        return ()
    project = runs.at(unit.after)
    before, now = (texts_at(project, tree, watched) for tree in (unit.before, unit.after))
    own = sorted({split_id(i).path for i in after.passed if split_id(i).path in change.oracle})
    if own and not set(after.traced).issuperset(watched):
        ran = runs.run(unit.after, own, watched).lines
        if not uncovered_lines(dict(before), now, ran):
            return ()
    ranges = uncovered_lines(dict(before), now, runs.suite(unit.after, watched).report.lines)
    return tuple(place for text in ranges for place in _lines_of(text, now))


def _unrun(project: Project, unit: Unit, change: _Change, after: Suite) -> tuple[FoundPlace, ...]:
    """What is new and no test runs, where no line is measured: each costs a run, so only where it decides."""
    candidate = Candidate(project, unit.before, unit.after, change.edits)
    unrun = find_unrun(candidate, after.passed, after.report.duration_ms)
    return tuple(FoundPlace(one.path, one.line, one.what) for one in unrun)


def _lines_of(text: str, texts: Mapping[str, str]) -> Iterator[FoundPlace]:
    """Each line of `src/x.py:12-14`, with what stands in it."""
    path, _, lines = text.rpartition(":")
    first, _, last = lines.partition("-")
    written = texts[path].splitlines()
    for number in range(int(first), int(last or first) + 1):
        if written[number - 1].strip():
            yield FoundPlace(path, number, written[number - 1])
