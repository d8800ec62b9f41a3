"""Whether a property was tried as its tests say, or as the source that it is about would have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.core.report import Property, TestResult


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
        yield f"{result.id}: its property is tried by other settings since this turn: {other}"
    for path in sorted(set(tried.rejecting) & set(changed)):
        told = "turns inputs of its property down; what a property holds for is the test's to say"
        yield f"{result.id}: {path} {told}"
    if not tried.ran:
        yield f"{result.id}: its property came to its end for no input"


def _difference(before: str, after: str) -> str:
    """The settings that are not the same."""
    old, new = before.split(", "), after.split(", ")
    gone, come = ([one for one in side if one not in other] for side, other in ((old, new), (new, old)))
    return f"{', '.join(gone) or 'none'} → {', '.join(come) or 'none'}"
