"""Asks what every accepting verdict asks, of a settlement and of a refactor alike.

Property tests must have been tried as their settings say, and not fewer times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.held_out import held_out_kept, held_out_pass
from verdigris.checks.verdict_checks import VerdictChecks, scrutinise
from verdigris.checks.weakening import question_shared
from verdigris.core.value import field, replace, value
from verdigris.execution.room.rooms import beside
from verdigris.execution.test_run import execute
from verdigris.execution.tree_stability import on_start_tree
from verdigris.runners.protocol import TestRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.checks.weakening import SharedAnswers
    from verdigris.core.report import Property, TestReport, TestResult
    from verdigris.core.state import WorktreeState


@value
class Answers:
    scrutiny: VerdictChecks = field(default_factory=VerdictChecks)
    held_out: bool = True
    """The held-out tests pass, as far as they were asked."""
    weakened: tuple[str, ...] = ()
    """What tests assert or expect by way of source, and no longer do."""


def question_turn(
    candidate: Candidate, state: WorktreeState, claimed: Sequence[str], suite: TestReport
) -> Answers:
    """Concerns, live assertions of claimed and affected tests, held-out tests.

    `claimed`: native ids. `suite`: the run of all tests in this verdict.
    """
    project, tree, room = candidate.project, candidate.tree, candidate.room
    shared = question_shared(project, candidate.start, tree, candidate.edits, claimed, room)
    if shared.weakened:
        return Answers(VerdictChecks(noted=shared.noted), weakened=shared.weakened)
    if unfair := question_properties(candidate, suite, claimed):
        return Answers(VerdictChecks(blocking=unfair, noted=shared.noted))
    claims = state.claims.values()
    asked = scrutinise(candidate, claimed, suite=suite, claims=claims, shared=shared.texts)
    scrutiny = _with_shared(asked, shared)
    held_out = bool(scrutiny.blocking) or held_out_pass(project, state, tree, room)
    return Answers(scrutiny, held_out)


def question_refactor(candidate: Candidate, state: WorktreeState, suite: TestReport) -> Answers:
    """The same, with nothing claimed; a held-out test that failed before may still fail."""
    project, start, tree, room = candidate.project, candidate.start, candidate.tree, candidate.room
    shared = question_shared(project, start, tree, candidate.edits, None, room)
    if shared.weakened:
        return Answers(VerdictChecks(noted=shared.noted), weakened=shared.weakened)
    if unfair := question_properties(candidate, suite, None):
        return Answers(VerdictChecks(blocking=unfair, noted=shared.noted))
    scrutiny = _with_shared(scrutinise(candidate, (), suite=suite), shared)
    held_out = bool(scrutiny.blocking) or held_out_kept(project, state, start, tree, candidate.paths, room)
    return Answers(scrutiny, held_out)


def _with_shared(scrutiny: VerdictChecks, shared: SharedAnswers) -> VerdictChecks:
    return replace(
        scrutiny, blocking=(*scrutiny.blocking, *shared.idle), noted=(*scrutiny.noted, *shared.noted)
    )


def question_properties(
    candidate: Candidate, suite: TestReport, claimed: Collection[str] | None
) -> tuple[str, ...]:
    """Why properties that pass prove nothing; `claimed` is None where all of the suite's count.

    Only where there are properties, these tests are run once more on the tree that the turn began with.
    """
    tried = [
        result
        for result in suite.results
        if result.property is not None and (claimed is None or result.native_id in claimed)
    ]
    changed = [c.path for c in candidate.edits.source]
    if not tried or not changed:
        return ()
    project, paths = candidate.project, candidate.paths
    with on_start_tree(project, start=candidate.start, edited=candidate.tree, paths=paths) as layer:
        names = [result.native_id for result in tried]
        before = execute(project, TestRequest(tuple(names)), layer=beside(layer, candidate.room))
    return judge_properties(tried, before.results, changed)


def judge_properties(
    after: Iterable[TestResult], before: Iterable[TestResult], changed: Collection[str]
) -> tuple[str, ...]:
    """`before`: the same tests with the source as it was. `changed`: paths of source that were edited."""
    known = {result.native_id: result.property for result in before if result.property is not None}
    return tuple(told for result in after for told in _judge(result, known, changed))


def _judge(result: TestResult, known: dict[str, Property], changed: Collection[str]) -> Iterator[str]:
    tried = result.property
    if tried is None:
        return
    was = known.get(result.native_id, tried)
    if was.settings != tried.settings:
        other = _difference(was.settings, tried.settings)
        yield f"{result.id}: the settings of its property changed in this turn: {other}"
    for path in sorted(set(tried.rejecting) & set(changed)):
        told = "rejects inputs of its property, and only the test may say which inputs count"
        yield f"{result.id}: {path} {told}"
    if not tried.ran:
        yield f"{result.id}: no input ran its property to its end"


def _difference(before: str, after: str) -> str:
    """The settings that are not the same."""
    old, new = before.split(", "), after.split(", ")
    gone, come = ([one for one in side if one not in other] for side, other in ((old, new), (new, old)))
    return f"{', '.join(gone) or 'none'} → {', '.join(come) or 'none'}"
