"""Judges what changed source leaves changed for the whole process: logging, warnings, hooks, variables ….

It is always named. It refuses a settlement where a claimed test passes only because of it, tests look through
it, and no claimed test names the feature: who wants repeatable numbers has a generator of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.mutants import Trial, try_mutants
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.languages.findings import Mutant
from verdigris.languages.registry import reader_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import LeftSetting, TestReport

SECONDS = 10.0
LENSES: Mapping[str, str] = {
    "logging.disable": "logging|disable",
    "the root logger's level": "logging|level",
    "the root logger's handlers": "logging|handler",
    "warnings.filters": "warning",
    "random": "random|seed",
    "numpy.random": "random|seed",
    "the decimal context": "decimal|precision|rounding",
}
"""What tests look through, with words of which one names the feature."""


@value
class LeftChanges:
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def judge_left(
    candidate: Candidate, claimed: Sequence[str], suite: TestReport | None, tests: Mapping[str, str]
) -> LeftChanges:
    """`claimed`: native ids. `tests`: texts of test files."""
    left = () if suite is None else suite.left
    if suite is None or not left:
        return LeftChanges()
    texts = [tests.get(path, "") for path in dict.fromkeys(split_id(test).path for test in claimed)]
    doubtful = [one for one in left if claimed and is_unnamed_lens(one, texts)]
    needed = _find_needed(candidate, doubtful, claimed, suite)
    return LeftChanges(
        tuple(f"{describe(one)}; a claimed test passes only because of it" for one in needed),
        tuple(describe(one) for one in left if one not in needed),
    )


def is_unnamed_lens(one: LeftSetting, texts: Iterable[str]) -> bool:
    words = LENSES.get(one.name)
    return words is not None and not any(re.search(words, text, re.IGNORECASE) for text in texts)


def describe(one: LeftSetting) -> str:
    looked = ", and tests look through it" if one.name in LENSES else ""
    return f"{one.at}: process-wide: it leaves {one.name} changed ({one.before} → {one.after}){looked}"


def _find_needed(
    candidate: Candidate, doubtful: Sequence[LeftSetting], claimed: Sequence[str], suite: TestReport
) -> list[LeftSetting]:
    """Those without whose line a claimed test fails."""
    places = {one.at: (path, int(line)) for one in doubtful for path, _, line in [one.at.rpartition(":")]}
    texts = texts_at(candidate.project, candidate.tree, {path for path, _ in places.values()})
    mutants = [
        Mutant(path, line, "", without.encode("utf-8", "surrogateescape"))
        for path, line in places.values()
        if path in texts and (tracing := reader_of(path).tracing()) is not None
        if (without := tracing.without_statement(texts[path], line)) is not None
    ]
    if not mutants or candidate.room is None:
        return []
    mine = tuple(result for result in suite.results if result.native_id in claimed)
    tried = try_mutants(candidate, mutants, Trial(replace(suite, results=mine), SECONDS))
    idle = {(mutant.path, mutant.line) for mutant in tried.unnoticed}
    asked = {f"{mutant.path}:{mutant.line}" for mutant in mutants if (mutant.path, mutant.line) not in idle}
    asked -= {text.partition(": ")[0] for text in tried.untried}
    return [one for one in doubtful if one.at in asked]
