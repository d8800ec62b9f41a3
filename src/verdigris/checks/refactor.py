"""Checks that a refactor kept the behaviour: tests with other inputs end alike before and after.

What the tests ask is all that they pin down; a table of their answers passes them, and a refactor may not
become one. So each test asks for something near, and only the comparison of the two trees counts. What the
refactor changed is mutated too: a mutant that no test notices is told.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from verdigris.checks.mutants import Trial, describe_place, make_mutants, try_mutants
from verdigris.checks.source_edits import test_texts
from verdigris.checks.verdict_checks import NO_SANDBOX
from verdigris.core.paths import PathClass
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.execution.test_run import execute
from verdigris.languages.assertion_matching import find_losses
from verdigris.languages.literals import EndOfTest, RenamedWords, Replaced, answers, differences
from verdigris.languages.probes import apply_edits
from verdigris.languages.registry import by_language, language_for, reader_of
from verdigris.languages.tests import without
from verdigris.runners.protocol import Progress, TestRequest, announce
from verdigris.storage.draws import lot_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.core.verdict import LostAssertion
    from verdigris.execution.room import Layer
    from verdigris.languages.findings import Mutant
    from verdigris.storage.project import Project


WAVES = 2
"""Each is a run on either tree."""
EQUIVALENCE_SECONDS = 45.0
_SAMPLE_MS = 5_000
"""Of a suite that takes longer, so many files are drawn that they take about this long."""


@value
class _Trees:
    project: Project
    start: str
    tree: str
    room: Layer

    def change_functions_alone(self, paths: Sequence[str]) -> bool:
        """Whether these files are the same apart from their functions; whoever calls those was seen."""
        before, after = (texts_at(self.project, at, paths) for at in (self.start, self.tree))
        return all(
            path in before
            and path in after
            and (tracing := reader_of(path).tracing()) is not None
            and (delta := tracing.compare_modules(before[path], after[path])) is not None
            and not (delta.more or delta.classes or delta.names - delta.added - delta.gone)
            for path in paths
        )


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


def behaviour_changes(
    candidate: Candidate, ran: TestReport, progress: Progress | None = None
) -> tuple[str, ...]:
    """What ended otherwise, in words; `ran`: the suite on the tree."""
    project, tree, edits = candidate.project, candidate.tree, candidate.edits
    changed = [c.path for c in (*edits.source, *edits.other)]
    if candidate.room is None or not edits.source:
        return ()
    lot = lot_of(project, candidate.start, tree, "other inputs")
    trees = _Trees(project, project.workspace.graft(tree, candidate.start, changed), tree, candidate.room)
    texts = _tests(trees, edits, ran, lot)
    ends = time.monotonic() + EQUIVALENCE_SECONDS
    tried: dict[str, set[int]] = {path: set() for path in texts}
    for wave in range(1, WAVES + 1):
        drawn = {p: reader_of(p).liveness.other_inputs(p, data, lot, tried[p]) for p, data in texts.items()}
        replaced = {path: replacements for path, replacements in drawn.items() if replacements}
        left = ends - time.monotonic()
        if not replaced or left <= 0:
            break
        announce(progress, f"other inputs, {wave} of {WAVES}")
        for path, replacements in replaced.items():
            tried[path].update(replacement.start for replacement in replacements)
        if found := _compare_answers(trees, texts, replaced, left):
            return tuple(_describe_difference(name, pair, replaced) for name, pair in found.items())
    return ()


def _tests(trees: _Trees, edits: TreeDifference, ran: TestReport, lot: Random) -> dict[str, bytes]:
    """The files of tests that are the same on both trees and ran what changed; by lot where they are many."""
    touched = {*edits.oracle, *(c.path for c in edits.source)}
    files = {split_id(name).path for name in _tests_that_ran(trees, edits, ran)} - touched
    read = [p for p in sorted(files) if _has_reader(p)]
    project = trees.project
    tests = [path for path in read if project.classify(path) is PathClass.TEST]
    most = max(1, len(tests) * _SAMPLE_MS // max(ran.duration_ms, _SAMPLE_MS))
    chosen = lot.sample(tests, min(most, len(tests)))
    texts = project.workspace.read_many(trees.tree, chosen)
    return {path: data for path, data in texts.items() if data is not None}


def _tests_that_ran(trees: _Trees, edits: TreeDifference, ran: TestReport) -> list[str]:
    """The tests that ran a function of a changed file, if nothing but functions changed; else all of them."""
    names, uses = [result.native_id for result in ran.results], ran.uses
    paths = [change.path for change in edits.source]
    if uses is None or uses.problem or edits.other or not trees.change_functions_alone(paths):
        return names
    places = uses.places_in(paths)
    return [name for name in names if uses.may_run(name, places)] or names


def _has_reader(path: str) -> bool:
    language = language_for(path)
    return language is not None and language.source.reads(path)


def _compare_answers(
    trees: _Trees,
    texts: Mapping[str, bytes],
    replaced: Mapping[str, tuple[Replaced, ...]],
    left: float,
) -> dict[str, tuple[EndOfTest, EndOfTest]]:
    """What differs twice, in the same way: what depends on the moment is no behaviour."""
    project = trees.project
    modes = {e.path: e.mode for e in project.workspace.files(trees.tree) if e.path in replaced}
    contents: dict[str, tuple[str, bytes] | None] = {
        path: (modes[path], apply_edits(texts[path], replacements)) for path, replacements in replaced.items()
    }
    before, after = (
        replace(trees.room, wanted=project.workspace.compose(base, contents), worktree=trees.tree)
        for base in (trees.start, trees.tree)
    )

    def differing() -> dict[str, tuple[EndOfTest, EndOfTest]]:
        runs = [
            execute(project, TestRequest(tuple(sorted(replaced)), timeout=left, sources=()), layer=layer)
            for layer in (before, after)
        ]
        return differences(*map(answers, runs)) if all(_whole(run) for run in runs) else {}

    first = differing()
    again = differing() if first else {}
    return {name: pair for name, pair in first.items() if again.get(name) == pair}


def _whole(report: TestReport) -> bool:
    return report.ended is RunEnd.FINISHED and bool(report.results)


def _describe_difference(
    name: str, pair: tuple[EndOfTest, EndOfTest], replaced: Mapping[str, Iterable[Replaced]]
) -> str:
    replacements = replaced.get(split_id(name).path, ())
    before, after = (f"{end.status} {end.what}".strip() for end in pair)
    what = ", ".join(f"line {r.line}: `{r.was}` → `{r.text}`" for r in replacements)
    return f"{name} with another input ({what}) ended with `{before}` before the refactor, with `{after}` now"


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


def find_dropped(candidate: Candidate, ran: TestReport, progress: Progress | None = None) -> Survivors:
    """Decisions that the refactor took out of functions that stay, and that no test had noticed before.

    Both trees change places: what is new in the old one is what has gone from the new one.
    """
    if candidate.room is None:
        return Survivors()
    project, paths = candidate.project, candidate.paths
    before = project.workspace.graft(candidate.tree, candidate.start, paths)
    room = replace(candidate.room, wanted=before, worktree=candidate.tree)
    reverse = replace(candidate, start=candidate.tree, tree=candidate.start, room=room)
    decisions = (m for m in make_mutants(reverse).mutants if m.kind == "decision" and not (m.weak or m.fails))
    mutants = [mutant for mutant in decisions if _is_function_kept(candidate, mutant)]
    tried = try_mutants(reverse, mutants, Trial(replace(ran, uses=None), MUTATION_SECONDS, progress=progress))
    dropped = {f"{describe_place(m)} before the refactor: `{m.subject}`" for m in tried.unnoticed}
    return Survivors(
        tuple(f"{place} is gone, and no test noticed it" for place in sorted(dropped)),
        tuple(f"not tried: what is gone at {what}" for what in sorted(tried.untried)),
    )


def _is_function_kept(candidate: Candidate, mutant: Mutant) -> bool:
    """Whether its function is still there: code that goes as a whole was not needed, or was moved."""
    tracing = reader_of(mutant.path).tracing()
    after = texts_at(candidate.project, candidate.tree, [mutant.path]).get(mutant.path)
    if tracing is None or after is None:
        return False
    names = tracing.name_lines(mutant.data.decode("utf-8", "surrogateescape"), [mutant.line])
    words = tracing.module_words(after)
    return names is not None and words is not None and names[mutant.line] in words.functions


def find_unrun(candidate: Candidate, ran: TestReport) -> tuple[Mutant, ...]:
    """What is new and no test runs, where no line is measured: it is made to fail, and all tests pass.

    `ran`: the suite on the tree.
    """
    mutants = [mutant for mutant in make_mutants(candidate, measured=False).mutants if mutant.fails]
    return try_mutants(candidate, mutants, Trial(ran, MUTATION_SECONDS)).unnoticed
