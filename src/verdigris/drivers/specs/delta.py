"""The changes between two versions of a spec: reads a delta, applies it, and makes one from two texts.

Sections are OpenSpec's: `## ADDED|MODIFIED|REMOVED|RENAMED Requirements`. A MODIFIED block is the whole
requirement as it shall be. Ours shows the old one too, in a fence below `**BEFORE**`; then what follows
`**AFTER**` counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from verdigris.core.value import value
from verdigris.drivers.specs.markdown import MarkdownPage, list_items, read_page, split_lines, strip_emphasis
from verdigris.drivers.specs.spec import Scenario, Spec, read_spec, requirement_name, slug

Operation = Literal["added", "modified", "removed", "renamed"]
Fate = Literal["changed", "removed", "renamed"]
OPERATIONS: tuple[Operation, ...] = ("added", "modified", "removed", "renamed")
_SECTION = re.compile(r"(added|modified|removed|renamed)\s+requirements?", re.IGNORECASE)
_NAMED = re.compile(r"#*\s*requirement\s*[:\uff1a]\s*(.+)", re.IGNORECASE)
_RENAME = re.compile(r"(from|to)\s*[:\uff1a]\s*(.+)", re.IGNORECASE)
_AFTER = re.compile(r"\*\*after\*\*:?|\*\*after:\*\*", re.IGNORECASE)
_DEEPEST = 6
_LEVEL = 3
"""The level of a requirement's heading in a delta."""


@value
class DeltaEntry:
    """One requirement that a delta adds, changes, takes away or renames."""

    operation: Operation
    name: str
    line: int
    to: str = ""
    """The new name of a renamed requirement; empty if none is given."""
    body: tuple[str, ...] = ()
    """The lines below its heading, if it is added or changed."""


@value
class Requirement:
    """A requirement of a whole spec, with the lines that belong to it."""

    name: str
    first: int
    """The line of its heading."""
    last: int
    level: int
    body: tuple[str, ...]


@value
class StaleScenario:
    """A scenario whose tests no longer prove what the spec says."""

    scenario: Scenario
    fate: Fate
    to: str = ""
    """The id of the scenario that replaces it."""


def is_delta(text: str) -> bool:
    return any(True for _ in _sections(read_page(text)))


def read_delta(text: str) -> tuple[DeltaEntry, ...]:
    """Reads entries in the order of the text; a spec that is no delta has none."""
    page, raw = read_page(text), split_lines(text)
    entries: list[DeltaEntry] = []
    for operation, start, end in _sections(page):
        lines = page.lines[start:end]
        if operation == "renamed":
            entries += _read_renames(page, start, end)
            continue
        heads = [line for line in lines if 0 < line.level <= _LEVEL]
        for line in heads:
            if name := _NAMED.fullmatch(line.title):
                below = (h.number - 1 for h in heads if h.number > line.number)
                last = next(below, lines[-1].number)
                body = _after(raw[line.number : last]) if operation != "removed" else ()
                entries.append(DeltaEntry(operation, name[1].strip(), line.number, body=body))
        if operation == "removed":
            items = ((item.first, _NAMED.fullmatch(strip_emphasis(item.text))) for item in list_items(lines))
            entries += [DeltaEntry(operation, name[1].strip(" `"), at) for at, name in items if name]
    return tuple(entries)


def unread_headings(text: str) -> tuple[int, ...]:
    """Returns the lines of headings that name no requirement, though they are where one belongs."""
    page = read_page(text)
    lines = (line for _, start, end in _sections(page) for line in page.lines[start:end])
    return tuple(line.number for line in lines if line.level == _LEVEL and not _NAMED.fullmatch(line.title))


def _sections(page: MarkdownPage) -> Iterator[tuple[Operation, int, int]]:
    heads = [n for n, line in enumerate(page.lines) if 0 < line.level < _LEVEL]
    for at in heads:
        if match := _SECTION.fullmatch(page.lines[at].title):
            end = next((n for n in heads if n > at), len(page.lines))
            yield next(o for o in OPERATIONS if o == match[1].casefold()), at + 1, end


