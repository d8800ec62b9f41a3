"""Finds what a person changed in a state file, and merges it with the loop's text: a person's line wins.

Lines are matched by subject (the row of a table, the field of an entry), not by position: git would report
two changed neighbouring rows as a conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from verdigris.core.value import value
from verdigris.drivers.loop.history import BLOCKED, FAILING
from verdigris.drivers.loop.state_file.harness import read_harness
from verdigris.drivers.loop.state_file.text import (
    HARNESS,
    MACHINE,
    is_yes,
    read_machine_state,
    read_sections,
    section_title,
)
from verdigris.drivers.loop.state_file.view import HISTORY

_SECTION = re.compile(r"##[ \t]+(.+)")
_ENTRY = re.compile(r"###[ \t]+(?:(Iteration[ \t]+\d+)\b|(.+?)(?:[ \t]+·[ \t]+gen\b.*)?$)")
_ROW = re.compile(r"\|[ \t]*([^|]+?)[ \t]*\|")
_FIELD = re.compile(r"- \*\*([^*]+)\*\*:")
_LONGEST = 100
MANUAL = "manual"
"""The reason of a pause for which a person gave none."""
_OLDER = "it was there before the log: what it says holds"


class _Subject(NamedTuple):
    """What a line is about."""

    section: str
    entry: str
    name: str

    @property
    def place(self) -> tuple[str, str]:
        return self.section, self.entry

    @property
    def headings(self) -> tuple[_Subject, ...]:
        """Those of the section and of the entry that the line belongs to."""
        section = self._replace(entry="", name="##")
        return (section, self._replace(name="###")) if self.entry else (section,)


class _StateLine(NamedTuple):
    subject: _Subject
    text: str

    @property
    def words(self) -> str:
        return self.text.rstrip()


@value
class MergedState:
    text: str
    notes: tuple[str, ...] = ()
    """One for each line that both changed."""


def merge_state(base: str, theirs: str, ours: str) -> MergedState:
    """`base`: the text that the loop wrote last; `theirs`: the present one; `ours`: the loop's new one."""
    if theirs in (base, ours):
        return MergedState(ours)
    if ours == base:
        return MergedState(theirs)
    return _Merge(_read_lines(base), _read_lines(theirs), _read_lines(ours)).carry_out()


def _read_lines(text: str) -> list[_StateLine]:
    section = entry = ""
    found = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        words = line.rstrip()
        if heading := _SECTION.match(words):
            section, entry, name = section_title(heading[1]), "", "##"
        elif heading := _ENTRY.match(words):
            entry, name = heading[1] or heading[2], "###"
        elif row := _ROW.match(words):
            name = f"| {row[1]}"
        elif field := _FIELD.match(words):
            name = f"- {field[1]}"
        else:
            name = words
        found.append(_StateLine(_Subject(section, entry, name), line))
    return found


class _Side:
    """The changes that one side made to the lines of the base."""

    def __init__(self, base: Sequence[_StateLine], now: Sequence[_StateLine]) -> None:
        self.kept: dict[int, _StateLine] = {}
        self.added: dict[int, list[_StateLine]] = {}
        """Lines added before the line of the base with that number."""
        self.replaced: dict[int, range] = {}
        """By the same number, the lines of the base that the added ones replace."""
        self.headings = {one.subject for one in now if one.subject.name in {"##", "###"}}
        subjects = [one.subject for one in base], [one.subject for one in now]
        for kind, i1, i2, j1, j2 in SequenceMatcher(None, *subjects, autojunk=False).get_opcodes():
            if kind == "equal":
                self.kept |= dict(zip(range(i1, i2), now[j1:j2], strict=True))
            elif j2 > j1:
                self.added[i1] = list(now[j1:j2])
                self.replaced[i1] = range(i1, i2)
        self.new = {one.subject: one for lines in self.added.values() for one in lines if one.words}

    def has_left(self, subject: _Subject) -> bool:
        """Whether this side removed the section or the entry, with its heading."""
        return not self.headings.issuperset(subject.headings)


