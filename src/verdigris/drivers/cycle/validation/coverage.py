"""Judges which scenarios of a spec the tests carry, and whether each such test is red by assertion."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from verdigris.core.actions import Deny
from verdigris.core.events import TestRun
from verdigris.core.report import Status, TestReport
from verdigris.core.state import Cycle
from verdigris.core.value import value
from verdigris.core.verdict.redness import WHY_NOT
from verdigris.drivers.cycle.frame import is_test
from verdigris.drivers.cycle.validation import ValidationFinding
from verdigris.drivers.specs.spec import Spec
from verdigris.languages.tests import ScenarioMark, ScenarioMarks, read_scenario_marks
from verdigris.runners.protocol import Progress
from verdigris.storage.project import Project
from verdigris.turns.test import run_tests

VALID = "valid"


@value
class CarriedTest:
    """A test that a run saw, with the scenarios that the comment above it names."""

    run: TestRun
    place: str
    """`path:line` of the comment."""
    scenarios: tuple[str, ...]

    @property
    def red(self) -> str:
        """`valid`, `passing`, or why it is no red."""
        return self.run.red or ("skipped" if self.run.status is Status.SKIP else "passing")


@value
class RedFacts:
    """The result of a run of all tests."""

    tests: tuple[CarriedTest, ...]
    faults: tuple[ValidationFinding, ...]
    """Faults that keep the tests from being validated."""
    concerns: tuple[ValidationFinding, ...]
    changed: tuple[str, ...]
    """Changes since the cycle's start in results of tests that carry no scenario."""
    tree: str

    def of(self, scenario: str) -> tuple[str, ...]:
        """The tests that show a scenario."""
        return _showing(self.tests, scenario)

    @property
    def test_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.run.test_id for test in self.tests))


def marks_of(project: Project, tree: str) -> ScenarioMarks:
    """Returns the marks of all tests in a tree."""
    paths = [entry.path for entry in project.workspace.files(tree) if is_test(project, entry.path)]
    marks = [
        read_scenario_marks(path, data)
        for path, data in project.workspace.read_many(tree, paths).items()
        if data is not None
    ]
    return ScenarioMarks(
        tuple(mark for each in marks for mark in each.marks),
        tuple(loose for each in marks for loose in each.loose),
    )


def _coverage_faults(
    spec: Spec, marks: ScenarioMarks, ours: Sequence[ScenarioMark], tests: Sequence[CarriedTest]
) -> Iterator[ValidationFinding]:
    yield from (_finding(f"{loose.path}:{loose.line}", loose.why) for loose in marks.loose)
    yield from _unknown_ids(spec, ours)
    yield from _unseen_marks(ours, tests)
    yield from _wrong_reds(tests)
    covered = {name for test in tests if test.red == VALID for name in test.scenarios}
    for scenario in spec.scenarios:
        if scenario.id not in covered:
            fix = f"write `@scenario: {scenario.id}` in a comment above one"
            yield _finding(f"{spec.path}:{scenario.line}", f"no red test carries {scenario.id}; {fix}")


def _showing(tests: Sequence[CarriedTest], scenario: str) -> tuple[str, ...]:
    """Those that are red for the right reason, each on its own."""
    return tuple(test.run.test_id for test in tests if scenario in test.scenarios and test.red == VALID)


def _finding(place: str, what: str) -> ValidationFinding:
    return ValidationFinding("coverage", "concern", place, what)


def _is_of(spec: Spec, scenario: str) -> bool:
    """Whether the scenario is one of this spec."""
    return scenario.partition("#")[0] == spec.id or "#" not in scenario


def _carried_tests(
    marks: Sequence[ScenarioMark], report: TestReport, runs: Mapping[str, TestRun]
) -> Iterator[CarriedTest]:
    for result in report.results:
        carrying = [mark for mark in marks if mark.is_carried_by(result)]
        run = runs.get(result.native_id)
        if not carrying or run is None:
            continue
        scenarios = tuple(dict.fromkeys(name for mark in carrying for name in mark.scenarios))
        yield CarriedTest(run, f"{carrying[0].path}:{carrying[0].line}", scenarios)


def _unknown_ids(spec: Spec, marks: Sequence[ScenarioMark]) -> Iterator[ValidationFinding]:
    known = {scenario.id for scenario in spec.scenarios}
    for mark in marks:
        for name in mark.scenarios:
            if _is_of(spec, name) and name not in known:
                what = f"{spec.id} has no scenario {name}; `tdd spec show {spec.path}` lists its ids"
                yield _finding(f"{mark.path}:{mark.line}", what)


