"""Runs the tests of a cycle while its stubs return other constants; the tree stays as it is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from verdigris.checks.changed_runs import ChangedTree, ForkedRuns, run_forked
from verdigris.core.languages import STUB_MARK
from verdigris.core.report import Place, Status, TestReport
from verdigris.core.settings import Stack
from verdigris.core.value import value
from verdigris.execution.room import Layer
from verdigris.execution.test_run import run_request
from verdigris.execution.test_selection import by_stack
from verdigris.languages.findings import StubAnswer, StubBody
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import language_for, language_named
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project

SECONDS = 60.0
"""The time limit of all runs together."""
_EACH = 15.0
"""The time limit of one run of a set."""

Assignment = tuple[tuple[int, "StubAnswer"], ...]
"""Pairs of a stub's number and its answer; a stub that is not named returns its own constant."""


@value
class StubRunEnd:
    passed: Mapping[str, bool] = field(default_factory=dict)
    """By native id, without tests that did not end."""
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """By failed test, the frames in files of tests and stubs."""


@dataclass(slots=True)
class StubRuns:
    project: Project
    tree: str
    room: Layer
    tests: Sequence[str]
    """Native ids."""
    stubs: Sequence[StubBody]
    ends: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    done: dict[Assignment, StubRunEnd] = field(default_factory=dict)
    lines: dict[str, frozenset[int]] = field(default_factory=dict)
    """By file of tests, the lines that ran while every stub returned its own constant."""
    spent: bool = False
    """The time was too short for all runs."""

    def run(self, assignments: Sequence[Assignment]) -> None:
        """Makes the runs that are not known yet; the results are in `done`."""
        asked = [one for one in dict.fromkeys(assignments) if one not in self.done]
        found: dict[Assignment, list[StubRunEnd]] = {one: [] for one in asked}
        for stack, names in by_stack(self.project.settings.stacks, self.tests).items() if asked else ():
            traces = language_named(stack.language).traces
            made = self._as_set(stack, names, asked) if traces else self._one_by_one(stack, names, asked)
            for one, outcome in made.items():
                found[one].append(outcome)
        for one, outcomes in found.items():
            passed = {native: ok for each in outcomes for native, ok in each.passed.items()}
            places = {native: at for each in outcomes for native, at in each.places.items()}
            self.done[one] = StubRunEnd(passed, places)

    def _as_set(
        self, stack: Stack, names: tuple[str, ...], asked: Sequence[Assignment]
    ) -> dict[Assignment, StubRunEnd]:
        """Makes all runs in one call; a failure is placed in the files of tests and stubs."""
        tests = tuple(dict.fromkeys(native.partition("::")[0] for native in names))
        changed = [self._changed_texts(stack, one) for one in asked]
        runs = ForkedRuns(
            changed,
            [names] * len(changed),
            self._seconds_left(),
            _EACH,
            trace=tests if () in asked else (),
            besides=tests,
        )
        ends = run_forked(self._at, stack, runs)
        self.lines |= ends.report.lines
        found = {}
        for one, outcome in zip(asked, ends.runs, strict=True):
            if outcome is None or (outcome.why and not outcome.outcomes):
                self.spent = True
                continue
            told = {i: status == "passed" for i, status in outcome.outcomes.items() if status != "skipped"}
            found[one] = StubRunEnd(_by_name(names, told), outcome.places)
        return found

    def _changed_texts(self, stack: Stack, one: Assignment) -> dict[str, bytes]:
        """Returns the files of this stack's stubs with the assigned answers."""
        mine = tuple((at, answer) for at, answer in one if _is_of(stack, self.stubs[at].path))
        return self._texts(mine, (self.stubs[at].path for at, _ in mine))

    def _one_by_one(
        self, stack: Stack, names: tuple[str, ...], asked: Sequence[Assignment]
    ) -> dict[Assignment, StubRunEnd]:
        found = {}
        for one in asked:
            texts = self._changed_texts(stack, one)
            if not texts:
                # No stub of this stack changes, so its tests are red as before.
                found[one] = StubRunEnd(dict.fromkeys(names, False))
                continue
            if self._seconds_left() <= 0:
                self.spent = True
                break
            layer = self._at.layer_with(texts)
            request = TestRequest(names, timeout=max(1.0, self._seconds_left()), sources=())
            found[one] = StubRunEnd(
                _by_name(names, _passes_by_test(run_request(self.project, stack, request, layer=layer)))
            )
        return found

    def _texts(self, one: Assignment, paths: Iterable[str]) -> dict[str, bytes]:
        texts = self.project.workspace.read_many(self.tree, list(dict.fromkeys(paths)))
        made = {}
        for path, data in texts.items():
            edits = [self.stubs[at].edit(answer) for at, answer in one if self.stubs[at].path == path]
            text = apply_edits(data or b"", edits)
            # Without the mark: a test may only check that it is gone.
            made[path] = text.replace(STUB_MARK.encode(), b"") if edits else text
        return made

    @property
    def _at(self) -> ChangedTree:
        return ChangedTree(self.project, self.tree, self.room)

    def _seconds_left(self) -> float:
        return self.ends - time.monotonic()


def _is_of(stack: Stack, path: str) -> bool:
    language = language_for(path)
    return language is not None and language.name == stack.language


def _passes_by_test(report: TestReport) -> dict[str, bool]:
    return {r.native_id: r.status is Status.PASS for r in report.results if r.status is not Status.SKIP}


def _by_name(names: Iterable[str], told: Mapping[str, bool]) -> dict[str, bool]:
    """A test passes if all of its cases do."""
    found = {}
    for name in names:
        cases = [passed for native, passed in told.items() if native == name or native.startswith(f"{name}[")]
        if cases:
            found[name] = all(cases)
    return found
