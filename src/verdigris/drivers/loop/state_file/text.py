"""Reads and changes the text of a state file: its sections, entries, fields and the table of its state.

Everything that is not changed stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
MOST_BYTES = 30_720
"""The size that a state file is kept below."""
TABLE = "| Field | Value |\n|-------|-------|\n"
_ROW = re.compile(
    r"^\|[ \t]*(?P<field>[^|\n]+?)[ \t]*\|[ \t]*(?P<value>[^|\n]*?)[ \t]*\|[ \t]*$", re.MULTILINE
)
_HEADING = re.compile(r"^##[ \t]+(?P<title>.+?)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^###[ \t]+", re.MULTILINE)
_FIELD = re.compile(r"^- \*\*(?P<name>[^*\n]+)\*\*:[ \t]*(?P<value>[^\n]*)(?:\n|\Z)", re.MULTILINE)
LONGEST_RANGE = 600
"""Characters of one line that stands for several entries; the next begins another."""


# -- sections ---------------------------------------------------------------------------------


def read_sections(text: str) -> Mapping[str, str]:
    """Maps the title of each heading of level two, in small letters without its sign, to its text."""
    found: dict[str, str] = {}
    for title, start, end in _sections(text):
        found.setdefault(title, text[start:end])
    return found


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    heads = list(_HEADING.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        yield section_title(head["title"]), head.end() + 1, end


def section_title(heading: str) -> str:
    """The title in small letters, without its sign and that sign's variation selector."""
    return re.sub(r"^[^\w]+", "", heading).strip().casefold()


def with_section(text: str, title: str, body: str) -> str:
    """Replaces the text below a heading; a missing heading is added at the end."""
    for found, start, end in _sections(text):
        if found == title:
            if text[start:end] == body:
                return text
            head, tail = text[:start], text[end:]
            return f"{head}{_gap(head, 1)}{body}{_gap(body, 1) if tail else ''}{tail}"
    return f"{text}{_gap(text, 2)}## {HEADINGS.get(title, title)}\n\n{body.lstrip()}"


def _gap(text: str, lines: int) -> str:
    """The line ends that a text lacks to end with so many; none if it is empty."""
    there = len(text) - len(text.rstrip("\n"))
    return "\n" * max(0, lines - there) if text else ""


def split_entries(body: str) -> tuple[str, tuple[str, ...]]:
    """The text before the first entry of a section, and the entries, each from its heading to the next."""
    starts = [found.start() for found in _ENTRY.finditer(body)]
    ends = [*starts[1:], len(body)]
    head = body[: starts[0]] if starts else body
    return head, tuple(body[start:end] for start, end in zip(starts, ends, strict=False))


def end_entry(text: str) -> str:
    """Ends an entry with an empty line, so that another can follow."""
    return text if text.endswith("\n\n") else f"{text.rstrip()}\n\n"


def read_fields(entry: str) -> Mapping[str, str]:
    return {found["name"]: found["value"].strip() for found in _FIELD.finditer(entry)}


def with_field(entry: str, key: str, said: str) -> str:
    found = [one for one in _FIELD.finditer(entry) if one["name"] == key]
    if found:
        return f"{entry[: found[0].start('value')]}{said}{entry[found[0].end('value') :]}"
    last = max((one.end() for one in _FIELD.finditer(entry)), default=len(entry))
    gap = "" if entry[:last].endswith("\n") else "\n"
    return f"{entry[:last]}{gap}- **{key}**: {said}\n{entry[last:]}"


def one_line(text: str) -> str:
    """Joins the lines of a text, for a field or a heading."""
    return " ".join(text.split())


# -- machine state ----------------------------------------------------------------------------


def read_machine_state(text: str) -> Mapping[str, str]:
    """The rows of the table; a dash is read as empty."""
    rows = {found["field"]: found["value"] for found in _rows(read_sections(text).get(MACHINE, ""))}
    return {name: "" if said == EMPTY else said for name, said in rows.items()}


def is_yes(said: str) -> bool:
    return said.strip(" `*_").casefold() in {"true", "yes", "1"}


def _rows(body: str) -> Iterator[re.Match[str]]:
    for found in _ROW.finditer(body):
        if found["field"] != "Field" and set(found["field"]) - set("-: "):
            yield found


def with_machine_state(text: str, changes: Mapping[str, str]) -> str:
    """Changes known rows in place, and adds new ones at the end."""
    if not changes:
        return text
    body = read_sections(text).get(MACHINE, "\n")
    if not (lines := list(_ROW.finditer(body))):
        body = f"{body}{_gap(body, 1)}{TABLE}"
        lines = list(_ROW.finditer(body))
    rows = list(_rows(body))
    known = {found["field"] for found in rows}
    end = lines[-1].end()
    new = "".join(f"\n| {name} | {_cell(said)} |" for name, said in changes.items() if name not in known)
    body = f"{body[:end]}{new}{body[end:] or chr(10)}"
    for found in reversed(rows):
        if found["field"] in changes:
            said = _cell(changes[found["field"]])
            body = f"{body[: found.start('value')]}{said}{body[found.end('value') :]}"
    return with_section(text, MACHINE, body)


def _cell(said: str) -> str:
    """A bar or the end of a line would end the cell."""
    return one_line(said).replace("|", "¦") or EMPTY
