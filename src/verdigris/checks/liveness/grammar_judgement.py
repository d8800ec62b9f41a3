"""Judges sets of runs, with true and with changed tests, in languages that tree-sitter reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.checks.liveness.judgement import OTHER_CONTENT, Liveness, describe_unseen
from verdigris.core.report import RunEnd, Status, TestReport, TestResult
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from verdigris.languages.probes import Probe, Try

_FORGED = frozenset({"Contradiction", "ReportedTwice"})
_EARLY = frozenset({RunEnd.EARLY_EXIT, RunEnd.DIED})
_ENDED_EARLY = "the run ended early"
_UNREAD = "no assertion that can be changed was found in it"
_ONLY_OPPOSITE = "no other expected value was found for it; only the opposite was tried"


@value
class Member:
    """One of the runs; the true one has no tries."""

    tries: tuple[Try, ...]
    report: TestReport


@value
class TriedTests:
    """Which tests are tried, by native ids."""

    claimed: tuple[str, ...]
    others: tuple[str, ...] = ()
    """That the change affects, and that pass in the suite."""


@dataclass(slots=True)
class _SetFindings:
    hollow: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Tests that failed at a changed assertion."""
    passed: set[str] = field(default_factory=set)
    """Tests that passed although something that may not run was changed."""
    raised: set[str] = field(default_factory=set)
    """Tests that failed elsewhere."""
    away: dict[str, str] = field(default_factory=dict)
    """Tests that a try did not see the end of, and why."""
    plausible: set[str] = field(default_factory=set)


def judge_set(
    asked: TriedTests, known: Sequence[Probe], true: TestReport, changed: Sequence[Member], drawn: int
) -> Liveness:
    """`drawn`: how many changed texts there were to try."""
    tried = frozenset((*asked.claimed, *asked.others))
    named = frozenset(result.native_id for result in true.results)
    found = _SetFindings()
    for member in changed:
        _take_in(found, tried, member, named)
    doubts = [*_unlike(asked, true)] or [*_tests_without_end(asked, found, known)]
    found.hollow |= dict.fromkeys(_find_unseen(asked, found, known))
    noted = [*not_shown(asked, known)]
    noted += (f"{one}: {_ONLY_OPPOSITE}" for one in asked.claimed if one in found.seen - found.plausible)
    if len(changed) < drawn:
        noted.append(f"{len(changed)} of {drawn} changed texts were tried: `liveness.seconds` was used up")
    return Liveness(tuple(found.hollow), tuple(noted), () if found.hollow else tuple(doubts))


def find_other_content(
    contents: Sequence[Try], passing: Collection[str], compared: TestReport
) -> tuple[str, ...]:
    """The equalities that fail where content is compared, in tests that pass otherwise."""
    places = {
        (failure.place.path, failure.place.line)
        for result in compared.results
        if result.native_id in passing
        and result.status is Status.FAIL
        and (failure := result.failure) is not None
        and failure.assertion
        and failure.place is not None
    }
    return tuple(
        f"{probe.at}: {OTHER_CONTENT}"
        for probe in (one.probe for one in contents)
        if any((probe.path, line) in places for line in range(probe.line, probe.last + 1))
    )


def hollow_others(asked: TriedTests, member: Member) -> frozenset[str]:
    """Unclaimed tests that pass this changed text."""
    passing = {r.native_id for r in member.report.results if r.status is Status.PASS}
    tried = {name for one in member.tries for name in one.probe.names}
    return frozenset(tried & passing & {*asked.others})


def was_not_built(report: TestReport) -> bool:
    return bool(report.errors) and not report.results


def _take_in(found: _SetFindings, tried: frozenset[str], member: Member, named: frozenset[str]) -> None:
    """Where rows of a table name their tests, those of changed rows have names that were not there before."""
    report = member.report
    results = {result.native_id: result for result in report.results}
    renamed = [result for native, result in results.items() if native not in named]
    for one in member.tries:
        fresh = [result for result in renamed if result.native_id.startswith(f"{one.probe.path}::")]
        other = next((r for r in fresh if r.status is Status.PASS), next(iter(fresh), None))
        for native in sorted(one.probe.names | one.probe.maybe):
            if native in tried:
                sure = native in one.probe.names
                _judge(found, one, native, results.get(native, other), report, sure=sure)


def _judge(
    found: _SetFindings, one: Try, native: str, result: TestResult | None, report: TestReport, *, sure: bool
) -> None:
    if result is not None and result.status is Status.PASS:
        if sure:
            found.hollow[f"{one.probe.at}: with this assertion changed, {native} still passes"] = None
        else:
            found.passed.add(native)
        return
    if one.change.plausible:
        found.plausible.add(native)
    failure = None if result is None else result.failure
    if (
        result is not None
        and result.status is Status.FAIL
        and (failure is None or failure.kind not in _FORGED)
    ):
        place = None if failure is None else failure.place
        at_test = failure is None or failure.assertion or place is None or place.path == one.probe.path
        (found.seen if at_test else found.raised).add(native)
    elif report.ended in _EARLY or (failure is not None and failure.kind in _FORGED):
        found.away[native] = _ENDED_EARLY
    else:
        found.away[native] = _why(report)


def _why(report: TestReport) -> str:
    if report.ended is RunEnd.TIMEOUT:
        return "no time was left"
    if report.errors:
        return f"what it was changed to does not build: {report.errors[0].message.splitlines()[0][:120]}"
    return "the test did not run to its end"


def _unlike(asked: TriedTests, true: TestReport) -> Iterator[str]:
    """Tests that pass in the suite and not here, where everything but the other files is the same."""
    results = {result.native_id: result for result in true.results}
    for native in (*asked.claimed, *asked.others):
        result = results.get(native)
        if result is None or result.status is not Status.PASS:
            failure = "" if result is None or result.failure is None else result.failure.message[:200]
            why = failure or (
                "it was not run" if true.ended is RunEnd.FINISHED else f"the run ended: {true.ended}"
            )
            yield f"{native} passes in the suite, but not when only its own file is run: {why}"


def _find_unseen(asked: TriedTests, found: _SetFindings, known: Sequence[Probe]) -> Iterator[str]:
    """Claimed tests all of whose assertions may not run, and did not: one that ran would have failed."""
    sure = {name for probe in known for name in probe.names}
    for native in asked.claimed:
        if native in found.passed - sure - found.seen:
            yield describe_unseen(native)


def _tests_without_end(asked: TriedTests, found: _SetFindings, known: Sequence[Probe]) -> Iterator[str]:
    sure = {name for probe in known for name in probe.names}
    for native in asked.claimed:
        if native in found.seen | found.passed:
            continue
        if native in found.raised:
            yield f"{native}: with an assertion changed, it fails somewhere else and never at that assertion"
        elif native in found.away and (native in sure or found.away[native] != _ENDED_EARLY):
            yield f"{native}: no run with a changed assertion finished: {found.away[native]}"


def not_shown(asked: TriedTests, known: Sequence[Probe]) -> Iterator[str]:
    """Claimed tests in which nothing can be changed."""
    reached = {name for probe in known for name in probe.names | probe.maybe}
    yield from (f"{native}: {_UNREAD}" for native in asked.claimed if native not in reached)
