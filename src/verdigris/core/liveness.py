"""Whether a green depends on its assertions: which texts to try, and what it means that tests pass them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.oppositecalls import changes
from verdigris.core.report import Status, VariantOutcome
from verdigris.core.testcode import Tests
from verdigris.core.testids import split_id
from verdigris.core.textedit import Source
from verdigris.core.value import value

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.opposite import Change
    from verdigris.core.report import Place, TestResult
    from verdigris.core.testcode import Standing
    from verdigris.core.testtext import Code
    from verdigris.core.textedit import Edit

ENTERED = -1
"""The number under which a test tells that it began, beside those of assertions that stood."""
_UNTRIED = "it was not tried"
_AWAY = frozenset({_UNTRIED, "the run ended early", "the tests themselves did not run to their end"})
"""Why a test got away from being tried, in the words of the reporter."""
_TELL = '__import__("verdigris_reporter.channel").channel.CHANNEL.send("stood", probe={})'


@value
class Probe:
    """One assertion, changed so that honest code fails it."""

    path: str
    line: int
    what: str
    functions: tuple[str, ...]
    """Claimed tests, as `path::TestA::test_x`, that hold or call it: each must fail."""
    lines: tuple[int, int]
    """Where it stands in the changed text: a failure elsewhere says nothing about it."""
    guarded: frozenset[str] = frozenset()
    """Those that may rightly pass without it: there only an assertion that stood is hollow."""


@value
class Variant:
    texts: Mapping[str, str]
    """Changed test files by path; in each test at most one assertion is another."""
    probes: tuple[Probe, ...]
    """The place of a probe is its number in an outcome."""

    @property
    def select(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for probe in self.probes for name in probe.functions))


@value
class Unreached:
    function: str
    line: int
    why: str

    def __str__(self) -> str:
        where = split_id(self.function)
        return (
            f"{where.path}:{self.line}: {where.function}: {self.why}"
            if self.line
            else f"{self.function}: {self.why}"
        )


@value
class Plan:
    variants: tuple[Variant, ...] = ()
    unreached: tuple[Unreached, ...] = ()


@value
class Liveness:
    hollow: tuple[str, ...]
    """What passed although an assertion was changed, named by file and line."""
    unreached: tuple[str, ...]
    """What could not be changed or was not reached: neither alive nor hollow."""
    doubts: tuple[str, ...] = ()
    """Tests that got away: every try of them ended before they did."""


@value
class _Found:
    """One change with the tests that it concerns."""

    at: Standing
    change: Change
    functions: dict[str, bool]
    """Whether it is guarded, by test."""


def plan(texts: Mapping[str, str], claimed: Iterable[str]) -> Plan:
    """`texts`: every test file that the run loads, by path. `claimed`: native ids; cases do not matter.

    Changes of different tests share a variant, so that as many runs are needed as one test has assertions.
    """
    tests = Tests(texts)
    found: dict[tuple[str, int, str], _Found] = {}
    unreached = []
    for function in dict.fromkeys(test_id.removesuffix(split_id(test_id).case) for test_id in claimed):
        why = _gather(tests, function, found)
        if why:
            unreached.append(Unreached(function, 0, why))
    made = [_variant(tests, wave) for wave in _waves(found.values())]
    spoilt = [
        Unreached(name, p.line, f"{p.what} is no Python")
        for v in made
        if not _parses(v)
        for p in v.probes
        for name in p.functions
    ]
    return Plan(tuple(filter(_parses, made)), (*unreached, *spoilt))


def _gather(tests: Tests, function: str, found: dict[tuple[str, int, str], _Found]) -> str:
    """Why there is nothing to change in this test, or nothing."""
    where = split_id(function)
    code = tests.code(where.path)
    if code is None:
        return "its file cannot be read as Python"
    if tests.find(code, where.function) is None:
        return "its function is not to be found"
    count = 0
    for at in tests.assertions(code, where.function):
        for change in changes(at):
            one = found.setdefault((at.code.path, at.node.lineno, change.what), _Found(at, change, {}))
            one.functions[function] = one.functions.get(function, True) and (at.guarded or change.guarded)
            count += 1
    return "" if count else "no assertion that can be changed was found in it"


def _waves(found: Iterable[_Found]) -> list[list[_Found]]:
    """Each change goes where none of its tests has another."""
    waves: list[list[_Found]] = []
    for one in found:
        for wave in waves:
            if not any(one.functions.keys() & other.functions.keys() for other in wave):
                wave.append(one)
                break
        else:
            waves.append([one])
    return waves


def _variant(tests: Tests, wave: list[_Found]) -> Variant:
    edits: dict[Code, dict[Edit, None]] = {}
    for number, one in enumerate(wave):
        mine = edits.setdefault(one.at.code, {})
        mine.update(dict.fromkeys(one.change.edits))
        if any(one.functions.values()):
            mine[one.at.code.source.after(one.at.node, _TELL.format(number))] = None
        for code, first in _beginnings(tests, _guarded(one)):
            edits.setdefault(code, {})[code.source.before(first, _TELL.format(ENTERED))] = None
    texts = {code.path: code.source.apply(mine) for code, mine in edits.items()}
    return Variant(texts, tuple(_probe(one, edits[one.at.code]) for one in wave))


def _beginnings(tests: Tests, names: Iterable[str]) -> Iterator[tuple[Code, ast.stmt]]:
    """The first statements of these tests."""
    for name in names:
        where = split_id(name)
        code = tests.code(where.path)
        place = None if code is None else tests.find(code, where.function)
        if place is not None:
            there, function = place
            yield there, there.functions[function].body[0]


def _guarded(one: _Found) -> frozenset[str]:
    return frozenset(name for name, guarded in one.functions.items() if guarded)


def _probe(one: _Found, edits: Iterable[Edit]) -> Probe:
    at, names = one.at, tuple(one.functions)
    lines = at.code.source.lines(at.node, edits)
    return Probe(at.code.path, at.node.lineno, one.change.what, names, lines, _guarded(one))


def _parses(variant: Variant) -> bool:
    try:
        for text in variant.texts.values():
            Source(text)
    except SyntaxError:
        return False
    return True


def judge_liveness(made: Plan, outcomes: Iterable[VariantOutcome]) -> Liveness:
    known = {outcome.index: outcome for outcome in outcomes}
    hollow: list[str] = []
    told: dict[str, list[str]] = {}
    unreached = [str(one) for one in made.unreached]
    for index, variant in enumerate(made.variants):
        outcome = known.get(index, VariantOutcome(index, why=_UNTRIED))
        for number, probe in enumerate(variant.probes):
            for function in probe.functions:
                passing = _hollow(probe, number, function, outcome)
                why = None if passing else _why_unreached(probe, function, outcome)
                told.setdefault(function, []).append(why or "")
                if passing:
                    hollow.append(f"{probe.path}:{probe.line}: {probe.what}: {passing} passes all the same")
                elif why:
                    unreached.append(f"{probe.path}:{probe.line}: {probe.what}: {why}")
    doubts = (f"{name}: no try of its assertions came to an end: {whys[0]}" for name, whys in _away(told))
    return Liveness(tuple(dict.fromkeys(hollow)), tuple(dict.fromkeys(unreached)), tuple(doubts))


def _away(told: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    return [(name, whys) for name, whys in told.items() if all(why in _AWAY for why in whys)]


def on_their_own(claimed: Iterable[str], results: Iterable[TestResult]) -> tuple[str, ...]:
    """Claimed tests that passed in the suite, and not beside each other alone."""
    passed = {result.native_id for result in results if result.status is Status.PASS}
    return tuple(
        f"{name} passes in the suite, and not without the other tests"
        for name in claimed
        if name not in passed
    )


def _hollow(probe: Probe, number: int, function: str, outcome: VariantOutcome) -> str | None:
    for test_id, status in _cases(function, outcome).items():
        told = outcome.stood.get(test_id, frozenset())
        if status == "passed" and (function not in probe.guarded or number in told or ENTERED not in told):
            return test_id
    return None


def _why_unreached(probe: Probe, function: str, outcome: VariantOutcome) -> str | None:
    cases = _cases(function, outcome)
    failed = [test_id for test_id, status in cases.items() if status == "failed"]
    if any(_is_at(probe, place) for test_id in failed for place in outcome.places.get(test_id, ())):
        return None
    if failed:
        return "the test failed elsewhere"
    if "passed" in cases.values():
        return "it was not reached, or its failure is caught"
    return "the test did not come to its call" if cases else outcome.why or "the test did not run"


def _is_at(probe: Probe, place: Place) -> bool:
    first, last = probe.lines
    return place.path == probe.path and first <= place.line <= last


def _cases(function: str, outcome: VariantOutcome) -> dict[str, str]:
    known = outcome.outcomes.items()
    return {i: status for i, status in known if i == function or i.startswith(f"{function}[")}
