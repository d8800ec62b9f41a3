"""Says of a change what it was, from what its replay found out: a pure function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.audit.report import FLAKY, AuditOutcome

if TYPE_CHECKING:
    from verdigris.drivers.audit.report import FoundPlace, LostCheck, RedTest


@value
class UnitFacts:
    """What a replay found out about one change."""

    source: bool = False
    """Source changed in what it does."""
    tests: bool = False
    """Tests or their data changed in what they ask."""
    configuration: bool = False
    """How tests are run changed."""
    broken: str = ""
    """Why the machine gave no answer."""
    unknown: str = ""
    """Why the change cannot be judged, through no fault of its own."""
    curable: bool = False
    """It cannot be judged since this machine lacks something: another try may tell more."""
    reds: tuple[RedTest, ...] = ()
    """Right and wrong ones: red over the source of before, green after."""
    waiting: tuple[str, ...] = ()
    """Ids of new tests that fail after."""
    regressed: tuple[FoundPlace, ...] = ()
    weakened: tuple[LostCheck, ...] = ()
    hollow: tuple[str, ...] = ()
    uncovered: tuple[FoundPlace, ...] = ()
    ran: bool = True
    """Some test passes after."""


def judge_unit(facts: UnitFacts) -> tuple[AuditOutcome, str]:
    """The outcome, and its reason in one sentence: doubt comes first, then blame, then praise."""
    if facts.broken:
        return AuditOutcome.INFRASTRUCTURE, facts.broken
    if facts.unknown:
        return AuditOutcome.UNVERIFIED, facts.unknown
    if not (facts.source or facts.tests or facts.configuration):
        return AuditOutcome.NO_CODE, "neither source nor tests changed in what they do."
    if facts.regressed:
        first = facts.regressed[0]
        now = "fails" if len(facts.regressed) == 1 else "fail"
        return (
            AuditOutcome.REGRESSED,
            f"{_count(facts.regressed, 'test')} passed before and {now} now: {first.what}",
        )
    if facts.weakened:
        one = facts.weakened[0]
        return (
            AuditOutcome.WEAKENED,
            f"the suite asks less: {one.kind} at {one.path}:{one.line}{_more(facts.weakened)}.",
        )
    if facts.hollow:
        return AuditOutcome.HOLLOW, f"{facts.hollow[0]}{_more(facts.hollow)}"
    right = [red for red in facts.reds if red.valid]
    if right:
        return AuditOutcome.TEST_DRIVEN, f"{right[0].id} was red ({right[0].why}) and is green{_more(right)}."
    return _judge_without_red(facts)


def _judge_without_red(facts: UnitFacts) -> tuple[AuditOutcome, str]:
    if not facts.source:
        if facts.waiting:
            return AuditOutcome.UNVERIFIED, (
                f"{facts.waiting[0]} is red, and no source came with it: the commit that makes it green is"
                " judged, or the range as one change (`--squash`)."
            )
        if not facts.tests:
            return (
                AuditOutcome.NO_CODE,
                "only how the tests are run changed, and their results are the same.",
            )
        return AuditOutcome.CHARACTERIZATION, "its tests pass without a change of source."
    flaky = next((red.id for red in facts.reds if red.why == FLAKY), "")
    if flaky:
        return (
            AuditOutcome.UNVERIFIED,
            f"{flaky} is flaky: over the source of before it failed, and passed when it was run again.",
        )
    if facts.reds:
        wrong = facts.reds[0]
        return (
            AuditOutcome.UNTESTED,
            f"no test was red for the right reason: {wrong.id} failed by {wrong.why}, not by behaviour.",
        )
    if facts.tests:
        return (
            AuditOutcome.UNTESTED,
            "source changed, and its tests pass without the change: none of them was red before.",
        )
    if facts.uncovered:
        one = facts.uncovered[0]
        where = f"{one.path}:{one.line}"
        return (
            AuditOutcome.UNTESTED,
            f"source changed, no test was red, and no test runs {where}{_more(facts.uncovered)}.",
        )
    if not facts.ran:
        return AuditOutcome.UNTESTED, "source changed, and there is no test that passes."
    return AuditOutcome.REFACTOR, "source changed under the same tests with the same results."


def _count(found: tuple[object, ...], noun: str) -> str:
    return f"{len(found)} {noun}{'s'[: len(found) > 1]}"


def _more(found: tuple[object, ...] | list[RedTest]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""
