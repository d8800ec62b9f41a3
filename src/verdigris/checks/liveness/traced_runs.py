"""Runs the claimed tests with true and with changed assertions, where runs are traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from verdigris.checks.liveness.judgement import (
    OTHER_CONTENT,
    OWN_EQUALITY,
    SPENT,
    Liveness,
    LivenessFindings,
    describe_unseen,
    describe_unseen_case,
    find_other_content,
    find_unnoticed,
    judge_runs,
    reached_assertions,
)
from verdigris.checks.surroundings import (
    OtherSurroundings,
    describe_dependences,
    find_dependences,
    find_failures,
)
from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.report import Status, TestReport, VariantOutcome, suite_of
from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import replace, value
from verdigris.execution.test_run import run_request
from verdigris.languages.probes import RunSet, plan_content_run, plan_runs
from verdigris.languages.registry import language_named
from verdigris.runners.protocol import RequestedRuns, TestRequest
from verdigris.storage.draws import lot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from random import Random

    from verdigris.core.settings import Stack
    from verdigris.core.surroundings import Part
    from verdigris.execution.room import Layer
    from verdigris.languages.probes import Probe, Variant
    from verdigris.storage.project import Project

_START = 0.25
"""Seconds that a plain run takes before its first test, about."""
_BRANCH = 0.05
"""The same for a run of a set."""
_FEW, _CHANGES = 6, 2
"""Variants up to which an assertion is changed once more, and how many changes of it are tried."""
_MOST = 1_000
_NEAR = 0.2
"""Seconds that unclaimed tests may take in each run, if the claimed ones take less; the others run once."""
_PATIENCE = 10.0
"""Seconds that one run may take in any case."""
_ENDS: Mapping[Status, Literal["passed", "skipped"]] = {Status.PASS: "passed", Status.SKIP: "skipped"}
_SLOWER = 2
"""So many times slower than at its red a test may be, to be called as slow."""


@value
class LivenessRequest:
    """What the runs are about."""

    tests: Mapping[str, str]
    """The texts of the test files."""
    claimed: tuple[str, ...]
    others: tuple[str, ...] = ()
    """Tests that the change may have hollowed out."""
    suite: TestReport | None = None
    """The verdict's run of all tests."""
    red_ms: Mapping[str, int] = field(default_factory=dict)
    """How long the claimed tests took when they were red."""
    red_places: Mapping[str, str] = field(default_factory=dict)
    """Where they failed then, as `path:line`."""
    withheld: tuple[str, ...] = ()
    """Files that code of the project is not to read."""
    changed: tuple[str, ...] = ()
    """Paths of the source that the turn changed."""


@dataclass(slots=True)
class _StackFindings:
    hollow: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def as_liveness(self) -> Liveness:
        return Liveness(*(tuple(dict.fromkeys(part)) for part in (self.hollow, self.noted, self.doubts)))


