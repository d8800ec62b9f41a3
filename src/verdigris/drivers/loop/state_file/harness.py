"""The harness of a program, its list of pinned behaviours: in the state file, the log and the suite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from verdigris.core.report import Status
from verdigris.core.value import value
from verdigris.drivers.loop.history import BLOCKED, FAILING, PASSING, Behaviour
from verdigris.drivers.loop.state_file.text import (
    HARNESS,
    LONGEST_RANGE,
    end_entry,
    one_line,
    read_fields,
    read_sections,
    split_entries,
    with_field,
    with_section,
)

MOST = 100
"""How many entries the file shows in full."""
RANGE = "range"
_TITLE = re.compile(r"###[ \t]+(?P<name>.+?)[ \t]+·[ \t]+gen[ \t]+(?P<gen>\d+)[ \t]*(?:\n|\Z)")
_RANGE = re.compile(r"### Tests (\d+)–(\d+) — ✅ passing \((\d+) batch additions\): ([^\n]*)\n+\Z")
_SIGNS = {PASSING: "✅ passing", FAILING: "❌ failing", BLOCKED: "🚧 blocked"}
_MANAGED = "> Kept by `tdd loop`: one entry for each pinned behaviour, the newest first.\n\n"


@value
class HarnessEntry:
    """A pinned behaviour, or a line that lists several."""

    text: str
    """Its text in the file, from its heading to the next."""
    name: str = ""
    gen: int = 0
    status: str = RANGE
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, name: str, gen: int, status: str, fields: Mapping[str, str]) -> HarnessEntry:
        lines = {"Status": _SIGNS[status], **fields}
        body = "".join(f"- **{key}**: {one_line(said)}\n" for key, said in lines.items())
        return read_entry(f"### {one_line(name)}  ·  gen {gen}\n\n{body}\n---\n\n")

    def with_fields(self, changes: Mapping[str, str]) -> HarnessEntry:
        text = self.text
        for key, said in changes.items():
            text = with_field(text, key, one_line(said))
        return read_entry(text)

    def with_status(self, status: str, changes: Mapping[str, str] | None = None) -> HarnessEntry:
        return self.with_fields({"Status": _SIGNS[status], **(changes or {})})


def read_harness(text: str) -> tuple[HarnessEntry, ...]:
    """Newest first, as in the file."""
    return tuple(read_entry(one) for one in split_entries(read_sections(text).get(HARNESS, ""))[1])


def read_entry(text: str) -> HarnessEntry:
    title = _TITLE.match(text)
    if title is None:
        return HarnessEntry(text)
    fields = read_fields(text)
    said = fields.get("Status", "").casefold()
    status = next((one for one in _SIGNS if one in said), said)
    return HarnessEntry(text, title["name"], int(title["gen"]), status, fields)


def with_harness(text: str, entries: Sequence[HarnessEntry]) -> str:
    head, _ = split_entries(read_sections(text).get(HARNESS, _MANAGED))
    return with_section(text, HARNESS, head + "".join(one.text for one in entries))


def collapse_harness(entries: Sequence[HarnessEntry], most: int) -> tuple[HarnessEntry, ...]:
    """Keeps at most so many entries in full: the oldest passing ones become one line with their names."""
    whole = [one for one in entries if one.status != RANGE]
    surplus = max(0, len(whole) - most)
    oldest = [one for one in reversed(whole) if one.status == PASSING][:surplus]
    if not oldest:
        return tuple(entries)
    kept = [replace(one, text=end_entry(one.text)) for one in entries if one not in oldest]
    at = max((n for n, one in enumerate(kept, 1) if one.status != RANGE), default=0)
    newest = kept[at] if at < len(kept) else None
    names = [one.name for one in reversed(oldest)]
    gens = [one.gen for one in oldest]
    if newest and (grown := _grow_range(newest.text, gens, names)):
        kept[at] = HarnessEntry(grown)
    else:
        kept.insert(at, HarnessEntry(_range(gens, len(names), ", ".join(names))))
    return tuple(kept)


def _range(gens: Sequence[int], count: int, names: str) -> str:
    return f"### Tests {min(gens)}–{max(gens)} — ✅ passing ({count} batch additions): {names}\n\n"


def _grow_range(text: str, gens: Sequence[int], names: Sequence[str]) -> str:
    """Adds names to a line that lists several; empty if it would be too long, or is not ours."""
    found = _RANGE.match(text)
    if not found or len(text) + sum(map(len, names)) > LONGEST_RANGE:
        return ""
    count = int(found[3]) + len(names)
    return _range([int(found[1]), int(found[2]), *gens], count, ", ".join([*names, found[4]]))


# -- from the log -----------------------------------------------------------------------------


def update_harness(text: str, harness: Sequence[Behaviour], known: int) -> str:
    """Writes the log's entries into the file: known ones in place, new ones first.

    `known` is the last iteration in the file. An older passing entry that is not there was removed by a
    person or collapsed, and stays out.
    """
    is_new = HARNESS not in read_sections(text)
    entries = list(read_harness(text))
    for one in harness:
        at = _find(entries, one)
        if at is not None:
            entries[at] = _update_entry(entries[at], one)
        elif is_new or one.added > known or one.status != PASSING:
            entries.insert(0, HarnessEntry.make(one.name, one.added, one.status, _fields(one)))
    return with_harness(text, entries) if entries else text


def _find(entries: Sequence[HarnessEntry], one: Behaviour) -> int | None:
    """Finds it by the name of a test; if the test was renamed, by iteration and target."""
    names = {one.name, *one.tests}
    for at, entry in enumerate(entries):
        if entry.name in names:
            return at
    for at, entry in enumerate(entries):
        if one.revisions and entry.gen == one.added and entry.fields.get("Target") == one_line(one.target):
            return at
    return None


def _update_entry(entry: HarnessEntry, one: Behaviour) -> HarnessEntry:
    wanted = {key: one_line(said) for key, said in _fields(one).items()}
    ours = ("Made green iteration", "Blocked reason") if entry.status != one.status else ()
    changes = {
        key: wanted[key] for key in ours if wanted.get(key, entry.fields.get(key)) != entry.fields.get(key)
    }
    if one.revisions and wanted["Notes"] != entry.fields.get("Notes"):
        changes["Notes"] = wanted["Notes"]
    if entry.name not in one.tests and one.tests:
        renamed = entry.text.replace(entry.name, one_line(one.name), 1)
        entry = read_entry(renamed)
    if entry.status != one.status:
        return entry.with_status(one.status, changes)
    return entry.with_fields(changes) if changes else entry


def _fields(one: Behaviour) -> dict[str, str]:
    revised = "".join(f"; test-revised: {why}" for why in one.revisions)
    found = {"Target": one.target, "Spec source": one.source, "Added iteration": str(one.added)}
    if one.made and one.status == PASSING:
        found["Made green iteration"] = str(one.made)
    if one.blocked and one.status == BLOCKED:
        found["Blocked reason"] = one.blocked
    return {**found, "Notes": f"{one.behaviour}{revised}"}


# -- against the suite ------------------------------------------------------------------------


def reconcile(
    harness: Sequence[Behaviour], suite: Mapping[str, Status], iteration: int
) -> tuple[tuple[Behaviour, ...], tuple[str, ...]]:
    """The entries with the status that the suite shows, and a note for each that differed."""
    reconciled = [_reconcile_entry(behaviour, suite, iteration) for behaviour in harness]
    return tuple(entry for entry, _ in reconciled), tuple(note for _, note in reconciled if note)


def _reconcile_entry(one: Behaviour, suite: Mapping[str, Status], iteration: int) -> tuple[Behaviour, str]:
    ends = {test: _end(test, suite) for test in one.tests}
    wrong = {test: end for test, end in ends.items() if end is not Status.PASS}
    if not ends:
        return one, ""
    if not wrong:
        if one.status == PASSING:
            return one, ""
        said = f"{one.name} passes in the suite: its entry said {one.status} and says passing now"
        return replace(one, status=PASSING, made=iteration, blocked=""), said
    test, end = next(iter(wrong.items()))
    what = f"{test} {_ENDS.get(end, 'fails')}"
    if one.status == PASSING:
        return replace(one, status=FAILING, made=0), f"{what}: its entry said passing and says failing now"
    if end is None:
        return one, f"{what}: its entry stays {one.status}; put the test back"
    return one, ""


_ENDS = {None: "is not in the suite", Status.SKIP: "is skipped", Status.ERROR: "ends with an error"}


def _end(test: str, suite: Mapping[str, Status]) -> Status | None:
    """The status of a test; one with several cases passes only if each of them does."""
    found = [end for name, end in suite.items() if name == test or name.startswith(f"{test}[")]
    if not found:
        return None
    return next((end for end in found if end is not Status.PASS), Status.PASS)
