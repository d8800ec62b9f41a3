"""What a change owes, and which debts are paid: asks by mutants whether a test notices each decision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.arrangements import describe_idle, make_arrangements
from verdigris.checks.mutants import (
    Trial,
    Tried,
    describe_place,
    make_empty_bodies,
    make_mutants,
    try_mutants,
)
from verdigris.core.debts import Debt, apply_debt, is_there, make_debt
from verdigris.core.value import replace, value
from verdigris.languages.findings import Mutant
from verdigris.languages.registry import reader_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.checks.coverage import Unasked
    from verdigris.checks.observation import Candidate
    from verdigris.core.report import TestReport
    from verdigris.core.state import Claim, WorktreeState
    from verdigris.languages.findings import MutantKind
    from verdigris.storage.project import Project

LEAST_SECONDS = 10.0
"""The questions may take as long as the suite, or so many seconds."""
_OWED = frozenset({"decision", "bound", "answer", "default"})
"""Kinds of mutants that stand for a decision of the code."""


@value
class Debts:
    """What was found about the debts of a change, and about those that were open before."""

    new: tuple[Debt, ...] = ()
    paid: tuple[str, ...] = ()
    """Ids of debts that a test notices now, or whose code is gone."""
    unrun: tuple[Debt, ...] = ()
    """New functions that no test runs, where no line is measured: they refuse, or a person owes them."""
    untried: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    """Claimed tests that pass whatever they set up."""


def question_debts(
    candidate: Candidate,
    claims: Collection[Claim],
    suite: TestReport,
    open_debts: Iterable[Debt],
    idle: Collection[Unasked] = (),
) -> Debts:
    """Asks about the decisions of a change, about weak reds and about open debts, in one trial.

    `suite`: the run on the tree, which becomes the ground if this change is accepted. `idle`: lines that no
    test runs, so that none notices what they decide.
    """
    mutated = make_mutants(candidate)
    decisions = (mutant for mutant in mutated.mutants if mutant.fails or _is_decision(mutant))
    claimed = tuple(claim.native_id for claim in claims)
    bodies = {(body.path, body.what): body for body in make_empty_bodies(candidate, claimed)}
    weak, _ = _find_mutants(candidate, (debt for claim in claims for debt in claim.weak), candidate.tree)
    bodies |= {(body.path, body.what): body for body in weak.values()}
    mutants = [*decisions, *bodies.values()]
    texts = texts_at(candidate.project, candidate.tree, {mutant.path for mutant in mutants})
    unrun = {(place.path, line) for place in idle for line in range(place.first, place.last + 1)}
    mutants = [mutant for mutant in mutants if (mutant.path, _changed_line(mutant, texts)) not in unrun]
    held, gone = _find_mutants(candidate, open_debts, candidate.tree)
    trial = Trial(suite, max(LEAST_SECONDS, suite.duration_ms / 1000), claimed)
    arranged = make_arrangements(candidate, claimed)
    tried = try_mutants(candidate, [*mutants, *held.values(), *arranged], trial)
    unnoticed = [mutant for mutant in mutants if mutant in tried.unnoticed]
    new = {debt.id: debt for m in unnoticed if not m.fails for debt in [debt_of(m, texts[m.path])]}
    return Debts(
        tuple(debt for name, debt in new.items() if name not in held),
        (*gone, *_paid(held, tried)),
        tuple(replace(debt_of(m, texts[m.path]), change="") for m in unnoticed if m.fails),
        (*mutated.untried, *_untried_code(tried, mutants)),
        describe_idle(arranged, tried.unnoticed),
    )


def find_paid(candidate: Candidate, ran: TestReport, open_debts: Iterable[Debt]) -> tuple[str, ...]:
    """Ids of the debts that tests of a run notice, or whose code is gone from the ground."""
    held, gone = _find_mutants(candidate, open_debts, candidate.start)
    trial = Trial(ran, LEAST_SECONDS)
    if not trial.passing or candidate.room is None:
        return gone
    tried = try_mutants(candidate, held.values(), replace(trial, first=tuple(trial.passing)))
    return (*gone, *_paid(held, tried))


def find_unpaid(project: Project, state: WorktreeState, tree: str) -> dict[str, Debt]:
    """The debts whose code the ground has, without those whose tests are still as they noticed them."""
    debts = state.owed
    texts = texts_at(project, state.ground or tree, {debt.path for debt in debts.values()})
    files = {path for debt in debts.values() for path in debt.tests}
    blobs = {path: entry.blob for path, entry in project.workspace.entries(tree, files).items()}
    return {
        name: debt
        for name, debt in debts.items()
        if is_there(debt, texts.get(debt.path, "")) and not debt.is_noticed(blobs)
    }


def _changed_line(mutant: Mutant, texts: Mapping[str, str]) -> int:
    """The first line that a mutant changes: of a function without its body, the first of the body."""
    data = mutant.data.decode("utf-8", "surrogateescape")
    pairs = zip(texts[mutant.path].splitlines(), data.splitlines(), strict=False)
    return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), mutant.line)


def _untried_code(tried: Tried, mutants: Iterable[Mutant]) -> Iterator[str]:
    """What was not tried of source."""
    places = set(map(describe_place, mutants))
    return (text for text in tried.untried if text.partition(": ")[0] in places)


def _is_decision(mutant: Mutant) -> bool:
    return mutant.kind in _OWED and (not mutant.weak or mutant.kind == "bound")


def _paid(held: Mapping[str, Mutant], tried: Tried) -> tuple[str, ...]:
    """Those whose mutant was tried and noticed."""
    unsure = {text.partition(": ")[0] for text in tried.untried}
    return tuple(
        name
        for name, mutant in held.items()
        if mutant not in tried.unnoticed and describe_place(mutant) not in unsure
    )


def debt_of(mutant: Mutant, text: str) -> Debt:
    data = mutant.data.decode("utf-8", "surrogateescape")
    debt = make_debt(mutant.path, mutant.line, mutant.subject, mutant.what, (text, data))
    return replace(debt, shown=mutant.what) if mutant.kind == "body" else debt


def _find_mutants(
    candidate: Candidate, debts: Iterable[Debt], ground: str
) -> tuple[dict[str, Mutant], tuple[str, ...]]:
    """The mutants of debts in today's files, by id, and ids of debts whose code the ground has not."""
    debts = tuple(debts)
    paths = {debt.path for debt in debts}
    texts, settled = (texts_at(candidate.project, at, paths) for at in (candidate.tree, ground))
    mutants = {debt.id: _mutant_of(debt, texts.get(debt.path, "")) for debt in debts}
    held = {name: mutant for name, mutant in mutants.items() if mutant is not None}
    return held, tuple(debt.id for debt in debts if not is_there(debt, settled.get(debt.path, "")))


def _mutant_of(debt: Debt, text: str) -> Mutant | None:
    """None where the code is gone, or was laid out anew and no mutant of the file is the same."""
    changed = apply_debt(debt, text)
    if changed is not None:
        data = changed.encode("utf-8", "surrogateescape")
        kind: MutantKind = "body" if debt.is_body else "decision"
        return Mutant(
            debt.path, debt.line, debt.change, data, fails=not debt.change, subject=debt.what, kind=kind
        )
    if not text:
        return None
    data = text.encode("utf-8", "surrogateescape")
    source, texts = reader_of(debt.path).source, ({debt.path: None}, {debt.path: data})
    lengths = [int(number) for number in re.findall(r"\* (\d+)", debt.change)] if debt.is_body else []
    every = (*source.mutants(*texts).mutants, *source.empty_bodies(*texts, lengths=lengths))
    same = [mutant for mutant in every if mutant.what == debt.change]
    return min(same, key=lambda mutant: abs(mutant.line - debt.line), default=None)
