"""Probes: assertions, with changes that honest code fails; and which of them are changed in which text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

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
    plausible: bool = True
    """False if the assertion compares values and this change only asserts the opposite."""


@value
class Probe:
    """One assertion, with the changes that can be made to it."""

    path: str
    line: int
    what: str
    changes: tuple[ProbeChange, ...]
    names: frozenset[str]
    """Names, without the file, of the tests that certainly reach the assertion and so must fail."""
    maybe: frozenset[str] = frozenset()
    """Names of the tests that may not reach it, because of a condition or a callback."""
    opposite: ProbeChange | None = None
    """The opposite assertion: it compiles even if another value does not."""

    @property
    def at(self) -> str:
        return f"{self.path}:{self.line}: `{self.what}`"


@value
class Try:
    """One assertion with the change that one text makes to it."""

    probe: Probe
    change: ProbeChange


def draw_members(found: Sequence[Probe], dice: Random, most: int, least: int) -> list[tuple[Try, ...]]:
    """Draws the changes of each text: one assertion of every test, and no change twice.

    If no assertion of a test is certain to run, all of them are changed at once: one of them must fail.
    """
    sure = {(probe.path, name) for probe in found for name in probe.names}
    times = [0] * len(found)
    members: list[tuple[Try, ...]] = []
    while len(members) < most and (len(members) < least or 0 in times):
        chosen: list[Try] = []
        taken: set[tuple[str, str]] = set()
        for number in sorted(range(len(found)), key=lambda at: (times[at], dice.random())):
            probe = found[number]
            mine = {(probe.path, name) for name in probe.names}
            alone = not mine and any((probe.path, name) not in sure for name in probe.maybe)
            if times[number] == len(probe.changes) or mine & taken or not (mine or alone):
                continue
            one = Try(probe, probe.changes[times[number]])
            if not any(_overlap(one, other) for other in chosen):
                chosen.append(one)
                times[number] += 1
                taken |= mine
        if not chosen:
            break
        members.append(tuple(chosen))
    return members


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