def _unseen_marks(marks: Sequence[ScenarioMark], tests: Sequence[CarriedTest]) -> Iterator[ValidationFinding]:
    seen = {test.place for test in tests}
    for mark in marks:
        place = f"{mark.path}:{mark.line}"
        beside = any(other.test == mark.test and f"{other.path}:{other.line}" in seen for other in marks)
        if place not in seen and not beside:
            what = f"no run saw the test below ({mark.test_id}); `tdd test {mark.path}` says why"
            yield _finding(place, what)


def _wrong_reds(tests: Sequence[CarriedTest]) -> Iterator[ValidationFinding]:
    for test in tests:
        if test.red == VALID:
            continue
        reason, following = WHY_NOT.get(test.red, (f"it is {test.red}", "let it fail on an assertion"))
        yield _finding(test.place, f"{test.run.test_id} shows nothing yet: {reason}; {following}")


def _find_stuffed_tests(marks: Sequence[ScenarioMark]) -> Iterator[ValidationFinding]:
    """Finds tests that carry more scenarios than they have assertions or cases."""
    by_test: dict[tuple[str, object], list[ScenarioMark]] = {}
    for mark in marks:
        by_test.setdefault((mark.path, mark.test_id), []).append(mark)
    for carrying in by_test.values():
        facts = carrying[0].facts
        scenarios = {one for mark in carrying for one in mark.scenarios}
        if facts is not None and len(scenarios) > max(facts.assertions, facts.cases):
            first = carrying[0]
            what = f"{first.test_id} carries {len(scenarios)} scenarios and asserts {facts.assertions} things"
            yield _finding(f"{first.path}:{first.line}", f"{what}; give each scenario a test of its own")


def _same_tests(spec: Spec, tests: Sequence[CarriedTest]) -> Iterator[ValidationFinding]:
    seen: dict[frozenset[str], str] = {}
    for scenario in (scenario.id for scenario in spec.scenarios):
        showing = frozenset(_showing(tests, scenario))
        first = seen.setdefault(showing, scenario) if showing else scenario
        if first != scenario:
            what = f"{first} and {scenario} have the same tests ({', '.join(sorted(showing))})"
            yield _finding("", f"{what}; one test each tells which of them fails")


def changed_results(
    before: Mapping[str, str], now: Mapping[str, Status], carried: Collection[str]
) -> Iterator[str]:
    """Names tests that carry no scenario and end otherwise than at the cycle's start.

    `before` and `now`: status by native id; `carried`: native ids.
    """
    for name, status in now.items():
        was = before.get(name)
        if name in carried or was == status:
            continue
        if was is not None:
            yield f"{name} carries no scenario, and its result changed: {was} before, {status} now"
        elif status in {Status.FAIL, Status.ERROR}:
            yield f"{name} is new, fails, and carries no scenario"
    yield from (f"{name} is not there any more" for name in before if name not in now)


def observe_reds(project: Project, cycle: Cycle, spec: Spec, progress: Progress | None) -> RedFacts | Deny:
    """Runs all tests, since only a red that the kernel saw proves anything."""
    tested = run_tests(project, (), cwd=project.root, progress=progress, again=True)
    if tested.report is None:
        return Deny("cycle-red", "The tests did not run.", "`tdd test` says why")
    tree = project.workspace.snapshot()
    marks = marks_of(project, tree)
    # Scenarios of other specs belong to other cycles.
    ours = [mark for mark in marks.marks if any(_is_of(spec, name) for name in mark.scenarios)]
    tests = tuple(_carried_tests(ours, tested.report, {run.native_id: run for run in tested.tests}))
    natives = {test.run.native_id for test in tests}
    suite = project.workspace.blob_bytes(cycle.suite) if cycle.suite else None
    before: dict[str, str] = json.loads(suite or b"{}")
    now = {result.native_id: result.status for result in tested.report.results}
    changed = changed_results(before, now, natives)
    broken = tuple(f"{error.path}: {error.message}" for error in tested.report.errors)
    faults = tuple(_coverage_faults(spec, marks, ours, tests))
    concerns = (*_find_stuffed_tests(ours), *_same_tests(spec, tests))
    return RedFacts(tests, faults, concerns, (*broken, *changed), tree)
