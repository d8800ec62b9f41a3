"""Checks what a refactor did to the tests, and mutates what it changed: what no test notices is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.mutants import Trial, describe_place, make_mutants, try_mutants
from verdigris.checks.source_edits import test_texts
from verdigris.checks.verdict_checks import NO_SANDBOX
from verdigris.core.paths import PathClass
from verdigris.core.value import replace, value
from verdigris.languages.assertion_matching import find_losses
from verdigris.languages.literals import RenamedWords
from verdigris.languages.registry import by_language
from verdigris.languages.tests import without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import TestReport
    from verdigris.core.verdict import LostAssertion
    from verdigris.languages.findings import Mutant
    from verdigris.runners.protocol import Progress


def find_unkept(
    candidate: Candidate, revised: Sequence[str]
) -> tuple[tuple[str, ...], tuple[LostAssertion, ...]]:
    """Changed files that a refactor leaves alone, and what its tests lost."""
    project, oracle = candidate.project, candidate.edits.oracle
    tests = [path for path in oracle if project.classify(path) in {PathClass.TEST, PathClass.SOURCE}]
    then, now = (without(test_texts(project, at, tests), revised) for at in (candidate.start, candidate.tree))
    losses = find_losses(then, now, revised, _renamed_in_source(candidate))
    return tuple(path for path in oracle if path not in tests), losses


def _renamed_in_source(candidate: Candidate) -> RenamedWords:
    places: list[tuple[frozenset[str], frozenset[str]]] = []
    for language, paths in by_language(change.path for change in candidate.edits.source).items():
        sides = (candidate.project.workspace.read_many(at, paths) for at in (candidate.start, candidate.tree))
        if (found := language.source.renamed_words(*sides)) is not None:
            places += found.places
    return RenamedWords(tuple(places))


MUTATION_SECONDS = 60.0


@value
class Survivors:
    found: tuple[str, ...] = ()
    """What no test notices: behaviour that came with the refactor."""
    noted: tuple[str, ...] = ()
    """What no test notices and may well be the same behaviour, and what was not tried."""


def survivors(
    candidate: Candidate, ran: TestReport, *, optimizes: bool, progress: Progress | None = None
) -> Survivors:
    """`ran`: the suite on the tree.

    `optimizes`: a test has to run what is new, but need not notice which way it decides.
    """
    mutated = make_mutants(candidate)
    mutants = [replace(m, weak=m.weak or (optimizes and not m.fails)) for m in mutated.mutants]
    if candidate.room is None:
        return Survivors((), (NO_SANDBOX,) if mutants else ())
    tried = try_mutants(candidate, mutants, Trial(ran, MUTATION_SECONDS, progress=progress))
    unnoticed, weak = (
        sorted(f"{describe_place(one)}: {one.what}" for one in tried.unnoticed if one.weak is is_weak)
        for is_weak in (False, True)
    )
    not_tried = sorted(f"not tried: {what}" for what in (*mutated.untried, *tried.untried))
    return Survivors(tuple(unnoticed), (*weak, *not_tried))


def find_unrun(candidate: Candidate, ran: TestReport) -> tuple[Mutant, ...]:
    """What is new and no test runs, where no line is measured: it is made to fail, and all tests pass.

    `ran`: the suite on the tree.
    """
    mutants = [mutant for mutant in make_mutants(candidate, measured=False).mutants if mutant.fails]
    return try_mutants(candidate, mutants, Trial(ran, MUTATION_SECONDS)).unnoticed