class _Merge:
    def __init__(self, base: list[_StateLine], theirs: list[_StateLine], ours: list[_StateLine]) -> None:
        self.base, self.theirs, self.ours = base, _Side(base, theirs), _Side(base, ours)
        self.known = {one.subject for one in base}
        self.notes: list[str] = []
        self.revived = self._find_revived()

    def carry_out(self) -> MergedState:
        lines: list[str] = []
        for number in range(len(self.base) + 1):
            lines += self._gap(number)
            if number < len(self.base):
                lines += self._line(number)
        ended = [line if line.endswith("\n") else f"{line}\n" for line in lines[:-1]]
        return MergedState("".join([*ended, *lines[-1:]]), tuple(self.notes))

    def _find_revived(self) -> set[tuple[str, str]]:
        """Entries that the loop collapsed although a person changed them meanwhile."""
        touched = {one.subject.place for lines in self.theirs.added.values() for one in lines}
        for number, line in enumerate(self.base):
            if number not in self.theirs.kept or self.theirs.kept[number].words != line.words:
                touched.add(line.subject.place)
        gone = {
            one.subject.place
            for one in self.base
            if one.subject.entry and self.ours.has_left(one.subject) and not self.theirs.has_left(one.subject)
        }
        for _, entry in sorted(gone & touched):
            self.notes.append(f"`{entry}` was changed by a person and stays whole; the loop had collapsed it")
        return gone & touched

    def _line(self, number: int) -> Iterator[str]:
        base, theirs, ours = self.base[number], self.theirs.kept.get(number), self.ours.kept.get(number)
        if base.subject.place in self.revived:
            ours = base
        if theirs is None:
            if ours is not None and ours.words != base.words:
                self._note(None, ours)
        elif ours is None:
            if theirs.words != base.words:
                yield theirs.text
        elif ours.words in (base.words, theirs.words):
            yield theirs.text
        elif theirs.words == base.words:
            yield ours.words + theirs.text[len(theirs.words) :]
        else:
            self._note(theirs, ours)
            yield theirs.text

    def _gap(self, number: int) -> Iterator[str]:
        theirs = self.theirs.added.get(number, [])
        ours = self._admit_lines(self.ours.added.get(number, []))
        replaced = (set(side.replaced.get(number, ())) for side in (self.theirs, self.ours))
        if ours and theirs and set.intersection(*replaced):
            for one in ours:
                if one.words:
                    self._note(theirs[0], one)
            ours = []
        before = self.base[number - 1].subject.place if number else ("", "")
        # Lines that go on with the entry before come first.
        for one in sorted((*theirs, *ours), key=lambda one: one.subject.place != before):
            yield one.text

    def _admit_lines(self, ours: Sequence[_StateLine]) -> list[_StateLine]:
        """Leaves out lines that a person wrote too, and lines of what a person removed."""
        found = []
        for one in ours:
            twin = self.theirs.new.get(one.subject)
            if one.words and twin is not None:
                if twin.words != one.words:
                    self._note(twin, one)
            elif self.known.intersection(one.subject.headings) - self.theirs.headings:
                if one.words:
                    self._note(None, one)
            else:
                found.append(one)
        return found if any(one.words for one in found) else []

    def _note(self, theirs: _StateLine | None, ours: _StateLine) -> None:
        said = f"`{_short(theirs)}` is a person's and stays" if theirs else "a person took this out"
        self.notes.append(f"{said}; the loop had `{_short(ours)}`")


def _short(line: _StateLine) -> str:
    return line.words if len(line.words) <= _LONGEST else f"{line.words[:_LONGEST]}…"


@value
class PersonEdits:
    """The edits that one reading found; an empty field was not changed."""

    paused: str = ""
    """The reason of a new pause."""
    resumed: bool = False
    completed: str = ""
    """The reason, if it was completed."""
    reopened: bool = False
    """It was completed and is open again."""
    statuses: tuple[tuple[str, str], ...] = ()
    """Entries of the harness that a person set to `failing` or `blocked`."""
    what: tuple[str, ...] = ()
    """A sentence for each edit, other rows and sections included."""


def read_edits(base: str, theirs: str) -> PersonEdits:
    """`base`: the text that the loop wrote last; empty if the file is older than the log."""
    if not theirs or base == theirs:
        return PersonEdits()
    before, now = read_machine_state(base), read_machine_state(theirs)
    return PersonEdits(
        paused=_reason_to_begin(before, now, "Paused", "Pause Reason"),
        resumed=_is_ended(before, now, "Paused"),
        completed=_reason_to_begin(before, now, "Completed", "Completed Reason"),
        reopened=_is_ended(before, now, "Completed"),
        statuses=tuple(_new_statuses(base, theirs)),
        what=tuple(_sentences(base, theirs)) if base else (_OLDER,),
    )


def _reason_to_begin(before: Mapping[str, str], now: Mapping[str, str], row: str, reason: str) -> str:
    """The reason, if the row is newly set or its reason changed; else empty."""
    if not is_yes(now.get(row, "")):
        return ""
    said = now.get(reason, "").strip()
    if is_yes(before.get(row, "")) and said == before.get(reason, "").strip():
        return ""
    stale = said == before.get(reason, "").strip()  # the reason of an earlier pause
    return MANUAL if stale or not said else said


def _is_ended(before: Mapping[str, str], now: Mapping[str, str], row: str) -> bool:
    """Whether the row was unset; a row that was removed does not count."""
    return is_yes(before.get(row, "")) and bool(now.get(row)) and not is_yes(now[row])


def _new_statuses(base: str, theirs: str) -> Iterator[tuple[str, str]]:
    before = {one.name: one.status for one in read_harness(base) if one.name}
    for one in read_harness(theirs):
        if one.name and one.status in {FAILING, BLOCKED} and before.get(one.name) != one.status:
            yield one.name, one.status


def _sentences(base: str, theirs: str) -> Iterator[str]:
    before, now = read_machine_state(base), read_machine_state(theirs)
    for row in dict.fromkeys((*before, *now)):
        if row not in now:
            yield f"took out the row {row}"
        elif before.get(row, "") != now[row]:
            yield f"{row}: {before.get(row) or 'nothing'} → {now[row] or 'nothing'}"
    for name, status in _new_statuses(base, theirs):
        yield f"{name} is {status}"
    sections, others = read_sections(base), read_sections(theirs)
    for title in dict.fromkeys((*sections, *others)):
        if title == MACHINE or sections.get(title, "").strip() == others.get(title, "").strip():
            continue
        known = {HARNESS: "the harness", HISTORY: "the history"}.get(title, f"the section {title}")
        verb = "took out" if title not in others else "added" if title not in sections else "changed"
        yield f"{verb} {known}"
