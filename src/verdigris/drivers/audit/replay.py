"""Replays one change: runs its tests over the source of before, runs all tests after it, and compares.

*Before* and *after* are the trees on both sides of the change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from verdigris.checks.coverage import executed_lines, uncovered_lines, watchable
from verdigris.checks.observation import Candidate, TreeDifference, difference, is_layout
from verdigris.checks.refactor import find_unrun
from verdigris.checks.verdict_checks import VerdictChecks, find_concerns, scrutinise
from verdigris.checks.weakening import RECORDED, describe_weakening, find_weakenings
from verdigris.core.languages import facts_of
from verdigris.core.paths import Change, PathClass
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import function_of, innermost, split_id
from verdigris.core.value import replace, value
from verdigris.core.verdict import reason_for, reasons_against_run
from verdigris.drivers.audit.outcome import UnitFacts, judge_unit, missing_downloads, why_unknown
from verdigris.drivers.audit.red_runs import find_reds, judge_reds, lay_tests, list_idle, repeat_reds
from verdigris.drivers.audit.report import FLAKY, AuditOutcome, FoundPlace, LostCheck, RedTest
from verdigris.drivers.audit.tree_runs.folder import Suite
from verdigris.drivers.audit.tree_runs.suite import TestRuns
from verdigris.drivers.audit.units import Unit
from verdigris.execution.rooms import frozen_layer
from verdigris.languages.registry import holds_tests
from verdigris.languages.tests import still_written
from verdigris.storage.project import Project, texts_at

NOTHING = Suite(TestReport("", RunEnd.FINISHED, 0, 0))
_PROSE = (".md", ".rst", ".txt", ".adoc", ".lock", ".yml", ".yaml", ".gitignore", ".svg", ".png")
"""Files that change beside the code and that tests rarely read."""


@value
class Replayed:
    facts: UnitFacts
    concerns: tuple[FoundPlace, ...] = ()
    notes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Files of source and tests that changed by more than layout."""
    passing: tuple[str, ...] = ()
    """Native ids of tests that pass before and after."""


@value
class _Change:
    """What is known of a unit before anything runs."""

    edits: TreeDifference
    source: tuple[Change, ...]
    """Changes of source by more than comments and layout."""
    oracle: tuple[str, ...]
    """Tests, their data and runner keys that changed by more than that."""
    tests: bool
    """Some of the oracle's files are tests or their data, not only keys of a runner."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(one.path for one in self.source), *self.oracle)))

    def may_turn_green(self) -> bool:
        """Whether anything changed besides the tests that could make one of them pass."""
        others = (c.path for c in self.edits.other)
        return bool(self.source) or any(not path.endswith(_PROSE) for path in others)


def replay(runs: TestRuns, unit: Unit, *, deep: bool = False) -> Replayed:
    """Raises the error that keeps a run from being made; `TimedOut` once the unit's time is over."""
    change = _look(runs.at(unit.after), unit)
    if not change.source and not change.oracle:
        runs.share(unit.before, unit.after)
        return Replayed(UnitFacts())
    runs.prepare()
    before, after = _run_suites(runs, unit, change)
    facts = UnitFacts(
        source=bool(change.source),
        tests=change.tests,
        configuration=bool(change.oracle) and not change.tests,
        ran=bool(after.passed),
    )
    if missing := missing_downloads(unit, before, after):
        return Replayed(replace(facts, unknown=missing, curable=True), paths=change.paths)
    if unknown := why_unknown(runs.at(unit.after), unit, before, after):
        return Replayed(replace(facts, unknown=unknown), paths=change.paths)
    return _Comparison(runs, unit, change, before, after).compare(facts, deep=deep)


def _look(project: Project, unit: Unit) -> _Change:
    edits = difference(project, unit.before, unit.after)
    changes = {c.path: c for c in project.workspace.changes(unit.before, unit.after)}
    # Specs and switches are part of the oracle, and no run reads them.
    unread = {PathClass.SPEC, PathClass.SWITCH}
    run = (path for path in edits.oracle if project.classify(path) not in unread)
    oracle = tuple(path for path in run if not is_layout(project, changes[path]))
    return _Change(
        edits,
        tuple(c for c in edits.source if not is_layout(project, c)),
        oracle,
        any(_is_tested(project, path) for path in oracle),
    )


def _is_tested(project: Project, path: str) -> bool:
    cls = project.classify(path)
    return cls is PathClass.TEST or holds_tests(path, cls)


def _run_suites(runs: TestRuns, unit: Unit, change: _Change) -> tuple[Suite, Suite]:
    runs.tell("all tests before the change")
    project = runs.at(unit.before)
    tested = any(_is_tested(project, entry.path) for entry in project.workspace.files(unit.before))
    before = runs.suite(unit.before) if tested else NOTHING
    runs.tell("all tests after it")
    # To trace may double the time of a whole run. If tests came with the change, those are traced first.
    traced = watchable(change.edits) if runs.reuse or not change.oracle else ()
    after = runs.suite(unit.after, traced, base=unit.before)
    if after.report.ended in {RunEnd.DIED, RunEnd.EARLY_EXIT} and before.passed:
        after = runs.suite(unit.after)  # a crash that does not repeat blames nobody
    return before, after


