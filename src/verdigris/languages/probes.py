"""Probes: assertions, with changes that honest code fails; and the texts in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random


@value
class ByteEdit:
    start: int
    """`start` and `end` are offsets in bytes."""
    end: int
    text: str


@value
class ProbeChange:
    edits: tuple[ByteEdit, ...]
    what: str = ""
    """What was changed to what."""
    plausible: bool = True
    """False if the assertion compares values and this change only asserts the opposite."""
    may_pass: bool = False
    """True if honest code may pass with this change although the assertion is reached."""


@value
class Probe:
    """One assertion, or a part of one, with the changes that can be made to it."""

    path: str
    line: int
    what: str
    changes: tuple[ProbeChange, ...]
    names: frozenset[str]
    """Native ids of the tests that certainly reach the assertion and so must fail."""
    maybe: frozenset[str] = frozenset()
    """Those of the tests that may not reach it, because of a condition or a callback."""
    opposite: ProbeChange | None = None
    """The opposite assertion: it compiles even if another value does not."""
    joint: bool = False
    """True if honest code may pass some of the changes by chance, but never all of them."""
    last: int = 0
    """The last line of the assertion."""

    @property
    def at(self) -> str:
        return f"{self.path}:{self.line}: `{self.what}`"

    @property
    def needed(self) -> int:
        """How many of its changes have to be tried to show something."""
        return len(self.changes) if self.joint else 1


@value
class Try:
    """One assertion with the change that one text makes to it."""

    probe: Probe
    change: ProbeChange
    lines: tuple[int, int] = (0, 0)
    """First and last line of the assertion in the changed text."""

    @property
    def guarded(self) -> frozenset[str]:
        """The tests that may rightly pass."""
        probe = self.probe
        return probe.names | probe.maybe if self.change.may_pass else probe.maybe - probe.names


@value
class Variant:
    tries: tuple[Try, ...]
    """None in the variant with the true texts."""
    texts: Mapping[str, bytes]


@value
class RunSet:
    """The variants in the order in which they are run."""

    members: tuple[Variant, ...]
    truth: int
    """The position of the run with the true texts."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """How many changes of each test have to be tried, with those that no variant has room for."""


def plan_runs(
    found: Sequence[Probe], texts: Mapping[str, bytes], dice: Random, most: int, least: int
) -> RunSet:
    """Plans variants with at most one change of each test, and puts them in random order.

    So the code under test cannot tell which run has the true texts. Only the files that some variant changes
    are written. `most`: the limit of variants; `least`: the limit for those that change an assertion again.
    """
    members = draw_members(found, dice, most, least, alone=True)
    changed = {one.probe.path for member in members for one in member}
    texts = {path: data for path, data in texts.items() if path in changed}
    variants = []
    for member in ((), *members):
        tries = (
            Try(one.probe, one.change, _lines_after(texts[one.probe.path], one, member)) for one in member
        )
        variants.append(Variant(tuple(tries), changed_texts(texts, member)))
    order = dice.sample(range(len(variants)), len(variants))
    totals: dict[str, int] = {}
    for probe in found:
        for name in probe.names | probe.maybe:
            totals[name] = totals.get(name, 0) + probe.needed
    return RunSet(tuple(variants[number] for number in order), order.index(0), totals)


def plan_content_run(
    texts: Mapping[str, bytes], dice: Random, found: Sequence[Probe], strict: Sequence[Probe] = ()
) -> RunSet:
    """Plans one run in which all these assertions are changed, and the true one, in random order.

    `strict`: a run more, if it changes them otherwise; code that fails there alone is honest, perhaps.
    """
    texts = {path: data for path, data in texts.items() if path in {probe.path for probe in found}}
    sets = [(found, False), *([(strict, True)] if strict and strict != found else [])]
    variants = [Variant((), texts)]
    for probes, may_pass in sets:
        changes = ((probe, replace(probe.changes[0], may_pass=may_pass)) for probe in probes)
        tries = tuple(Try(probe, change, (probe.line, probe.last)) for probe, change in changes)
        variants.append(Variant(tries, changed_texts(texts, tries)))
    order = dice.sample(range(len(variants)), len(variants))
    return RunSet(tuple(variants[number] for number in order), order.index(0))


def draw_members(
    found: Sequence[Probe], dice: Random, most: int, least: int, *, alone: bool = False
) -> list[tuple[Try, ...]]:
    """Draws the changes of each text: one assertion of every test, and no change twice.

    If no assertion of a test is certain to run, all of them are changed at once: one of them must fail.
    With `alone`, each is changed alone, since the runs tell where a test failed.
    """
    sure = {name for probe in found for name in probe.names}
    times = [0] * len(found)
    members: list[list[Try]] = []
    while len(members) < most:
        untried = any(tried < probe.needed for probe, tried in zip(found, times, strict=True))
        if len(members) >= least and not untried:
            break
        chosen: list[Try] = []
        taken: set[str] = set()
        for number in sorted(range(len(found)), key=lambda at: (times[at], dice.random())):
            probe = found[number]
            mine = probe.names | probe.maybe if alone else probe.names
            is_unsure = not mine and not probe.maybe <= sure
            if times[number] == len(probe.changes) or mine & taken or not (mine or is_unsure):
                continue
            one = Try(probe, probe.changes[times[number]])
            if not any(_overlap(one, other) for other in chosen):
                chosen.append(one)
                times[number] += 1
                taken |= mine
        if not chosen:
            break
        members.append(chosen)
    partly = {id(probe) for probe, tried in zip(found, times, strict=True) if tried < probe.needed}
    whole = (tuple(one for one in member if id(one.probe) not in partly) for member in members)
    return [member for member in whole if member]


def _lines_after(data: bytes, one: Try, member: Sequence[Try]) -> tuple[int, int]:
    """The lines of an assertion once all changes of its file are made."""
    probe, path = one.probe, one.probe.path
    edits = {edit for other in member if other.probe.path == path for edit in other.change.edits}
    added = {edit.end: edit.text.count("\n") - data.count(b"\n", edit.start, edit.end) for edit in edits}
    if not any(added.values()):
        return probe.line, probe.last
    starts = [0, *(at + 1 for at, sign in enumerate(data) if sign == _NEWLINE), len(data)]
    first, after = starts[probe.line - 1], starts[min(probe.last, len(starts) - 1)]
    grown = sum(lines for end, lines in added.items() if end <= first)
    within = sum(lines for end, lines in added.items() if first < end <= after)
    return probe.line + grown, probe.last + grown + within


_NEWLINE = ord("\n")


def changed_texts(texts: Mapping[str, bytes], member: Sequence[Try]) -> dict[str, bytes]:
    """Returns all texts, with the changes where there are any."""
    return {
        path: apply_edits(
            data, (edit for one in member if one.probe.path == path for edit in one.change.edits)
        )
        for path, data in texts.items()
    }


def opposites(member: Sequence[Try]) -> tuple[Try, ...]:
    """The opposites of the same assertions; an assertion without an opposite is left out."""
    return tuple(Try(one.probe, one.probe.opposite) for one in member if one.probe.opposite is not None)


def _overlap(one: Try, other: Try) -> bool:
    return one.probe.path == other.probe.path and any(
        mine.start < its.end and its.start < mine.end
        for mine in one.change.edits
        for its in other.change.edits
    )


def apply_edits(data: bytes, edits: Iterable[ByteEdit]) -> bytes:
    for edit in sorted(set(edits), key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.text.encode("utf-8", "surrogateescape") + data[edit.end :]
    return data
