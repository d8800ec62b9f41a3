"""Asks what every accepting verdict asks, of a settlement and of a refactor alike."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from verdigris.checks.held_out import held_out_kept, held_out_pass
from verdigris.checks.properties import question_properties
from verdigris.checks.shared_oracle import question_shared
from verdigris.checks.verdict_checks import VerdictChecks, scrutinise
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.checks.shared_oracle import SharedAnswers
    from verdigris.core.report import TestReport
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
