"""Plans the texts of test files for liveness: the true texts, and variants with changed assertions.

All are run in the same way and in random order, so that no run can tell whether it has the true texts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import replace, value
from verdigris.languages.python.liveness.near_values import ValueSource
from verdigris.languages.python.liveness.opposite_calls import add_failure, changes
from verdigris.languages.python.liveness.opposites import expectations
from verdigris.languages.python.syntax import Source
from verdigris.languages.python.tests.code import Tests
from verdigris.languages.tracing import ProbePlan, TracedProbe, Variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.languages.literals import Chance
    from verdigris.languages.python.liveness.opposites import ExpressionChange
    from verdigris.languages.python.syntax import TextEdit
    from verdigris.languages.python.tests.code import AssertionPlace, Code

ROUNDS = 2
"""How many changes of one assertion are tried, if there is room."""


@value
class _ConcernedChange:
    """One change, with the tests that must fail with it."""

    at: AssertionPlace
    change: ExpressionChange
    functions: Mapping[str, bool]
    """Maps each test to whether it may rightly pass with the change."""
    group: int = 0


@value
class _AssertionPart:
    """All changes of one part of an assertion."""

    at: AssertionPlace
    options: tuple[ExpressionChange, ...]
    joint: bool
    functions: dict[str, bool]

    def changes_of_round(self, number: int, group: int) -> Iterator[_ConcernedChange]:
        chosen = self.options if self.joint and number == 0 else self.options[number : number + 1]
        for change in chosen if not self.joint or number == 0 else ():
            guards = {name: guarded or change.guarded for name, guarded in self.functions.items()}
            yield _ConcernedChange(self.at, change, guards, group if self.joint else 0)


def plan(
    texts: Mapping[str, str], asked: Iterable[str], random: Chance, most: int = 1000, few: int = 6
) -> ProbePlan:
    """Plans the variants of the test files; changes of different tests share a variant.

    So only as many runs are needed as one test has assertions.
    `texts`: every test file that a run loads, by path. `asked`: native ids; cases do not matter.
    `most`: the limit of variants; `few`: the limit for variants that change an assertion once more.
    """
    tests = Tests(texts)
    functions = list(dict.fromkeys(map(function_of, asked)))
    parts, unreached = _gather_parts(tests, functions, ValueSource(random))
    first = [found for number, part in enumerate(parts) for found in part.changes_of_round(0, number + 1)]
    waves = _spread_over_waves(first)
    totals: dict[str, int] = {}
    for found in first:
        for name in found.functions:
            totals[name] = totals.get(name, 0) + 1
    for number in range(1, ROUNDS):
        more = [found for part in parts for found in part.changes_of_round(number, 0)]
        fuller = _spread_over_waves(more, waves)
        waves = fuller if len(fuller) <= few else waves
    chosen = waves if len(waves) <= most else _whole_groups(random.sample(waves, most), first)
    return _make_plan(tests, chosen, tuple(unreached), totals)


def plan_reaching(
    texts: Mapping[str, str], asked: Iterable[str], suspects: Iterable[TracedProbe]
) -> ProbePlan:
    """Plans a failure after each suspect assertion, to see if it is reached and its failure noticed."""
    tests = Tests(texts)
    places = {(probe.path, probe.line) for probe in suspects}
    found: dict[tuple[str, int], _ConcernedChange] = {}
    for function in asked:
        for at in _assertions_of(tests, function):
            place = at.code.path, at.node.lineno
            if place in places:
                known = found.get(place)
                mine = {**(known.functions if known else {}), function: True}
                found[place] = _ConcernedChange(at, add_failure(at), mine)
    return _make_plan(tests, _spread_over_waves(found.values()), (), {})


def _gather_parts(
    tests: Tests, functions: Iterable[str], draw: ValueSource
) -> tuple[list[_AssertionPart], list[str]]:
    standing = {function: list(_assertions_of(tests, function)) for function in functions}
    for found in standing.values():
        for at in found:
            draw.learn(expectations(at))
    parts: dict[tuple[str, int, int], _AssertionPart] = {}
    unreached = []
    for function, found in standing.items():
        count = 0
        for at in found:
            known = any(key[:2] == (at.code.path, at.node.lineno) for key in parts)
            choices = () if known else tuple(changes(at, draw))
            for number, choice in enumerate(choices):
                key = at.code.path, at.node.lineno, number
                parts[key] = _AssertionPart(at, choice.options, choice.joint, {})
            for key, part in parts.items():
                if key[:2] == (at.code.path, at.node.lineno):
                    part.functions[function] = part.functions.get(function, True) and at.guarded
                    count += 1
        if not count:
            unreached.append(f"{function}: {_why_nothing(tests, function)}")
    return list(parts.values()), unreached


def _assertions_of(tests: Tests, function: str) -> Iterator[AssertionPlace]:
    where = split_id(function)
    code = tests.code(where.path)
    return iter(()) if code is None else tests.assertions(code, where.function)


def _why_nothing(tests: Tests, function: str) -> str:
    where = split_id(function)
    code = tests.code(where.path)
    if code is None:
        return "its file cannot be read as Python"
    if tests.find(code, where.function) is None:
        return "its function was not found"
    return "no assertion that can be changed was found in it"


def _spread_over_waves(
    found: Iterable[_ConcernedChange], known: Iterable[list[_ConcernedChange]] = ()
) -> list[list[_ConcernedChange]]:
    """Puts each change into the first wave in which none of its tests has another change."""
    waves = [list(wave) for wave in known]
    for one in found:
        for wave in waves:
            if not any(one.functions.keys() & other.functions.keys() for other in wave):
                wave.append(one)
                break
        else:
            waves.append([one])
    return waves


def _whole_groups(
    waves: list[list[_ConcernedChange]], all_: Iterable[_ConcernedChange]
) -> list[list[_ConcernedChange]]:
    """Leaves out the changes of a group of which some change is missing: only all of them show something."""
    due = Counter(found.group for found in all_)
    there = Counter(found.group for wave in waves for found in wave)
    return [
        [found for found in wave if not found.group or there[found.group] == due[found.group]]
        for wave in waves
    ]


def _make_plan(
    tests: Tests,
    waves: Iterable[list[_ConcernedChange]],
    unreached: tuple[str, ...],
    totals: Mapping[str, int],
) -> ProbePlan:
    made = [_variant(wave) for wave in waves]
    spoilt = tuple(
        f"{probe.path}:{probe.line}: {probe.what} is not valid Python"
        for variant in made
        if not _parses(variant)
        for probe in variant.probes
    )
    whole = [variant for variant in made if _parses(variant)]
    truth = {path: tests.text(path) for variant in whole for path in variant.texts}
    variants = tuple(replace(variant, texts={**truth, **variant.texts}) for variant in whole)
    return ProbePlan(truth, variants, (*unreached, *spoilt), totals)


def _variant(wave: list[_ConcernedChange]) -> Variant:
    edits: dict[Code, dict[TextEdit, None]] = {}
    for one in wave:
        edits.setdefault(one.at.code, {}).update(dict.fromkeys(one.change.edits))
    texts = {code.path: code.source.apply(mine) for code, mine in edits.items()}
    return Variant(texts, tuple(_probe(one, edits[one.at.code]) for one in wave))


def _probe(one: _ConcernedChange, edits: Iterable[TextEdit]) -> TracedProbe:
    at, names = one.at, tuple(one.functions)
    lines = at.code.source.lines(at.node, edits)
    guarded = frozenset(name for name, guard in one.functions.items() if guard)
    return TracedProbe(at.code.path, at.node.lineno, one.change.what, names, lines, guarded, one.group)


def _parses(variant: Variant) -> bool:
    try:
        for text in variant.texts.values():
            Source(text)
    except SyntaxError:
        return False
    return True
