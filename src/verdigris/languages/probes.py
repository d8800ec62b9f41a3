"""Assertions that can be changed so that honest code fails them, and which are changed in which text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random


@value
class ByteEdit:
    start: int
    """In bytes."""
    end: int
    text: str


@value
class ProbeChange:
    edits: tuple[ByteEdit, ...]
    plausible: bool = True
    """Not where values are compared, and it is only the opposite that is asserted."""


@value
class Probe:
    """One assertion, with ways to change it."""

    path: str
    line: int
    what: str
    changes: tuple[ProbeChange, ...]
    names: frozenset[str]
    """Tests, by their names without the file, that surely come to it and must fail."""
    maybe: frozenset[str] = frozenset()
    """Those that a condition or a callback may keep from it."""
    opposite: ProbeChange | None = None
    """What surely builds where another value may not."""

    @property
    def at(self) -> str:
        return f"{self.path}:{self.line}: `{self.what}`"


@value
class Try:
    """One assertion as one text has it."""

    probe: Probe
    change: ProbeChange


def draw_members(found: Sequence[Probe], dice: Random, most: int, least: int) -> list[tuple[Try, ...]]:
    """Which assertions are others in each changed text: one of every test, and no change comes twice.

    Of a test none of whose assertions surely runs, all are others at once: one of them must be seen to fail.
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
    """All of them, those without a change too."""
    return {
        path: apply_edits(
            data, (edit for one in member if one.probe.path == path for edit in one.change.edits)
        )
        for path, data in texts.items()
    }


def opposites(member: Sequence[Try]) -> tuple[Try, ...]:
    """The same assertions, each as its opposite where it has one."""
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
