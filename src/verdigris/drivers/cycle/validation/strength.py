"""Tries the strength of tests: stubs return other constants, and no test may pass whatever they return."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random, SystemRandom

from verdigris.core.paths import PathClass
from verdigris.core.value import value
from verdigris.drivers.cycle.validation import ValidationCheck, ValidationFinding
from verdigris.drivers.cycle.validation.stub_runs import SECONDS, Assignment, StubRuns
from verdigris.languages.findings import StubAnswer, StubBody
from verdigris.languages.registry import by_language
from verdigris.storage.project import Project

NAME = "strength"
MOST = 24
"""Constants that one stub is tried with; literals of the tests are chosen at random among them."""
_SHOWN = 3


@value
class TriedTest:
    native: str
    place: str
    text: str
    """The text of its file; a stub that is not named there is not called."""
    body: str = ""
    """The text of the test itself."""
    literals: tuple[str, ...] = ()
    """Literals that it expects."""


@value
class FoundStubs:
    stubs: tuple[StubBody, ...] = ()
    notes: tuple[str, ...] = ()


def find_stubs(project: Project, tests: Sequence[TriedTest], start: str, tree: str) -> FoundStubs:
    """Returns stubs that came into source since `start` and that the tests name."""
    changes = project.workspace.changes(start, tree)
    paths = [c.path for c in changes if not c.deleted and project.classify(c.path) is PathClass.SOURCE]
    before, after = (project.workspace.read_many(at, paths) for at in (start, tree))
    literals = list(dict.fromkeys(literal for one in tests for literal in one.literals))
    found: list[StubBody] = []
    notes: list[str] = []
    for language, mine in by_language(paths).items():
        for path in mine:
            data = after[path] or b""
            bodies = language.validation.stub_bodies(path, before[path], data, literals, SystemRandom())
            if bodies is None:
                notes.append(f"{path}: nothing here reads its stubs, so none of them was changed")
            named = [stub for stub in bodies or () if any(_has_word(one.text, stub) for one in tests)]
            found += (stub for stub in named if stub.answers)
            silent = (stub for stub in named if not stub.answers)
            notes += (f"{path}:{stub.line}: no constant fits what `{stub.name}` returns" for stub in silent)
    return FoundStubs(tuple(found), tuple(notes))


def try_strength(tests: Sequence[TriedTest], found: FoundStubs, runs: StubRuns | None) -> ValidationCheck:
    """Tries tests that are red on the present tree; `runs`: None if no sandbox can be made."""
    notes = list(found.notes)
    alone = [one.native for one in tests if not any(_has_word(one.text, stub) for stub in found.stubs)]
    notes += (
        f"{one}: no new stub that it calls returns a value, so its strength was not tried" for one in alone
    )
    if not found.stubs:
        return ValidationCheck(NAME, notes=tuple(notes))
    if runs is None:
        return ValidationCheck(NAME, notes=(*notes, "no sandbox can be made here, so no stub was changed"))
    rounds = _draw_rounds(found.stubs, SystemRandom(), notes)
    runs.run([(), *rounds])
    trial = _StubTrial(found.stubs, runs, tuple(rounds))
    runs.run([one for test in tests for at in range(len(found.stubs)) for one in trial.rounds_of(test, at)])
    runs.run([*trial.doubts(tests)])
    findings = tuple(trial.judge(tests, notes))
    if runs.spent:
        notes.append(f"not every constant was tried in {SECONDS:g} s")
    return ValidationCheck(NAME, findings, tuple(dict.fromkeys(notes)))


def _has_word(text: str, stub: StubBody) -> bool:
    return re.search(rf"\b{re.escape(stub.name.rpartition('.')[2])}\b", text) is not None


def _draw_rounds(stubs: Sequence[StubBody], dice: Random, notes: list[str]) -> list[Assignment]:
    """Returns runs in which every stub returns one of its constants; each constant is used at least once."""
    orders = [_order(stub, dice, notes) for stub in stubs]
    count = max(map(len, orders))
    return [
        tuple((at, order[number % len(order)]) for at, order in enumerate(orders)) for number in range(count)
    ]


def _order(stub: StubBody, dice: Random, notes: list[str]) -> list[StubAnswer]:
    chosen = [answer for answer in stub.answers if not answer.literal]
    literals = list(dict.fromkeys(answer.literal for answer in stub.answers if answer.literal))
    dice.shuffle(literals)
    for literal in literals:
        mine = [answer for answer in stub.answers if answer.literal == literal]
        if len(chosen) + len(mine) > MOST:
            notes.append(
                f"{stub.path}:{stub.line}: not every literal that tests expect was tried for `{stub.name}`"
            )
            break
        chosen += mine
    dice.shuffle(chosen)
    return chosen


@value
class _StubTrial:
    stubs: tuple[StubBody, ...]
    runs: StubRuns
    rounds: tuple[Assignment, ...]

    def rounds_of(self, test: TriedTest, at: int) -> tuple[Assignment, ...]:
        """Returns the runs for one stub; if a test calls several, only this one changes in a passing run."""
        called = [number for number, stub in enumerate(self.stubs) if _has_word(test.body, stub)]
        green = next((one for one in self.rounds if self._passes(one, test)), None)
        if green is None or at not in called or len(called) == 1:
            return self.rounds
        answers = dict.fromkeys(dict(one)[at] for one in self.rounds)
        return tuple(
            tuple((number, answer if number == at else own) for number, own in green) for answer in answers
        )

    def _passes(self, one: Assignment, test: TriedTest) -> bool:
        known = self.runs.done.get(one)
        return known is not None and known.passed.get(test.native, False)

    def doubts(self, tests: Iterable[TriedTest]) -> Iterator[Assignment]:
        """Yields runs for tests that seem to accept any answer of a stub: it returns its own constant."""
        for test, at, answers in self._indifferent(tests):
            if len(self.stubs) > 1 and (others := self._without(test, at, answers[0])) is not None:
                yield others

    def judge(self, tests: Iterable[TriedTest], notes: list[str]) -> Iterator[ValidationFinding]:
        weak: dict[tuple[TriedTest, int], ValidationFinding] = {}
        for test, at, answers in self._indifferent(tests):
            if (test, at) not in weak and self._depends(test, at, answers[0]):
                weak[test, at] = _finding(test, self.stubs[at], answers)
        yield from weak.values()
        for test in tests:
            for at, stub in enumerate(self.stubs):
                if (test, at) not in weak and _has_word(test.body, stub):
                    notes += _partly(test, stub, self._outcomes(test, at))

    def _indifferent(self, tests: Iterable[TriedTest]) -> Iterator[tuple[TriedTest, int, list[StubAnswer]]]:
        for test in tests:
            for at, stub in enumerate(self.stubs):
                if _has_word(test.text, stub):
                    yield from (
                        (test, at, found)
                        for found in _find_accepted_alike(self._outcomes(test, at), test.literals)
                    )

    def _outcomes(self, test: TriedTest, at: int) -> dict[StubAnswer, bool]:
        """Returns for each answer of the stub whether the test passed in every such run."""
        found: dict[StubAnswer, bool] = {}
        for assignment in self.rounds_of(test, at):
            known = self.runs.done.get(assignment)
            passed = None if known is None else known.passed.get(test.native)
            if passed is not None:
                answer = dict(assignment)[at]
                found[answer] = found.get(answer, True) and passed
        return found

    def _without(self, test: TriedTest, at: int, answer: StubAnswer) -> Assignment | None:
        """Returns a run in which the test passed with this answer, without that answer."""
        for one in self.rounds_of(test, at):
            if dict(one)[at] == answer and self._passes(one, test):
                return tuple(pair for pair in one if pair[0] != at)
        return None

    def _depends(self, test: TriedTest, at: int, answer: StubAnswer) -> bool:
        """Whether the test is red again if only this stub returns its own constant."""
        if all(self.runs.done[one].passed.get(test.native) for one in self.rounds):
            return True  # whatever all of them return
        others = self._without(test, at, answer)
        known = None if others is None else self.runs.done.get(others)
        return known is not None and known.passed.get(test.native) is False


def _find_accepted_alike(
    tried: Mapping[StubAnswer, bool], literals: Iterable[str]
) -> Iterator[list[StubAnswer]]:
    """Yields answers that differ in all that matters, and that the test all accepts."""
    for kind in dict.fromkeys(answer.kind for answer in tried if not answer.literal):
        mine = [answer for answer in tried if answer.kind == kind and not answer.literal and not answer.empty]
        if len(mine) > 1 and all(tried[answer] for answer in mine):
            yield mine
    for literal in literals:
        mine = [answer for answer in tried if answer.literal == literal]
        if any(answer.altered for answer in mine) and all(tried[answer] for answer in mine):
            yield mine


def _partly(test: TriedTest, stub: StubBody, tried: Mapping[StubAnswer, bool]) -> Iterator[str]:
    passing = [answer.text for answer, passed in tried.items() if passed]
    if len(passing) > 1:
        shown = ", ".join(f"`{text}`" for text in passing[:_SHOWN])
        yield f"{test.place}: {test.native} pins `{stub.name}` in part: it passes with {shown}"


def _finding(test: TriedTest, stub: StubBody, answers: Sequence[StubAnswer]) -> ValidationFinding:
    shown = " and with ".join(f"`{answer.text}`" for answer in answers[:_SHOWN])
    what = (
        f"{test.native} passes whatever `{stub.name}` ({stub.path}:{stub.line}) returns: with {shown}; "
        "assert the value that the scenario names"
    )
    return ValidationFinding(NAME, "concern", test.place, what)