def _read_renames(page: MarkdownPage, start: int, end: int) -> Iterator[DeltaEntry]:
    old, at = "", 0
    for item in list_items(page.lines[start:end]):
        for number, text in enumerate(item.text.split("\n"), item.first):
            match = _RENAME.fullmatch(text.lstrip("-*+ ").strip())
            if not match:
                continue
            named = _NAMED.fullmatch(strip_emphasis(match[2]))
            name = (named[1] if named else strip_emphasis(match[2])).strip(" `")
            if match[1].casefold() == "from":
                if old:
                    yield DeltaEntry("renamed", old, at)
                old, at = name, number
            else:
                yield DeltaEntry("renamed", old, at or number, to=name)
                old, at = "", 0
    if old:
        yield DeltaEntry("renamed", old, at)


def _after(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the lines below `**AFTER**`, or all without that line; empty lines around are dropped."""
    at = next((n for n, line in enumerate(lines, 1) if _AFTER.fullmatch(line.strip())), 0)
    return _trim(lines[at:])


def _trim(lines: Sequence[str]) -> tuple[str, ...]:
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return tuple(kept)


def requirements(spec: Spec, text: str) -> tuple[Requirement, ...]:
    """Returns headings `Requirement: NAME`, and headings with scenarios below them, in any format."""
    page, raw = read_page(text), split_lines(text)
    heads = [line for line in page.lines if line.level]
    above = {_line_above(s, page) for s in spec.scenarios}
    named = [
        line for line in heads if line.number in above or (_NAMED.match(line.title) and line.level <= _LEVEL)
    ]
    listed = []
    for line in named:
        ends = (h.number for h in heads if h.number > line.number and (h.level <= line.level or h in named))
        last = next(ends, len(raw) + 1) - 1
        name = requirement_name(line.title)
        listed.append(Requirement(name, line.number, last, line.level, _trim(raw[line.number : last])))
    return tuple(listed)


def _line_above(scenario: Scenario, page: MarkdownPage) -> int:
    lines = (line for line in reversed(page.lines) if line.level and line.number < scenario.line)
    named = (line.number for line in lines if requirement_name(line.title) == scenario.requirement)
    return next(named, 0)


def apply_delta(base: str, spec: Spec, delta: Sequence[DeltaEntry]) -> str:
    """Returns the text that a delta makes of a spec: RENAMED → REMOVED → MODIFIED → ADDED.

    Entries without a target are left out; `lint_spec` reports them. Bytes outside the requirements stay.
    """
    lines = split_lines(base)
    existing = requirements(spec, base)
    to = {e.name: e.to for e in delta if e.operation == "renamed" and e.to}
    removed = {e.name for e in delta if e.operation == "removed"}
    modified = {e.name: e.body for e in delta if e.operation == "modified"}
    end = existing[-1].last if existing else len(lines)
    added = [line for e in delta if e.operation == "added" for line in _block(e.name, e.body)]
    lines[end:end] = ["", *added] if added and end and lines[end - 1].strip() else added
    for requirement in reversed(existing):
        name = to.get(requirement.name, requirement.name)
        if name in removed:
            del lines[requirement.first - 1 : requirement.last]
            continue
        if name in modified:
            body = _shift_headings(modified[name], requirement.level - _LEVEL)
            lines[requirement.first : requirement.last] = ["", *body, ""]
        if name != requirement.name:
            lines[requirement.first - 1] = lines[requirement.first - 1].replace(requirement.name, name)
    ending = "\r\n" if "\r\n" in base else "\n"
    return ("\ufeff" if base.startswith("\ufeff") else "") + ending.join(lines)


def _block(name: str, body: Sequence[str]) -> list[str]:
    return [f"### Requirement: {name}", "", *body, ""]


def _shift_headings(lines: Sequence[str], by: int) -> list[str]:
    """Changes the level of headings outside of fences, within one to six `#`."""
    if not by:
        return [*lines]
    shifted = ["", *lines]  # an empty first line, so that nothing is read as front matter
    for line in read_page("\n".join(shifted)).lines:
        if line.level:
            signs = "#" * min(_DEEPEST, max(1, line.level + by))
            shifted[line.number - 1] = f"{signs} {line.text.lstrip(' #').lstrip()}"
    return shifted[1:]


def make_delta(old: tuple[Spec, str], new: tuple[Spec, str]) -> tuple[DeltaEntry, ...]:
    """Returns the entries from the old text to the new; the same scenarios under a new name are a rename."""
    before = {r.name: r for r in requirements(*old)}
    after = {r.name: r for r in requirements(*new)}
    gone = [r for name, r in before.items() if name not in after]
    fresh = [r for name, r in after.items() if name not in before]
    renamed: dict[str, Requirement] = {}
    for requirement in fresh:
        same = next(
            (o for o in gone if _is_same(o, requirement, old[0], new[0]) and o not in renamed.values()), None
        )
        if same is not None:
            renamed[requirement.name] = same
    entries = [_entry("added", r) for r in fresh if r.name not in renamed]
    for name, requirement in after.items():
        was = renamed.get(name) or before.get(name)
        if was is not None and level_body(was) != level_body(requirement):
            entries.append(_entry("modified", requirement))
    entries += [DeltaEntry("removed", r.name, r.first) for r in gone if r not in renamed.values()]
    entries += [DeltaEntry("renamed", was.name, was.first, to=name) for name, was in renamed.items()]
    return tuple(entries)


def _is_same(old: Requirement, new: Requirement, before: Spec, after: Spec) -> bool:
    if level_body(old) == level_body(new):
        return True
    mine, theirs = _digests(before, old.name), _digests(after, new.name)
    return bool(mine) and mine == theirs


def _digests(spec: Spec, requirement: str) -> list[str]:
    return sorted(s.digest for s in spec.scenarios if s.requirement == requirement)


def _entry(operation: Operation, requirement: Requirement) -> DeltaEntry:
    return DeltaEntry(operation, requirement.name, requirement.first, body=level_body(requirement))


def level_body(requirement: Requirement) -> tuple[str, ...]:
    """Returns the body with headings as they are below a requirement of a delta."""
    return tuple(_shift_headings(requirement.body, _LEVEL - requirement.level))


def render_delta(entries: Sequence[DeltaEntry], before: Mapping[str, Requirement]) -> str:
    """Renders the sections that have entries; `before`: requirements by name, for BEFORE."""
    names = {e.to: e.name for e in entries if e.operation == "renamed"}
    parts = []
    for operation in OPERATIONS:
        own = [e for e in entries if e.operation == operation]
        if own:
            parts.append(f"## {operation.upper()} Requirements\n")
        for entry in own:
            match operation:
                case "added":
                    parts += _block(entry.name, entry.body)
                case "modified":
                    parts += _render_modified(entry, before.get(names.get(entry.name, entry.name)))
                case "removed":
                    parts += [f"### Requirement: {entry.name}", ""]
                case "renamed":
                    parts += [
                        f"- FROM: `### Requirement: {entry.name}`",
                        f"- TO: `### Requirement: {entry.to}`",
                        "",
                    ]
    return "\n".join(parts)


def _render_modified(entry: DeltaEntry, was: Requirement | None) -> list[str]:
    old = () if was is None else level_body(was)
    ticks = max((len(run) for line in old for run in re.findall(r"^\s*(`{3,})", line)), default=2) + 1
    fence = "`" * max(3, ticks)
    return [
        f"### Requirement: {entry.name}",
        *("", "**BEFORE**", "", f"{fence}markdown", *old, fence),
        *("", "**AFTER**", "", *entry.body, ""),
    ]


def stale_scenarios(old: Spec, new: Spec, delta: Sequence[DeltaEntry]) -> tuple[StaleScenario, ...]:
    """Compares hashes, and ids without the spec's own part; `delta` names renamed requirements."""
    after = {s.id.partition("#")[2]: s for s in new.scenarios}
    to = {e.name: e.to for e in delta if e.operation == "renamed"}
    stale = []
    for scenario in old.scenarios:
        key = scenario.id.partition("#")[2]
        if scenario.requirement in to:
            key = f"{slug(to[scenario.requirement])}/{key.partition('/')[2]}"
        same = after.get(key)
        if same is None:
            stale.append(StaleScenario(scenario, "removed"))
        elif same.digest != scenario.digest:
            stale.append(StaleScenario(scenario, "changed", same.id))
        elif same.id != scenario.id:
            stale.append(StaleScenario(scenario, "renamed", same.id))
    return tuple(stale)


def changed_spec(spec: Spec, base: str, delta: Sequence[DeltaEntry]) -> Spec:
    """Returns the spec that a delta makes, with the ids of the old one."""
    return read_spec(spec.path, apply_delta(base, spec, delta).encode())
