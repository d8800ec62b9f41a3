"""Judges whether a green depends on its assertions, from how each run of a set ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.report import Place, VariantOutcome
from verdigris.core.test_ids import function_of
from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.languages.probes import RunSet, Try

SPENT = "no time was left"
OTHER_CONTENT = "the answer says that it is equal, and its content is another"
OWN_EQUALITY = "only a method of a class that the test names says so: look at its data as well"
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
class Suspect:
    """An assertion with a change that some cases of a test passed, perhaps rightly."""

    path: str
    line: int
    what: str
    cases: tuple[str, ...]
    guarded: frozenset[str]
    """The tests that may rightly pass."""


@value
class LivenessFindings:
    """What one set of runs showed."""

    hollow: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test: what it passes although an assertion was changed."""
    seen: frozenset[str] = frozenset()
    """Cases of tests in which an assertion was seen to run: changed, it failed in its place."""
    lines: frozenset[tuple[str, int]] = frozenset()
    """The assertions that were seen to run, as they stand in the true text."""
    suspects: tuple[Suspect, ...] = ()
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
        self.suspects: dict[Suspect, None] = {}
        self.unreached: dict[str, dict[str, None]] = {}
        self.whys: dict[str, list[str]] = {}
        self.tried: dict[str, int] = {}
        self.named: dict[str, tuple[str, ...]] = {}
        self.joint: dict[tuple[int, str], list[tuple[Try, frozenset[int], str | None]]] = {}

    def take(self, one: Try, function: str, outcome: VariantOutcome, right: list[_CaseEnd]) -> None:
        """`right`: the cases of the function with the true text."""
        cases = _cases(function, outcome, right)
        passing = _passing_numbers(cases, right)
        why = _why_unreached(one, cases, outcome)
        self.whys.setdefault(function, []).append("" if cases else why or "")
        self.named.setdefault(function, tuple(case.name for case in cases))
        self.tried[function] = self.tried.get(function, 0) + bool(cases)
        self.seen.update(case.name for case in cases if _fails_at(one, case))
        if why is None:
            self.lines.add((one.probe.path, one.probe.line))
        if one.probe.joint:
            self.joint.setdefault((id(one.probe), function), []).append((one, passing, why))
        else:
            self.judge(one, function, why, tuple(cases[number].name for number in sorted(passing)))

    def judge(self, one: Try, function: str, why: str | None, passed: tuple[str, ...]) -> None:
        """`passed`: the cases of the test that passed although the assertion was changed."""
        path, line, what = one.probe.path, one.probe.line, one.change.what
        told = f"{path}:{line}: {what}"
        if passed and function not in one.guarded:
            self.hollow.setdefault(function, {})[f"{told}: {passed[0]} still passes"] = None
            return
        if passed:
            self.suspects[Suspect(path, line, what, passed, one.guarded)] = None
        if why is not None:
            self.unreached.setdefault(function, {})[f"{told}: {why}"] = None

    def judge_groups(self) -> None:
        """Each as one: what passes all of them, passes; what fails one in its place, was seen."""
        for (_, function), parts in self.joint.items():
            passed = frozenset.intersection(*(passing for _, passing, _ in parts))
            unseen = all(why is not None for *_, why in parts)
            one, _, why = parts[-1]
            named = self.named.get(function, ())
            cases = tuple(named[number] for number in sorted(passed) if number < len(named))
            self.judge(one, function, why if unseen else None, cases)


def judge_runs(made: RunSet, outcomes: Iterable[VariantOutcome], asked: Iterable[str]) -> LivenessFindings:
    """`asked`: native ids that must pass with the true text; a function stands for all its cases."""
    known = {outcome.index: outcome for outcome in outcomes}
    right = known.get(made.truth, VariantOutcome(made.truth, why=_UNTRIED))
    book = _SeenProbes()
    for index, member in enumerate(made.members):
        outcome = known.get(index, VariantOutcome(index, why=_UNTRIED))
        for one in member.tries:
            for function in sorted(one.probe.names | one.probe.maybe):
                book.take(one, function, outcome, _cases(function, right))
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
        (one.probe.path, one.probe.line, case.name)
        for index, member in enumerate(made.members)
        for one in member.tries
        for function in one.probe.names | one.probe.maybe
        for case in (_cases(function, known[index]) if index in known else ())
        if _fails_at(one, case)
    )


def find_other_content(made: RunSet, outcomes: Iterable[VariantOutcome]) -> tuple[tuple[str, bool], ...]:
    """The equalities that hold, and not where plain data are compared by content.

    With each: whether only the strict comparison refuses it, which trusts no class that a test names.
    """
    known = {outcome.index: outcome for outcome in outcomes}
    right = known.get(made.truth, VariantOutcome(made.truth))
    refused: dict[str, bool] = {}
    for one, index in ((one, index) for index, member in enumerate(made.members) for one in member.tries):
        for function in sorted(one.probe.names | one.probe.maybe):
            passed = {case.name for case in _cases(function, right) if case.status == "passed"}
            cases = _cases(function, known.get(index, VariantOutcome(index)), _cases(function, right))
            if any(case.name in passed and _fails_at(one, case) for case in cases):
                refused[one.probe.at] = one.change.may_pass and refused.get(one.probe.at, True)
    return tuple(refused.items())


def find_unnoticed(
    suspects: Iterable[Suspect], heard: frozenset[tuple[str, int, str]]
) -> dict[str, tuple[str, ...]]:
    """Lists by test the assertions that passed although they are reached and a failure there is noticed."""
    found: dict[str, list[str]] = {}
    for one in suspects:
        for case in one.cases:
            if (one.path, one.line, case) in heard:
                told = f"{one.path}:{one.line}: {one.what}: {case} still passes"
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


def _why_unreached(one: Try, cases: list[_CaseEnd], outcome: VariantOutcome) -> str | None:
    if any(_fails_at(one, case) for case in cases):
        return None
    if any(case.status == "failed" for case in cases):
        return "the test failed elsewhere"
    if any(case.status == "passed" for case in cases):
        return "it was not reached, or its failure is caught"
    return "the test was skipped or ended in its setup" if cases else outcome.why or "the test did not run"


def _fails_at(one: Try, case: _CaseEnd) -> bool:
    first, last = one.lines
    places = case.places if case.status == "failed" else ()
    return any(place.path == one.probe.path and first <= place.line <= last for place in places)


def _cases(function: str, outcome: VariantOutcome, right: Sequence[_CaseEnd] = ()) -> list[_CaseEnd]:
    """`right`: the same cases with the true text, in the same order; they give the names."""
    ids = [i for i in outcome.outcomes if i == function or i.startswith(f"{function}[")]
    names = [case.name for case in right] if len(right) == len(ids) else ids
    return [
        _CaseEnd(name, outcome.outcomes[i], outcome.places.get(i, ()))
        for name, i in zip(names, ids, strict=True)
    ]
