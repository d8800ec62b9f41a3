"""Judges whether a change adds only stubs: old declarations are unchanged, and each new one is a stub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from verdigris.core.value import field, replace, value
from verdigris.languages.findings import StubFinding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Item(Protocol):
    """A statement or a declaration, as the rules of every language compare it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it binds in its scope."""

    @property
    def form(self) -> str:
        """A text that is equal for equal declarations, whatever their layout."""

    @property
    def label(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def marked_to(self) -> int:
        """The last line on which a marker counts for the whole declaration."""

    @property
    def is_broken(self) -> bool:
        """Whether the text has an error inside of it."""


ItemT = TypeVar("ItemT", bound=Item)
T_contra = TypeVar("T_contra", bound=Item, contravariant=True)


@value
class StubMarks:
    marked: frozenset[int]
    """Lines of the comments and raising statements that contain the marker."""
    alone: frozenset[int]
    """Lines with a comment and nothing else."""
    whole: bool = False
    """True if a marker at the top of a new file covers all of it."""

    def on(self, start: int, last: int) -> bool:
        """Whether a declaration is marked, on its own lines or in the comments right above."""
        above = start - 1
        while above in self.alone:
            above -= 1
        return self.whole or any(above < line <= last for line in self.marked)


@value
class StubContext:
    """What is known when a new declaration is judged."""

    marks: StubMarks
    taken: frozenset[str] = frozenset()
    """Names that existing code binds, and names of the language that it uses."""
    types: frozenset[str] = frozenset()
    """Names of existing types."""
    existing: bool = True
    covered: bool = False
    """True inside a new declaration that is marked: its mark covers the members."""
    added: set[str] = field(default_factory=set)

    def is_marked(self, item: Item) -> bool:
        return self.covered or self.marks.on(item.line, item.marked_to)


class Rules(Protocol[T_contra]):
    """What a language accepts as a stub."""

    def is_successor(self, old: T_contra, new: T_contra) -> bool:
        """Whether the new declaration is the old one in a changed form, to be compared in detail."""
        ...

    def judge_growth(self, old: T_contra, new: T_contra, seen: StubContext) -> Iterator[StubFinding]: ...

    def judge_addition(self, item: T_contra, seen: StubContext) -> Iterator[StubFinding]: ...


def compare_items(
    rules: Rules[ItemT], old: Sequence[ItemT], new: Sequence[ItemT], seen: StubContext
) -> Iterator[StubFinding]:
    rest = list(old)
    for item in new:
        at = _counterpart(rules, rest, item)
        if at is None:
            same = next((old for old in rest if old.names and old.names == item.names), None)
            if same is not None:
                why = "existing code stays as it is until a red test is claimed"
                yield StubFinding(item.line, f"{item.label} was changed; {why}")
            if item.is_broken:
                yield StubFinding(item.line, f"{item.label} cannot be read")
            yield from rules.judge_addition(item, seen)
            yield from check_names(item.line, item.names, seen)
            continue
        if at > 0:
            yield StubFinding(item.line, f"{rest[0].label} was changed, removed or moved")
        if rest[at].form != item.form:
            yield from rules.judge_growth(rest[at], item, seen)
        rest = rest[at + 1 :]
    if rest:
        line = new[-1].last if new else 1
        yield StubFinding(line, f"{rest[0].label} was changed, removed or moved")


def _counterpart(rules: Rules[ItemT], rest: Sequence[ItemT], item: ItemT) -> int | None:
    exact = next((at for at, old in enumerate(rest) if old.form == item.form), None)
    if exact is not None:
        return exact
    return next((at for at, old in enumerate(rest) if rules.is_successor(old, item)), None)


def check_names(line: int, names: Collection[str], seen: StubContext) -> Iterator[StubFinding]:
    """Checks that no new name replaces one that existing code uses, or another new one."""
    for name in names:
        if name in seen.taken or name in seen.added:
            yield StubFinding(line, f"`{name}` exists already, and would be replaced")
    seen.added.update(names)


def member_context(seen: StubContext, item: Item, **changes: object) -> StubContext:
    """The context for the members of a declaration, which have a scope of their own."""
    context = replace(seen, taken=frozenset(), added=set(), covered=seen.covered or seen.is_marked(item))
    return replace(context, **changes)  # type: ignore[arg-type]


def find_unmarked(item: Item, seen: StubContext) -> Iterator[StubFinding]:
    if not seen.is_marked(item):
        yield StubFinding(item.line, f"{item.label} is not marked STUB:TDD")


def report_fault(item: Item, fault: str | None) -> Iterator[StubFinding]:
    if fault is not None:
        yield StubFinding(item.line, f"{item.label}: {fault}")
