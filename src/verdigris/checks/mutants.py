"""Tries mutants of a change: what no test notices is not proven.

Where runs are traced, the runs with mutants are forked from one process, only tests that ran the changed
function are asked, and a run ends with its first failure. Elsewhere each mutant costs a run of the suite.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verdigris.checks.changed_runs import ChangedTree, ForkedRuns, run_forked
from verdigris.checks.liveness.judgement import SPENT
from verdigris.checks.test_reach import may_run, places_in, places_of
from verdigris.core.languages import is_loaded_singly
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.execution.test_run import execute_suite
from verdigris.execution.test_selection import by_stack, stack_of
from verdigris.languages.findings import Mutant, Mutated, TestText
from verdigris.languages.registry import by_language, is_traced, reader_of
from verdigris.runners.protocol import Progress, TestRequest, announce
from verdigris.storage.draws import lot_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import RunUses, VariantOutcome
    from verdigris.core.settings import Stack

MOST = 12
"""Mutants that are tried where each costs a run of the suite; by lot."""
_ENDLESS = 3.0
"""A mutant that takes so many times as long as the suite, and so many seconds more, never ends."""
_WORTH_A_TRACE_MS = 2_000
"""From this time on that the first tests would take, one run more tells which of them run a function."""
_LONGEST, _LENGTHS = 20, 2
"""The longest list that holds nothing, and how many lengths are tried of those that tests expect."""
_NO_TIME = "time or number of tries was used up"
_UNBUILT = "what it was changed to does not build"
_UNLIKE = "the tests do not pass in a run of this kind"


@value
class Trial:
    """Which tests are asked about mutants, and for how long."""

    ran: TestReport
    """The suite on the tree, without a mutant."""
    seconds: float
    """For all mutants together."""
    first: tuple[str, ...] = ()
    """Native ids of the tests that are asked before the others: those that the change was made for."""
    apart: bool = False
    """Also tests that were not seen to run the place: they may run it in another process."""
    progress: Progress | None = None

    @property
    def passing(self) -> frozenset[str]:
        return frozenset(result.native_id for result in self.ran.results if result.status is Status.PASS)


@value
class Tried:
    unnoticed: tuple[Mutant, ...] = ()
    untried: tuple[str, ...] = ()
    """Places, each with the reason."""


def make_mutants(candidate: Candidate, *, measured: bool = True) -> Mutated:
    """`measured`: also in languages whose executed lines are told anyway."""
    project = candidate.project
    paths = [c.path for c in candidate.edits.source if not reader_of(c.path).imports.is_declaration(c.path)]
    mutants: list[Mutant] = []
    untried: list[str] = []
    unread: list[str] = []
    for language, mine in by_language(paths).items():
        if language.traces and not measured:
            continue
        read = [path for path in mine if language.source.reads(path)]
        unread += (f"{path}: no parser here reads it" for path in mine if path not in read)
        mutated = language.source.mutants(
            *(project.workspace.read_many(at, read) for at in (candidate.start, candidate.tree))
        )
        mutants += mutated.mutants
        untried += mutated.untried
    return Mutated(tuple(mutants), (*untried, *unread))


def make_empty_bodies(candidate: Candidate, claimed: Sequence[str]) -> tuple[Mutant, ...]:
    """A mutant for each answer that a new or changed function could give without knowing anything."""
    project, trees = candidate.project, (candidate.start, candidate.tree)
    tests = texts_at(project, candidate.tree, dict.fromkeys(split_id(name).path for name in claimed))
    lengths = expected_lengths(claimed, tests)
    by = by_language(c.path for c in candidate.edits.source)
    sides = (
        (language.source, [project.workspace.read_many(at, mine) for at in trees])
        for language, mine in by.items()
    )
    return tuple(
        mutant for source, (old, new) in sides for mutant in source.empty_bodies(old, new, None, lengths)
    )


def expected_lengths(names: Iterable[str], texts: Mapping[str, str]) -> tuple[int, ...]:
    """The small numbers that tests expect, which may be lengths. `texts`: of their files."""
    tests = [(split_id(name).path, split_id(name).function) for name in names]
    literals = (
        literal
        for path, name in dict.fromkeys(tests)
        for literal in reader_of(path).validation.expected_literals(TestText(path, name, texts))
    )
    numbers = dict.fromkeys(int(literal) for literal in literals if literal.isdecimal())
    return tuple(number for number in numbers if 0 < number <= _LONGEST)[:_LENGTHS]


def try_mutants(candidate: Candidate, mutants: Iterable[Mutant], trial: Trial) -> Tried:
    """Tries mutants by lot, as far as time goes; new functions first, then what can refuse."""
    order = list(mutants)
    lot_of(candidate.project, candidate.start, candidate.tree, "mutants").shuffle(order)
    order.sort(key=lambda mutant: (not mutant.fails, mutant.weak))
    if not order:
        return Tried()
    ends = time.monotonic() + trial.seconds
    stacks = candidate.project.settings.stacks
    forked = [mutant for mutant in order if candidate.room is not None and is_traced(mutant.path)]
    parts = [
        _SetTrial(candidate, stack, trial, ends).try_all(mine)
        for stack in stacks
        if (mine := [mutant for mutant in forked if stack_of(stacks, mutant.path) == stack])
    ]
    if others := [mutant for mutant in order if mutant not in forked]:
        parts.append(_try_each(candidate, others, trial, ends))
    return Tried(
        tuple(mutant for part in parts for mutant in part.unnoticed),
        tuple(text for part in parts for text in part.untried),
    )


def describe_place(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}"


def time_for_mutant(took_ms: int, left: float) -> float:
    """Seconds, of those that are `left` for all: one that never ends must not take them from the others."""
    return min(left, _ENDLESS * (1 + took_ms / 1000))


class _SetTrial:
    """Mutants of one stack, in sets of runs that are forked from one process."""

    def __init__(self, candidate: Candidate, stack: Stack, trial: Trial, ends: float) -> None:
        self.candidate, self.stack, self.trial, self.ends = candidate, stack, trial, ends
        stacks = candidate.project.settings.stacks
        self.passing = by_stack(stacks, sorted(trial.passing)).get(stack, ())
        self.took = {result.native_id: result.duration_ms for result in trial.ran.results}
        self.uses = trial.ran.uses
        self.watched = frozenset(trial.ran.lines)

    def try_all(self, mutants: Sequence[Mutant]) -> Tried:
        """Asks the first tests about all mutants, and the others about what these did not notice."""
        announce(self.trial.progress, f"changes that a test should notice: {len(mutants)}")
        first = tuple(name for name in self.passing if name in self.trial.first)
        rest = tuple(name for name in self.passing if name not in self.trial.first)
        untried: list[str] = []
        left = list(mutants)
        for names in (first, rest):
            if not names or not left:
                continue
            if self._seconds_left() <= 0:
                return Tried((), (*untried, *(f"{describe_place(mutant)}: {_NO_TIME}" for mutant in left)))
            chosen = zip(left, self._choose_tests(left, names, late=names is rest), strict=True)
            asked = [_only_own(mutant, names) if mutant.test else own for mutant, own in chosen]
            idle = [mutant for mutant, own in zip(left, asked, strict=True) if not own]
            busy = [(mutant, own) for mutant, own in zip(left, asked, strict=True) if own]
            survivors, unsure = self._try_set(busy) if busy else ([], [])
            left, untried = [*idle, *survivors], [*untried, *unsure]
        return Tried(tuple(left), tuple(untried))

    def _choose_tests(
        self, mutants: Sequence[Mutant], names: tuple[str, ...], *, late: bool
    ) -> list[tuple[str, ...]]:
        """Chooses for each mutant those of the tests that ran its function, where to know that costs less."""
        if self.trial.apart:
            return [names] * len(mutants)
        cost = len(mutants) * sum(self.took.get(name, 0) for name in names)
        if self.uses is None and (late or cost > _WORTH_A_TRACE_MS):
            announce(self.trial.progress, "which tests run what changed")
            trace = tuple(dict.fromkeys(mutant.path for mutant in mutants))
            limit = self._seconds_left() + _ENDLESS
            request = TestRequest(trace=trace, sources=(), timeout=limit)
            self.uses = execute_suite(self.candidate.project, request, layer=self.candidate.room).uses
            self.watched = frozenset(trace)
        uses = self.uses
        if uses is None or uses.problem:
            return [names] * len(mutants)
        places = self._places_of(uses, mutants)
        return [self._tests_that_may_run(uses, m, names, places.get(m), late=late) for m in mutants]

    def _places_of(self, uses: RunUses, mutants: Sequence[Mutant]) -> dict[Mutant, frozenset[int]]:
        """The numbers of the functions in which mutants stand; those that stand in none are left out."""
        texts = texts_at(self.candidate.project, self.candidate.tree, {mutant.path for mutant in mutants})
        places: dict[Mutant, frozenset[int]] = {}
        for path, text in texts.items():
            lines = {m: _first_change(text, m.data) for m in mutants if m.path == path}
            at = places_of(uses, path, text, lines.values())
            places |= {mutant: at[line] for mutant, line in lines.items() if line in at}
        return places

    def _tests_that_may_run(
        self,
        uses: RunUses,
        mutant: Mutant,
        names: tuple[str, ...],
        places: frozenset[int] | None,
        *,
        late: bool,
    ) -> tuple[str, ...]:
        """Outside of functions a change may matter to any test; the others are asked if they run its file."""
        if mutant.path not in self.watched or (places is None and not late):
            return names
        if places is None:
            places = places_in(uses, {mutant.path})
        return tuple(name for name in names if may_run(uses, name, places))

    def _try_set(self, asked: Sequence[tuple[Mutant, tuple[str, ...]]]) -> tuple[list[Mutant], list[str]]:
        """The mutants that none of their tests notices, and what could not be tried."""
        outcomes = self._run_set(asked)
        true = outcomes[0]
        passed = frozenset(i for i, how in true.outcomes.items() if how == "passed") if true else frozenset()
        unnoticed: list[Mutant] = []
        untried: list[str] = []
        for (mutant, names), outcome in zip(asked, outcomes[1:], strict=True):
            sure = passed.intersection(names)
            if outcome is None or (outcome.why == SPENT and not outcome.outcomes):
                untried.append(f"{describe_place(mutant)}: {_NO_TIME}")
            elif not sure:
                untried.append(f"{describe_place(mutant)}: {_UNLIKE}")
            elif not outcome.why and all(outcome.outcomes.get(name) == "passed" for name in sure):
                unnoticed.append(mutant)
        return unnoticed, untried

    def _run_set(self, asked: Sequence[tuple[Mutant, tuple[str, ...]]]) -> Sequence[VariantOutcome | None]:
        """How the runs ended: first the true one, of all their tests, then that of each mutant."""
        every = tuple(dict.fromkeys(name for _, names in asked for name in names))
        seconds, took = self._seconds_left(), sum(self.took.get(name, 0) for name in every)
        runs = ForkedRuns(
            [{}, *({mutant.path: mutant.data} for mutant, _ in asked)],
            [every, *(names for _, names in asked)],
            seconds,
            time_for_mutant(took, seconds),
            until_failure=True,
            preload=self.trial.ran.installed,
        )
        return run_forked(_tree_of(self.candidate), self.stack, runs).runs

    def _seconds_left(self) -> float:
        return self.ends - time.monotonic()


def _only_own(mutant: Mutant, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name == mutant.test)


def _first_change(text: str, changed: bytes) -> int:
    """The first line that differs; the line of a debt may be one that it had earlier."""
    pairs = zip(text.splitlines(), changed.decode("utf-8", "surrogateescape").splitlines(), strict=False)
    return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), 1)


def _tree_of(candidate: Candidate) -> ChangedTree:
    return ChangedTree(candidate.project, candidate.tree, candidate.room)


def _try_each(candidate: Candidate, mutants: Sequence[Mutant], trial: Trial, ends: float) -> Tried:
    """One run of the suite for each mutant, as far as time and number go."""
    unnoticed: list[Mutant] = []
    untried: list[str] = []
    for number, mutant in enumerate(mutants):
        left = ends - time.monotonic()
        if number >= MOST or left <= 0:
            untried.append(f"{describe_place(mutant)}: {_NO_TIME}")
            continue
        announce(
            trial.progress, f"changes that a test should notice, {number + 1} of {min(MOST, len(mutants))}"
        )
        layer = _tree_of(candidate).layer_with({mutant.path: mutant.data})
        # What is built first may take longer than the suite did, whose build was kept.
        limit = time_for_mutant(trial.ran.duration_ms, left) if is_loaded_singly(mutant.path) else left
        report = execute_suite(candidate.project, TestRequest(timeout=limit, sources=()), layer=layer)
        match _is_noticed(mutant, report, trial.passing):
            case False:
                unnoticed.append(mutant)
            case None:
                why = _NO_TIME if report.ended is RunEnd.TIMEOUT else _UNBUILT
                untried.append(f"{describe_place(mutant)}: {why}")
    return Tried(tuple(unnoticed), tuple(untried))


def _is_noticed(mutant: Mutant, report: TestReport, passing: Collection[str]) -> bool | None:
    """None where it was never run."""
    if not is_loaded_singly(mutant.path) and not report.results:
        return None
    if mutant.fails and report.ended is RunEnd.TIMEOUT:  # it fails at once, so the run was only slow
        return None
    if report.ended is not RunEnd.FINISHED:
        return True
    still = {result.native_id for result in report.results if result.status is Status.PASS}
    return not still.issuperset(passing)
