"""Judges whether a green depends on its assertions, from how each run of a set ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.report import Place, VariantOutcome
from verdigris.core.test_ids import function_of
from verdigris.core.value import field, replace, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.languages.tracing import RunSet, TracedProbe

SPENT = "no time was left"
_UNTRIED = "it was not tried"
_AWAY = frozenset({_UNTRIED, SPENT, "the run ended early"})
"""Why a test got away from being tried, in the words of the reporter."""


@value
class Liveness:
    hollow: tuple[str, ...]
    """What passed although an assertion was changed, named by file and line."""
    unreached: tuple[str, ...]
    """What could not be changed or was not reached: neither alive nor hollow."""
    doubts: tuple[str, ...] = ()
    """Tests that got away: every try of them ended before they did."""


@value
class LivenessFindings:
    """What one set of runs showed."""

    hollow: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test: what it passes although an assertion was changed."""
    seen: frozenset[str] = frozenset()
    """Cases of tests in which an assertion was seen to run: changed, it failed in its place."""
    lines: frozenset[tuple[str, int]] = frozenset()
    """The assertions that were seen to run, as they stand in the true text."""
    suspects: tuple[TracedProbe, ...] = ()
    """Passed, and perhaps rightly: not reached, or caught; each with the cases of tests that did."""
    unlike: tuple[str, ...] = ()
    """Of the asked tests: those that do not pass with the true text."""
    unreached: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test: assertions that were not seen to fail in their places, and why."""
    away: Mapping[str, str] = field(default_factory=dict)
    """Tests of which no try came to its end, and why."""
    tried: Mapping[str, int] = field(default_factory=dict)
    """How many changes of a test were seen to their end."""


@value
class _CaseEnd:
    """How one case of a test ended in a run."""

    name: str
    """Its id in the run with the true text: a changed value in its row changes the id."""
    status: str
    places: tuple[Place, ...] = ()


class _SeenProbes:
    """Gathers what the runs of a set say."""

    def __init__(self) -> None:
        self.hollow: dict[str, dict[str, None]] = {}
        self.seen: set[str] = set()
        self.lines: set[tuple[str, int]] = set()
        self.suspects: dict[TracedProbe, None] = {}
        self.unreached: dict[str, dict[str, None]] = {}
        self.whys: dict[str, list[str]] = {}
        self.tried: dict[str, int] = {}
        self.named: dict[str, tuple[str, ...]] = {}
        self.joint: dict[tuple[int, str], list[tuple[TracedProbe, frozenset[int], str | None]]] = {}

    def take(self, probe: TracedProbe, function: str, outcome: VariantOutcome, right: list[_CaseEnd]) -> None:
        """`right`: the cases of the function with the true text."""
        cases = _cases(function, outcome, right)
        passing = _passing_numbers(cases, right)
        why = _why_unreached(probe, cases, outcome)
        self.whys.setdefault(function, []).append("" if cases else why or "")
        self.named.setdefault(function, tuple(case.name for case in cases))
        self.tried[function] = self.tried.get(function, 0) + bool(cases)
        self.seen.update(case.name for case in cases if _fails_at(probe, case))
        if why is None:
            self.lines.add((probe.path, probe.line))
        if probe.group:
            self.joint.setdefault((probe.group, function), []).append((probe, passing, why))
        else:
            self.judge(probe, function, why, tuple(cases[number].name for number in sorted(passing)))

    def judge(self, probe: TracedProbe, function: str, why: str | None, passed: tuple[str, ...]) -> None:
        """`passed`: the cases of the function that passed although the assertion was changed."""
        told = f"{probe.path}:{probe.line}: {probe.what}"
        if passed and function not in probe.guarded:
            self.hollow.setdefault(function, {})[f"{told}: {passed[0]} still passes"] = None
            return
        if passed:
            self.suspects[replace(probe, functions=passed)] = None
        if why is not None:
            self.unreached.setdefault(function, {})[f"{told}: {why}"] = None

    def judge_groups(self) -> None:
        """Each as one: what passes all of them, passes; what fails one in its place, was seen."""
        for (_, function), parts in self.joint.items():
            passed = frozenset.intersection(*(passing for _, passing, _ in parts))
            unseen = all(why is not None for *_, why in parts)
            probe, _, why = parts[-1]
            named = self.named.get(function, ())
            cases = tuple(named[number] for number in sorted(passed) if number < len(named))
            self.judge(probe, function, why if unseen else None, cases)


def judge_runs(made: RunSet, outcomes: Iterable[VariantOutcome], asked: Iterable[str]) -> LivenessFindings:
    """`asked`: native ids that must pass with the true text; a function stands for all its cases."""
    known = {outcome.index: outcome for outcome in outcomes}
    right = known.get(made.truth, VariantOutcome(made.truth, why=_UNTRIED))
    book = _SeenProbes()
    for index, member in enumerate(made.members):
        outcome = known.get(index, VariantOutcome(index, why=_UNTRIED))
        for probe in member.probes:
            for function in probe.functions:
                book.take(probe, function, outcome, _cases(function, right))
    book.judge_groups()
    hollow = {name: tuple(texts) for name, texts in book.hollow.items() if not _fails(name, right)}
    away = {
        name: next(why for why in whys if why)
        for name, whys in book.whys.items()
        if whys and all(why in _AWAY for why in whys)
    }
    unlike = tuple(i for i in asked if not _all_pass(i, right))
    return LivenessFindings(
        hollow,
        frozenset(book.seen),
        frozenset(book.lines),
        tuple(book.suspects),
        unlike,
        {name: tuple(texts) for name, texts in book.unreached.items()},
        away,
        book.tried,
    )


def reached_assertions(made: RunSet, outcomes: Iterable[VariantOutcome]) -> frozenset[tuple[str, int, str]]:
    """Path, line and case of each assertion behind which a failure was noticed."""
    known = {outcome.index: outcome for outcome in outcomes}
    return frozenset(
        (probe.path, probe.line, case.name)
        for index, member in enumerate(made.members)
        for probe in member.probes
        for function in probe.functions
        for case in (_cases(function, known[index]) if index in known else ())
        if _fails_at(probe, case)
    )


def find_unnoticed(
    suspects: Iterable[TracedProbe], heard: frozenset[tuple[str, int, str]]
) -> dict[str, tuple[str, ...]]:
    """Lists by test the assertions that passed although they are reached and a failure there is noticed."""
    found: dict[str, list[str]] = {}
    for probe in suspects:
        for case in probe.functions:
            if (probe.path, probe.line, case) in heard:
                told = f"{probe.path}:{probe.line}: {probe.what}: {case} still passes"
                found.setdefault(function_of(case), []).append(told)
    return {function: tuple(texts) for function, texts in found.items()}


def describe_unseen(function: str) -> str:
    return f"{function}: none of its assertions ran: changed, none of them fails"


def describe_unseen_case(case: str) -> str:
    return f"{case}: no assertion ran in this case of it"


def _passing_numbers(cases: list[_CaseEnd], right: list[_CaseEnd]) -> frozenset[int]:
    """The cases that pass, by number; of those that fail with the true text too, nothing is known."""
    alike = len(cases) == len(right)
    sound = all(case.status != "failed" for case in right)
    return frozenset(
        number
        for number, case in enumerate(cases)
        if case.status == "passed" and (right[number].status == "passed" if alike else sound)
    )


def _fails(function: str, right: VariantOutcome) -> bool:
    """Whether no case of the test passed with the true text."""
    return not any(case.status == "passed" for case in _cases(function, right))


def _all_pass(test_id: str, right: VariantOutcome) -> bool:
    known = right.outcomes
    cases = [known[test_id]] if test_id in known else [case.status for case in _cases(test_id, right)]
    return bool(cases) and all(status == "passed" for status in cases)


def _why_unreached(probe: TracedProbe, cases: list[_CaseEnd], outcome: VariantOutcome) -> str | None:
    if any(_fails_at(probe, case) for case in cases):
        return None
    if any(case.status == "failed" for case in cases):
        return "the test failed elsewhere"
    if any(case.status == "passed" for case in cases):
        return "it was not reached, or its failure is caught"
    return "the test was skipped or ended in its setup" if cases else outcome.why or "the test did not run"


def _fails_at(probe: TracedProbe, case: _CaseEnd) -> bool:
    first, last = probe.lines
    places = case.places if case.status == "failed" else ()
    return any(place.path == probe.path and first <= place.line <= last for place in places)


def _cases(function: str, outcome: VariantOutcome, right: Sequence[_CaseEnd] = ()) -> list[_CaseEnd]:
    """`right`: the same cases with the true text, in the same order; they give the names."""
    ids = [i for i in outcome.outcomes if i == function or i.startswith(f"{function}[")]
    names = [case.name for case in right] if len(right) == len(ids) else ids
    return [
        _CaseEnd(name, outcome.outcomes[i], outcome.places.get(i, ()))
        for name, i in zip(names, ids, strict=True)
    ]
