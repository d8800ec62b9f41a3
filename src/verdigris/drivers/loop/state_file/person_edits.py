"""Reads what a person changed in a state file, so that the loop can record it and act on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.drivers.loop.history import BLOCKED, FAILING
from verdigris.drivers.loop.state_file.harness import read_harness
from verdigris.drivers.loop.state_file.text import HARNESS, MACHINE, is_yes, read_machine_state, read_sections
from verdigris.drivers.loop.state_file.view import HISTORY, LESSONS, NOTHING_YET, PRIORITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANUAL = "manual"
"""Why it is paused, where a person gave no other reason."""
_OF_TARGET = "Target Metric"
_OLDER = "it was there before the log: what it says holds"


@value
class PersonEdits:
    """What one reading found; whatever is empty was not changed."""

    paused: str = ""
    """The reason of a new pause."""
    resumed: bool = False
    completed: str = ""
    """The reason."""
    reopened: bool = False
    """It was completed and is not any more."""
    target_metric: float | None = None
    priorities: str = ""
    statuses: tuple[tuple[str, str], ...] = ()
    """Entries of the harness by name that are `failing` or `blocked` now."""
    lessons: tuple[str, ...] = ()
    what: tuple[str, ...] = ()
    """All of it in sentences, and which other rows and sections changed."""


def read_edits(base: str, theirs: str) -> PersonEdits:
    """`base` is what the loop wrote last; empty: all that stands there is news, as in a file found there."""
    if not theirs or base == theirs:
        return PersonEdits()
    before, now = read_machine_state(base), read_machine_state(theirs)
    return PersonEdits(
        paused=_begun(before, now, "Paused", "Pause Reason"),
        resumed=_ended(before, now, "Paused"),
        completed=_begun(before, now, "Completed", "Completed Reason"),
        reopened=_ended(before, now, "Completed"),
        target_metric=_new_number(before, now, _OF_TARGET),
        priorities=_new_priorities(base, theirs),
        statuses=tuple(_new_statuses(base, theirs)),
        lessons=tuple(_new_lessons(base, theirs)),
        what=tuple(_sentences(base, theirs))
        if base
        else ("it was there before the log: what it says holds",),
    )


def _begun(before: Mapping[str, str], now: Mapping[str, str], row: str, reason: str) -> str:
    """Why, where the row says yes and did not, or says yes for another reason."""
    if not is_yes(now.get(row, "")):
        return ""
    said = now.get(reason, "").strip()
    if is_yes(before.get(row, "")) and said == before.get(reason, "").strip():
        return ""
    stale = said == before.get(reason, "").strip()  # the reason of an earlier pause
    return MANUAL if stale or not said else said


def _ended(before: Mapping[str, str], now: Mapping[str, str], row: str) -> bool:
    """A row that is missing says nothing: only another word ends it."""
    return is_yes(before.get(row, "")) and bool(now.get(row)) and not is_yes(now[row])


def _new_number(before: Mapping[str, str], now: Mapping[str, str], row: str) -> float | None:
    said = now.get(row, "")
    if said == before.get(row, ""):
        return None
    try:
        return float(said.strip(" `*"))
    except ValueError:
        return None


def _new_priorities(base: str, theirs: str) -> str:
    before, now = (read_sections(text).get(PRIORITIES, "").strip() for text in (base, theirs))
    return "" if now in {before, NOTHING_YET[PRIORITIES].strip()} else now


def _new_statuses(base: str, theirs: str) -> Iterator[tuple[str, str]]:
    before = {one.name: one.status for one in read_harness(base) if one.name}
    for one in read_harness(theirs):
        if one.name and one.status in {FAILING, BLOCKED} and before.get(one.name) != one.status:
            yield one.name, one.status


def _new_lessons(base: str, theirs: str) -> Iterator[str]:
    before = frozenset(_items(base))
    for one in _items(theirs):
        if one not in before:
            yield one


def _items(text: str) -> Iterator[str]:
    """The list of lessons, each with the lines that go on below it."""
    open_: list[str] = []
    for line in (*read_sections(text).get(LESSONS, "").splitlines(), ""):
        starts = line.startswith(("- ", "* "))
        if (starts or not line.strip()) and open_:
            yield " ".join(open_)
            open_ = []
        if starts or (open_ and line.strip()):
            open_.append(line.removeprefix("- ").removeprefix("* ").strip())


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