class LiveRuns:
    """`start`: the layer of the tree before the change, to ask there what is asked here."""

    def __init__(
        self,
        project: Project,
        stack: Stack,
        asked: LivenessRequest,
        room: Layer | None,
        start: Callable[[], AbstractContextManager[Layer | None]],
        random: Random | None = None,
    ) -> None:
        self.language = language_named(stack.language)
        self.texts = {path: text.encode("utf-8", "surrogateescape") for path, text in asked.tests.items()}
        self.project = project
        self.stack = stack
        self.asked = asked
        self.room = room
        self.usual = room
        self.others = None
        if room is not None and not asked.withheld:
            self.others = OtherSurroundings(project, room, asked.changed, traced=True)
            self.room = self.others.layer(self.others.parts)
        self.start = start
        tree = "" if room is None else room.wanted
        self.random = random or lot_of(project, tree, *asked.claimed)
        self.seconds = float(project.settings.liveness_seconds)
        self.took = _durations(asked.suite)
        self._found = _StackFindings()

    def try_all(self) -> Liveness:
        """The claimed tests and the others in one set; what is then unclear, in others of its own."""
        claimed = _functions(self.asked.claimed)
        others, rest = self._split_by_cost(claimed)
        runs = self._plan_all((*claimed, *others))
        for name in claimed:
            if name not in runs.totals:
                why = self.language.liveness.why_unread(self.texts, name)
                self._found.noted.append(f"{name}: {why}")
        if len(runs.members) > 1:
            asked = (*self.asked.claimed, *self._passing(others))
            report = self._call_elsewhere(runs, (*claimed, *others))
            judged = judge_runs(runs, report.variants, asked)
            unlike = [i for i in judged.unlike if judged.away.get(function_of(i)) != SPENT]
            if unlike and self.others is not None:
                self._name_dependences(self.others, unlike, claimed)
                self.room, self.others = self.usual, None
                report = self._call(runs, (*claimed, *others)) if not self._found.hollow else report
                judged = judge_runs(runs, report.variants, asked)
            if not self._found.hollow:
                self._judge(judged, runs, claimed, others)
            if not self._found.hollow:
                self._compare_content(claimed)
        if rest and not self._found.hollow:
            self._ask_once(rest)
        return self._found.as_liveness()

    def _split_by_cost(self, claimed: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Unclaimed tests that are asked as often as the claimed ones, and those that are asked once."""
        left = max(_NEAR, self._estimate(claimed))
        near: list[str] = []
        rest: list[str] = []
        for name in (name for name in _functions(self.asked.others) if name not in claimed):
            cost = self._estimate([name])
            (near if cost <= left else rest).append(name)
            left -= cost if cost <= left else 0
        return tuple(near), tuple(rest)

    def _ask_once(self, names: tuple[str, ...]) -> None:
        """One change of each test in one run. How they end without a change is known from the suite."""
        planned = self._plan(self._probes(names), 1, 1)
        changed = [member for member in planned.members if member.tries]
        if not changed or self.asked.suite is None:
            return
        runs = RunSet((*changed, planned.members[planned.truth]), len(changed), planned.totals)
        report = self._call(replace(runs, members=tuple(changed)), names)
        judged = judge_runs(runs, (*report.variants, _as_variant(self.asked.suite, runs.truth)), ())
        self._judge_others(judged.hollow, runs)
        late = [name for name in names if name in judged.away]
        if late:
            self._found.noted.append(f"{late[0]}{_and_more(late)}: not asked: {judged.away[late[0]]}")

    def _call_elsewhere(self, runs: RunSet, names: Sequence[str]) -> TestReport:
        """Makes the runs in other surroundings, if the tools are found there."""
        try:
            return self._call(runs, names)
        except (HarnessError, ToolMissing) as error:
            if self.others is None:
                raise
            self._found.noted.append(f"its surroundings were not varied: {error.message}")
            self.room, self.others = self.usual, None
            return self._call(runs, names)

    def _draw_again(self) -> Layer | None:
        """Other surroundings once more: what has its order by chance seldom has it under two hash seeds."""
        if self.others is None or self.usual is None:
            return self.room
        self.others = OtherSurroundings(
            self.project, self.usual, self.asked.changed, traced=True, draw="again"
        )
        return self.others.layer(self.others.parts)

    def _name_dependences(
        self, others: OtherSurroundings, unlike: Sequence[str], claimed: tuple[str, ...]
    ) -> None:
        """What depended on it before the turn, too, is only noted."""

        def run(parts: Collection[Part], on: Layer | None = None) -> TestReport:
            request = TestRequest(tuple(unlike), sources=())
            return run_request(self.project, self.stack, request, layer=others.layer(parts, on))

        found = find_dependences(unlike, others.parts, run)
        old = list[str]()
        if any(function_of(test) not in claimed for test in found):
            with self.start() as layer:
                old += find_failures(run(others.parts, layer), unlike) if layer is not None else ()
        named = describe_dependences(found, [test for test in old if function_of(test) not in claimed])
        self._found.hollow += named.hollow
        self._found.noted += named.noted

    def _passing(self, functions: tuple[str, ...]) -> tuple[str, ...]:
        """What must pass again: all of a test, or the rows that pass in the suite, if others do not."""
        results = self.asked.suite.results if self.asked.suite is not None else ()
        partly = {function_of(r.native_id) for r in results if r.status is not Status.PASS}
        rows = [
            r.native_id
            for r in results
            if r.status is Status.PASS and function_of(r.native_id) in partly.intersection(functions)
        ]
        return (*(name for name in functions if name not in partly), *rows)

    def _judge(
        self, judged: LivenessFindings, runs: RunSet, claimed: tuple[str, ...], others: tuple[str, ...]
    ) -> None:
        heard = self._find_noticed(judged, (*claimed, *others))
        hollow = {**judged.hollow}
        for name, texts in find_unnoticed(judged.suspects, heard).items():
            hollow[name] = (*hollow.get(name, ()), *texts)
        for name in claimed:
            self._found.hollow += hollow.get(name, ())
        self._found.noted += (text for name in claimed for text in judged.unreached.get(name, ()))
        self._judge_others({name: hollow[name] for name in others if name in hollow}, runs)
        late = self._late(judged, runs, claimed)
        settled = late | hollow.keys()
        self._judge_seen(judged, heard, [i for i in self.asked.claimed if function_of(i) not in settled])
        unlike = [i for i in judged.unlike if function_of(i) not in late]
        if unlike and not self._found.hollow:
            self._widen(unlike)

    def _compare_content(self, claimed: tuple[str, ...]) -> None:
        """What only says that it equals plain data is hollow; only noted where the test names its class."""
        contents = partial(self.language.liveness.contents, self.texts, claimed)
        if probes := contents():
            runs = plan_content_run(self.texts, self.random, probes, contents(strict=True))
            report = self._call(runs, claimed, layer=self._draw_again())
            unlike = judge_runs(runs, report.variants, self.asked.claimed).unlike
            if unlike and self.others is not None:
                self._name_dependences(self.others, unlike, claimed)
                self.others = None
                report = self._call(runs, claimed, layer=self.usual)
            other = find_other_content(runs, report.variants)
            self._found.hollow += (f"{at}: {OTHER_CONTENT}" for at, is_strict in other if not is_strict)
            self._found.noted += (f"{at}: {OWN_EQUALITY}" for at, is_strict in other if is_strict)

    def _find_noticed(
        self, judged: LivenessFindings, functions: tuple[str, ...]
    ) -> frozenset[tuple[str, int, str]]:
        """Asks, where a pass may be rightful, whether a failure at that place would be noticed."""
        if not judged.suspects:
            return frozenset()
        places = {(one.path, one.line) for one in judged.suspects}
        probes = self.language.liveness.failures_after(self.texts, functions, places)
        runs = self._plan(probes, _MOST, 1)
        if len(runs.members) == 1:
            return frozenset()
        report = self._call(runs, functions)
        return reached_assertions(runs, report.variants)

    def _judge_others(self, hollow: Mapping[str, tuple[str, ...]], runs: RunSet) -> None:
        """An unclaimed test that passes such a change on the tree before too is only noted."""
        if not hollow:
            return
        with self.start() as layer:
            laid = layer and self.room and replace(layer, around=self.room.around)
            report = self._call(runs, tuple(hollow), layer=laid) if laid is not None else None
        before = judge_runs(runs, report.variants, ()) if report is not None else LivenessFindings()
        for name, texts in hollow.items():
            (self._found.noted if name in before.hollow else self._found.hollow).extend(texts)

    def _judge_seen(
        self, judged: LivenessFindings, heard: frozenset[tuple[str, int, str]], claimed: Sequence[str]
    ) -> None:
        """An assertion that never ran has proven nothing."""
        ran = judged.seen | {case for *_, case in heard}
        functions = set(map(function_of, ran))
        guarded = {name for probe in judged.suspects for name in probe.guarded}
        lines = {f"{path}:{line}" for path, line in judged.lines} | {f"{p}:{n}" for p, n, _ in heard}
        passed = {(f"{p.path}:{p.line}", case) for p in judged.suspects for case in p.cases}
        unheard = {line for line, _ in passed} - lines
        for case in claimed:
            name = function_of(case)
            red = self.asked.red_places.get(case, "")
            if name not in functions and name in guarded:
                self._found.hollow.append(describe_unseen(name))
            elif red in unheard or ((red, case) in passed and case not in ran):
                self._found.hollow.append(
                    f"{red}: {case} failed here when it was red, and now it never reaches this line"
                )
            elif case not in {*ran, name} and name in guarded:
                self._found.noted.append(describe_unseen_case(case))

    def _late(self, judged: LivenessFindings, runs: RunSet, claimed: tuple[str, ...]) -> frozenset[str]:
        """The claimed tests for which the time was too short; that is in order where it always took long."""
        late = frozenset(name for name in claimed if judged.away.get(name) == SPENT)
        for name in claimed:
            total, tried = runs.totals.get(name, 0), judged.tried.get(name, 0)
            if name in judged.away and name not in late:
                why = judged.away[name]
                self._found.doubts.append(f"{name}: no run with a changed assertion finished: {why}")
            elif name in late and not self._was_as_slow(name):
                self._found.doubts.append(
                    f"{name}: no run with a changed assertion finished in {self.seconds:g} s, and when it was"
                    " red it was faster: make it faster, or give it more `liveness.seconds`"
                )
            elif tried < total:
                self._found.noted.append(f"{name}: {tried} of {total} changes tried in the time")
        return late

    def _was_as_slow(self, name: str) -> bool:
        return self.asked.red_ms.get(name, 0) * _SLOWER >= self.took.get(name, 0) * 1000 > 0

    def _widen(self, unlike: Sequence[str]) -> None:
        """Tests that need others before them: with their files, then with the whole suite."""
        functions = _functions(unlike)
        files = tuple(dict.fromkeys(split_id(name).path for name in functions))
        suite = suite_of(self.stack)
        left = tuple(unlike)
        for names, extra in ((files, ()), (suite.names, suite.marks)):
            runs = self._plan(self._probes(_functions(left)), 1, 1)
            report = self._call(runs, names, bare=True, extra=extra)
            judged = judge_runs(runs, report.variants, left)
            for name in _functions(left):
                self._found.hollow += judged.hollow.get(name, ())
            left = judged.unlike
            if not left:
                return
        why = "passes in the suite, but not in another run of the same kind: it may depend on how it is run"
        self._found.doubts += (f"{name} {why}" for name in left)

    def _plan_all(self, functions: tuple[str, ...]) -> RunSet:
        """Plans as many runs as fit into the time, more than one an assertion only while that is cheap."""
        one = self._estimate(functions) + _BRANCH
        most = max(1, int(0.8 * self.seconds / one) - 1)
        few = max(1, min(_FEW, int((one + _START) / one)))
        return self._plan(self._probes(functions), most, min(few, most))

    def _plan(self, probes: Sequence[Probe], most: int, least: int) -> RunSet:
        return plan_runs(probes, self.texts, self.random, most, least)

    def _probes(self, functions: Sequence[str]) -> tuple[Probe, ...]:
        return self.language.liveness.probes(self.texts, functions, self.random, _CHANGES)

    def _estimate(self, functions: Iterable[str]) -> float:
        return sum(self.took.get(name, 0.0) for name in functions)

    def _call(
        self,
        runs: RunSet,
        names: Sequence[str],
        *,
        layer: Layer | None = None,
        bare: bool = False,
        extra: Sequence[str] = (),
    ) -> TestReport:
        each = max(_PATIENCE, 5 * self._estimate(names) + 5)
        asked = RequestedRuns(
            tuple(map(_decoded, runs.members)),
            seconds=self.seconds,
            each=min(each, self.seconds),
            bare=bare,
            preload=() if self.asked.suite is None else self.asked.suite.installed,
        )
        return run_request(
            self.project,
            self.stack,
            TestRequest(
                tuple(names),
                runs=asked,
                sources=(),
                extra=tuple(extra),
                withheld=self.asked.withheld,
                timeout=self.seconds + self.project.settings.timeout,
            ),
            layer=layer or self.room,
        )


def _decoded(variant: Variant) -> dict[str, str]:
    return {path: data.decode("utf-8", "surrogateescape") for path, data in variant.texts.items()}


def _functions(natives: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(function_of, natives)))


def _as_variant(suite: TestReport, index: int) -> VariantOutcome:
    return VariantOutcome(index, {r.native_id: _ENDS.get(r.status, "failed") for r in suite.results})


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _durations(report: TestReport | None) -> dict[str, float]:
    """Seconds by function."""
    found: dict[str, float] = {}
    for result in () if report is None else report.results:
        name = function_of(result.native_id)
        found[name] = found.get(name, 0.0) + result.duration_ms / 1000
    return found