@value
class _Comparison:
    """Both sides of a change, with how their suites ended."""

    runs: TestRuns
    unit: Unit
    change: _Change
    before: Suite
    after: Suite

    @property
    def project(self) -> Project:
        return self.runs.at(self.unit.after)

    def compare(self, facts: UnitFacts, *, deep: bool) -> Replayed:
        runs, unit, change = self.runs, self.unit, self.change
        runs.tell("its tests over the source of before")
        weakened, noted = self._find_lost_checks()
        regressed, unstable = self._find_regressions()
        reds = self._find_reds(unstable)
        # Concerns ask whether source was written for the tests that became green.
        asked = change.source or reds
        concerns = find_concerns(self.project, unit.before, unit.after, change.edits) if asked else ()
        places = [FoundPlace(c.path, c.line, c.what, c.kind) for c in concerns]
        notes = (*noted, *self._note(reds, unstable))
        runs.tell("which of the changed lines are run")
        failing = self.after.failed - self.before.failed - unstable
        facts = replace(
            facts,
            reds=reds,
            tests=change.tests and (not change.source or self._ask_otherwise(reds)),
            waiting=tuple(sorted(failing)) if not change.source else (),
            regressed=regressed,
            weakened=weakened,
            hollow=tuple(f"{c.path}:{c.line}: {c.kind}: {c.what}" for c in concerns if c.blocks),
            uncovered=self._find_uncovered(),
        )
        if judge_unit(facts)[0] is AuditOutcome.REFACTOR:
            facts = replace(facts, uncovered=(*facts.uncovered, *self._find_unrun()))
        if deep:
            runs.tell("its tests with false expectations")
            live = self._try_assertions(reds)
            facts = replace(facts, hollow=tuple(dict.fromkeys((*facts.hollow, *live.blocking))))
            notes = (*notes, *live.noted, *live.doubts)
        places += (
            FoundPlace(split_id(native).path, 0, f"{native} asserts nothing", "no-assertion")
            for native in list_idle(self.project, reds)
        )
        passing = tuple(sorted(self.before.passed & self.after.passed))
        return Replayed(facts, tuple(places), notes, change.paths, passing)

    def _find_lost_checks(self) -> tuple[tuple[LostCheck, ...], tuple[str, ...]]:
        """Returns what the suite asks less than before, and weakenings that are only noted."""
        report, passed = self.after.report, self.before.passed
        found = find_weakenings(self.project, self.unit.before, self.unit.after, ())
        skipped = {r.native_id for r in report.results if r.status is Status.SKIP} & passed
        files = {split_id(native).path for native in skipped}
        # A skip with another condition takes nothing away if its tests still run.
        told = [
            w
            for w in found
            if w.kind in RECORDED or (w.kind == "skipped" and w.before and w.path not in files)
        ]
        lost = [LostCheck(w.kind, w.path, w.line, w.before, w.after) for w in found if w not in told]
        seen = {r.native_id for r in report.results}
        functions = {*map(function_of, seen)}
        unseen = [
            i for i in sorted(passed) if function_of(i) not in functions and not _is_unloaded(i, report)
        ]
        weaker = {one.path for one in lost}
        if unseen and report.ended is RunEnd.FINISHED:
            texts = texts_at(self.project, self.unit.after, {split_id(i).path for i in unseen})
            for native in still_written(texts, unseen, seen):
                path = split_id(native).path
                if path not in weaker:
                    lost.append(LostCheck("uncollected", path, 0, native, ""))
        return tuple(lost), tuple(map(describe_weakening, told))

    def _find_regressions(self) -> tuple[tuple[FoundPlace, ...], frozenset[str]]:
        """Returns tests that passed before and fail after, and tests that do both on one tree."""
        report, passed = self.after.report, self.before.passed
        if report.ended is not RunEnd.FINISHED:
            why = reasons_against_run(report)
            return ((FoundPlace("", 0, f"the whole suite: {why[0]}"),) if passed else ()), frozenset()
        seen = {result.native_id for result in report.results}
        lost = sorted(i for i in passed if i not in seen and _is_unloaded(i, report))
        doubtful = (self.after.failed & passed).union(lost)
        if not self.change.source:
            # A changed test that fails without a change of source asks for something new.
            doubtful -= {i for i in doubtful if split_id(i).path in self.change.oracle}
        unstable = self._run_again(self.unit.after, doubtful)
        failing = doubtful - unstable
        unstable |= failing - self._run_again(self.unit.before, failing)
        failing -= unstable
        return tuple(_place(report, native) for native in innermost(sorted(failing))), unstable

    def _run_again(self, tree: str, ids: Collection[str]) -> frozenset[str]:
        """Returns those that pass when they are run once more."""
        if not ids:
            return frozenset()
        again = self.runs.run(tree, sorted({split_id(native).path for native in ids}))
        return frozenset(r.native_id for r in again.results if r.status is Status.PASS and r.native_id in ids)

    def _find_reds(self, unstable: Collection[str]) -> tuple[RedTest, ...]:
        """Returns reds of the tests that the change brought, and of those that were in the suite already."""
        runs, oracle = self.runs, self.change.oracle
        sides = (self.unit.before, self.unit.after)
        known = (self.before.failed & self.after.passed) - frozenset(unstable)
        if not oracle:
            found = judge_reds(runs.at(sides[0]), self.before.report, sides[0], sorted(known))
            return tuple((found | repeat_reds(runs, sides[0], found)).values())
        if not self.change.may_turn_green():
            return ()
        tree = lay_tests(self.project, *sides, oracle)
        brought = frozenset(i for i in self.after.passed if split_id(i).path in oracle)
        found = find_reds(runs, tree, sides, brought | known)
        shared = set(oracle).difference(split_id(native).path for native in brought)
        if shared and not any(red.valid for red in found.values()):
            found |= find_reds(runs, tree, sides, self.after.passed - brought - known)
        return tuple(found.values())

    def _ask_otherwise(self, reds: Sequence[RedTest]) -> bool:
        """Whether the tests ask for more or less than before; a red test shows that they do."""
        sides = (self.unit.before, self.unit.after), (self.unit.after, self.unit.before)
        return bool(reds) or any(find_weakenings(self.project, *side, ()) for side in sides)

    def _note(self, reds: Sequence[RedTest], unstable: Collection[str]) -> Iterator[str]:
        for red in reds:
            if red.why == FLAKY:
                yield f"{FLAKY}: {red.id} was red, and passed when it was run again"
        yield from (f"{FLAKY}: {native} both passes and fails on one tree" for native in sorted(unstable))
        if failing := len(self.before.failed & self.after.failed):
            yield f"{failing} test{' fails' if failing == 1 else 's fail'} before and after"
        if self.before.report.ended is not RunEnd.FINISHED:
            yield f"what passed before is not known: {reasons_against_run(self.before.report)[0]}"

    def _find_uncovered(self) -> tuple[FoundPlace, ...]:
        """Returns changed lines that no test runs. The whole suite is traced only if the change's own tests
        leave lines out.
        """
        runs, unit, passed = self.runs, self.unit, self.after.passed
        watched = watchable(self.change.edits)
        if not watched or not passed:
            return ()
        before, now = (texts_at(self.project, tree, watched) for tree in (unit.before, unit.after))
        own = sorted({split_id(i).path for i in passed if split_id(i).path in self.change.oracle})
        if own and not set(self.after.traced).issuperset(watched):
            ran = executed_lines([runs.run(unit.after, own, watched)])
            if not uncovered_lines(dict(before), now, ran):
                return ()
        ranges = uncovered_lines(dict(before), now, executed_lines([runs.suite(unit.after, watched).report]))
        return tuple(place for text in ranges for place in _lines_of(text, now))

    def _find_unrun(self) -> tuple[FoundPlace, ...]:
        """Returns new functions that no test runs, for languages without a trace of lines. Each costs a run,
        so this is asked only if it decides the outcome.
        """
        candidate = Candidate(self.project, self.unit.before, self.unit.after, self.change.edits)
        unrun = find_unrun(candidate, self.after.report)
        return tuple(FoundPlace(one.path, one.line, one.what) for one in unrun)

    def _try_assertions(self, reds: Collection[RedTest]) -> VerdictChecks:
        """Tries, as a settlement does, whether the right reds are green by their assertions."""
        unit, report = self.unit, self.after.report
        results = (report.result(red.id) for red in reds if red.valid)
        claimed = [result.native_id for result in results if result is not None]
        if not claimed:
            return VerdictChecks()
        room = frozen_layer(self.project, unit.after, {split_id(native).path for native in claimed})
        candidate = Candidate(self.project, unit.before, unit.after, self.change.edits, room)
        return scrutinise(candidate, claimed, suite=report)


def _is_unloaded(native: str, report: TestReport) -> bool:
    """Whether its file did not load, or a file that it is compiled with."""
    path = split_id(native).path
    language = facts_of(path)
    together = language is not None and not language.loads_singly
    return any(
        error.path == path or (together and facts_of(error.path) is language) for error in report.errors
    )


def _place(report: TestReport, native: str) -> FoundPlace:
    result = report.result(native)
    failure = None if result is None else result.failure
    at = None if failure is None else failure.own_place
    path, line = (split_id(native).path, 0) if at is None else (at.path, at.line)
    return FoundPlace(path, line, reason_for(report, native, native))


def _lines_of(text: str, texts: Mapping[str, str]) -> Iterator[FoundPlace]:
    """Yields each line of `src/x.py:12-14` with its text."""
    path, _, lines = text.rpartition(":")
    first, _, last = lines.partition("-")
    written = texts[path].splitlines()
    for number in range(int(first), int(last or first) + 1):
        if written[number - 1].strip():
            yield FoundPlace(path, number, written[number - 1])
