"""The state file of a program: a view of the log that people may edit.

It is read and changed as text. Whatever is not ours to change (rows, statuses, sections, words) stays byte
for byte where it is.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MACHINE, HARNESS = "machine state", "test harness"
HEADINGS = {
    MACHINE: "⚙️ Machine State",
    "program info": "📋 Program Info",
    "current priorities": "🎯 Current Priorities",
    "lessons learned": "📚 Lessons Learned",
    "foreclosed avenues": "🚧 Foreclosed Avenues",
    "future directions": "🔭 Future Directions",
    "iteration history": "📊 Iteration History",
    HARNESS: "✅ Test Harness",
}
"""In the order of a new file."""
EMPTY = "—"
_TABLE = "| Field | Value |\n|-------|-------|\n"
_ROW = re.compile(
    r"^\|[ \t]*(?P<field>[^|\n]+?)[ \t]*\|[ \t]*(?P<value>[^|\n]*?)[ \t]*\|[ \t]*$", re.MULTILINE
)
_HEADING = re.compile(r"^##[ \t]+(?P<title>.+?)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^###[ \t]+", re.MULTILINE)
_TITLE = re.compile(r"###[ \t]+(?P<name>.+?)[ \t]+·[ \t]+gen[ \t]+(?P<gen>\d+)[ \t]*\n")
_FIELD = re.compile(r"^- \*\*(?P<name>[^*\n]+)\*\*:[ \t]*(?P<value>[^\n]*)\n", re.MULTILINE)
_SIGNS = {"passing": "✅ passing", "failing": "❌ failing", "blocked": "🚧 blocked"}
_MANAGED = "> Kept by `tdd loop`: one entry for each pinned behaviour, the newest first.\n\n"
RANGE = "range"


# -- sections ---------------------------------------------------------------------------------


def read_sections(text: str) -> Mapping[str, str]:
    """By title in small letters without its sign, the text below each heading of level two."""
    return {title: text[start:end] for title, start, end in _sections(text)}


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    heads = list(_HEADING.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        yield section_title(head["title"]), head.end() + 1, end


def section_title(heading: str) -> str:
    """Without its sign, with or without the sign's variation selector, in small letters."""
    return re.sub(r"^[^\w]+", "", heading).strip().casefold()


def with_section(text: str, title: str, body: str) -> str:
    """The same with another text below a heading; a heading that is missing is added at the end."""
    for found, start, end in _sections(text):
        if found == title:
            return text if text[start:end] == body else f"{text[:start]}{body}{text[end:]}"
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}## {HEADINGS.get(title, title)}\n\n{body}"


# -- machine state ----------------------------------------------------------------------------


def read_machine_state(text: str) -> Mapping[str, str]:
    """By field as it is written; a dash stands for nothing."""
    rows = {found["field"]: found["value"] for found in _rows(read_sections(text).get(MACHINE, ""))}
    return {name: "" if said == EMPTY else said for name, said in rows.items()}


def _rows(body: str) -> Iterator[re.Match[str]]:
    for found in _ROW.finditer(body):
        if found["field"] != "Field" and set(found["field"]) - set("-: "):
            yield found


def with_machine_state(text: str, changes: Mapping[str, str]) -> str:
    """Known rows change in place, new ones come last, all others stay."""
    if not changes:
        return text
    body = read_sections(text).get(MACHINE, _TABLE)
    rows = list(_rows(body))
    known = {found["field"] for found in rows}
    end = rows[-1].end() if rows else (body.rfind("|\n") + 1 if "|\n" in body else len(body))
    new = "".join(f"\n| {name} | {said or EMPTY} |" for name, said in changes.items() if name not in known)
    body = f"{body[:end]}{new}{body[end:]}"
    for found in reversed(rows):
        if found["field"] in changes:
            said = changes[found["field"]] or EMPTY
            body = f"{body[: found.start('value')]}{said}{body[found.end('value') :]}"
    return with_section(text, MACHINE, body)


# -- harness ----------------------------------------------------------------------------------


@value
class HarnessEntry:
    """One pinned behaviour, or a line that stands for several."""

    text: str
    """As it stands in the file, from its heading to the next."""
    name: str = ""
    gen: int = 0
    status: str = RANGE
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def made(cls, name: str, gen: int, status: str, fields: Mapping[str, str]) -> HarnessEntry:
        lines = {"Status": _SIGNS[status], **fields}
        body = "".join(f"- **{key}**: {said}\n" for key, said in lines.items())
        return _read_entry(f"### {name}  ·  gen {gen}\n\n{body}\n---\n\n")

    def with_status(self, status: str, changes: Mapping[str, str] | None = None) -> HarnessEntry:
        text = self.text
        for key, said in {"Status": _SIGNS[status], **(changes or {})}.items():
            text = _with_field(text, key, said)
        return _read_entry(text)


def _with_field(text: str, key: str, said: str) -> str:
    found = [one for one in _FIELD.finditer(text) if one["name"] == key]
    if found:
        return f"{text[: found[0].start('value')]}{said}{text[found[0].end('value') :]}"
    last = max((one.end() for one in _FIELD.finditer(text)), default=len(text))
    return f"{text[:last]}- **{key}**: {said}\n{text[last:]}"


def read_harness(text: str) -> tuple[HarnessEntry, ...]:
    """Newest first, as in the file."""
    body = read_sections(text).get(HARNESS, "")
    starts = [found.start() for found in _ENTRY.finditer(body)]
    ends = [*starts[1:], len(body)]
    return tuple(_read_entry(body[start:end]) for start, end in zip(starts, ends, strict=False))


def _read_entry(text: str) -> HarnessEntry:
    title = _TITLE.match(text)
    if title is None:
        return HarnessEntry(text)
    fields = {found["name"]: found["value"].strip() for found in _FIELD.finditer(text)}
    said = fields.get("Status", "").casefold()
    status = next((one for one in _SIGNS if one in said), said)
    return HarnessEntry(text, title["name"], int(title["gen"]), status, fields)


def with_harness(text: str, entries: Sequence[HarnessEntry]) -> str:
    body = read_sections(text).get(HARNESS, _MANAGED)
    first = _ENTRY.search(body)
    head = body[: first.start()] if first else body
    return with_section(text, HARNESS, head + "".join(one.text for one in entries))


def collapse_harness(entries: Sequence[HarnessEntry], most: int) -> tuple[HarnessEntry, ...]:
    """At most so many whole entries: the oldest that pass become one line, which names them."""
    whole = [one for one in entries if one.status != RANGE]
    surplus = len(whole) - most
    oldest = [one for one in reversed(whole) if one.status == "passing"][: max(0, surplus)]
    if not oldest:
        return tuple(entries)
    names = ", ".join(one.name for one in reversed(oldest))
    first, last = min(one.gen for one in oldest), max(one.gen for one in oldest)
    said = f"### Tests {first}–{last} — ✅ passing ({len(oldest)} batch additions): {names}\n"
    kept = tuple(one for one in entries if one not in oldest)
    return (*(_ended(one) for one in kept), replace(kept[-1], text=said, name="", status=RANGE, fields={}))


def _ended(entry: HarnessEntry) -> HarnessEntry:
    """With an empty line at its end, so that another can follow."""
    return entry if entry.text.endswith("\n\n") else replace(entry, text=f"{entry.text.rstrip()}\n\n")
