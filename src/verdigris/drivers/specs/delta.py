"""The changes between two versions of a spec: reads a delta, applies it, and makes one from two texts.

Sections are OpenSpec's: `## ADDED|MODIFIED|REMOVED|RENAMED Requirements`. A MODIFIED block is the whole
requirement as it shall be. Ours shows the old one too, in a fence below `**BEFORE**`; then what follows
`**AFTER**` counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers.specs.markdown import list_items, read_page, split_lines, strip_emphasis
from verdigris.drivers.specs.spec import read_spec, requirement_name, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.drivers.specs.markdown import MarkdownPage
    from verdigris.drivers.specs.spec import Scenario, Spec

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
    found: list[DeltaEntry] = []
    for operation, start, end in _sections(page):
        lines = page.lines[start:end]
        if operation == "renamed":
            found += _read_renames(page, start, end)
            continue
        heads = [line for line in lines if line.heading and line.level <= _LEVEL]
        for line in heads:
            if line.heading and (name := _NAMED.fullmatch(line.heading.text)):
                below = (one.number - 1 for one in heads if one.number > line.number)
                last = next(below, lines[-1].number)
                body = _after(raw[line.number : last]) if operation != "removed" else ()
                found.append(DeltaEntry(operation, name[1].strip(), line.number, body=body))
        if operation == "removed":
            items = ((item.first, _NAMED.fullmatch(strip_emphasis(item.text))) for item in list_items(lines))
            found += [DeltaEntry(operation, name[1].strip(" `"), at) for at, name in items if name]
    return tuple(found)


def unread_headings(text: str) -> tuple[int, ...]:
    """Returns the lines of headings that name no requirement, though they are where one belongs."""
    page = read_page(text)
    lines = (line for _, start, end in _sections(page) for line in page.lines[start:end])
    return tuple(
        line.number
        for line in lines
        if line.heading and line.level == _LEVEL and not _NAMED.fullmatch(line.heading.text)
    )


def _sections(page: MarkdownPage) -> Iterator[tuple[Operation, int, int]]:
    heads = [n for n, line in enumerate(page.lines) if 0 < line.level < _LEVEL]
    for at in heads:
        heading = page.lines[at].heading
        found = heading and _SECTION.fullmatch(heading.text)
        if found:
            end = next((n for n in heads if n > at), len(page.lines))
            yield next(one for one in OPERATIONS if one == found[1].casefold()), at + 1, end


def _read_renames(page: MarkdownPage, start: int, end: int) -> Iterator[DeltaEntry]:
    old, at = "", 0
    for item in list_items(page.lines[start:end]):
        for number, text in enumerate(item.text.split("\n"), item.first):
            found = _RENAME.fullmatch(text.lstrip("-*+ ").strip())
            if not found:
                continue
            named = _NAMED.fullmatch(strip_emphasis(found[2]))
            name = (named[1] if named else strip_emphasis(found[2])).strip(" `")
            if found[1].casefold() == "from":
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
    heads = [line for line in page.lines if line.heading]
    above = {_line_above(one, page) for one in spec.scenarios}
    named = [
        line
        for line in heads
        if line.heading
        and (line.number in above or (_NAMED.match(line.heading.text) and line.level <= _LEVEL))
    ]
    found = []
    for line in named:
        ends = (
            one.number
            for one in heads
            if one.number > line.number and (one.level <= line.level or one in named)
        )
        last = next(ends, len(raw) + 1) - 1
        name = requirement_name(line.heading.text if line.heading else "")
        found.append(Requirement(name, line.number, last, line.level, _trim(raw[line.number : last])))
    return tuple(found)


def _line_above(scenario: Scenario, page: MarkdownPage) -> int:
    lines = (line for line in reversed(page.lines) if line.heading and line.number < scenario.line)
    return next(
        (
            one.number
            for one in lines
            if one.heading and requirement_name(one.heading.text) == scenario.requirement
        ),
        0,
    )


def apply_delta(base: str, spec: Spec, delta: Sequence[DeltaEntry]) -> str:
    """Returns the text that a delta makes of a spec: RENAMED → REMOVED → MODIFIED → ADDED.

    Entries without a target are left out; `lint_spec` reports them. Bytes outside the requirements stay.
    """
    lines = split_lines(base)
    known = requirements(spec, base)
    to = {one.name: one.to for one in delta if one.operation == "renamed" and one.to}
    removed = {one.name for one in delta if one.operation == "removed"}
    modified = {one.name: one.body for one in delta if one.operation == "modified"}
    end = known[-1].last if known else len(lines)
    added = [line for one in delta if one.operation == "added" for line in _block(one.name, one.body)]
    lines[end:end] = ["", *added] if added and end and lines[end - 1].strip() else added
    for one in reversed(known):
        name = to.get(one.name, one.name)
        if name in removed:
            del lines[one.first - 1 : one.last]
            continue
        if name in modified:
            body = _shift_headings(modified[name], one.level - _LEVEL)
            lines[one.first : one.last] = ["", *body, ""]
        if name != one.name:
            lines[one.first - 1] = lines[one.first - 1].replace(one.name, name)
    ending = "\r\n" if "\r\n" in base else "\n"
    return ("\ufeff" if base.startswith("\ufeff") else "") + ending.join(lines)


def _block(name: str, body: Sequence[str]) -> list[str]:
    return [f"### Requirement: {name}", "", *body, ""]


def _shift_headings(lines: Sequence[str], by: int) -> list[str]:
    """Changes the level of headings outside of fences, within one to six `#`."""
    if not by:
        return [*lines]
    found = ["", *lines]  # an empty first line, so that nothing is read as front matter
    for line in read_page("\n".join(found)).lines:
        if line.level:
            signs = "#" * min(_DEEPEST, max(1, line.level + by))
            found[line.number - 1] = f"{signs} {line.text.lstrip(' #').lstrip()}"
    return found[1:]


def make_delta(old: tuple[Spec, str], new: tuple[Spec, str]) -> tuple[DeltaEntry, ...]:
    """Returns the entries from the old text to the new; the same scenarios under a new name are a rename."""
    before = {one.name: one for one in requirements(*old)}
    after = {one.name: one for one in requirements(*new)}
    gone = [one for name, one in before.items() if name not in after]
    fresh = [one for name, one in after.items() if name not in before]
    renamed: dict[str, Requirement] = {}
    for one in fresh:
        same = next((o for o in gone if _is_same(o, one, old[0], new[0]) and o not in renamed.values()), None)
        if same is not None:
            renamed[one.name] = same
    found = [_entry("added", one) for one in fresh if one.name not in renamed]
    for name, one in after.items():
        was = renamed.get(name) or before.get(name)
        if was is not None and level_body(was) != level_body(one):
            found.append(_entry("modified", one))
    found += [DeltaEntry("removed", one.name, one.first) for one in gone if one not in renamed.values()]
    found += [DeltaEntry("renamed", was.name, was.first, to=name) for name, was in renamed.items()]
    return tuple(found)


def _is_same(old: Requirement, new: Requirement, before: Spec, after: Spec) -> bool:
    if level_body(old) == level_body(new):
        return True
    mine, theirs = _digests(before, old.name), _digests(after, new.name)
    return bool(mine) and mine == theirs


def _digests(spec: Spec, requirement: str) -> list[str]:
    return sorted(one.digest for one in spec.scenarios if one.requirement == requirement)


def _entry(operation: Operation, one: Requirement) -> DeltaEntry:
    return DeltaEntry(operation, one.name, one.first, body=level_body(one))


def level_body(one: Requirement) -> tuple[str, ...]:
    """Returns the body with headings as they are below a requirement of a delta."""
    return tuple(_shift_headings(one.body, _LEVEL - one.level))


def render_delta(entries: Sequence[DeltaEntry], before: Mapping[str, Requirement]) -> str:
    """Renders the sections that have entries; `before`: requirements by name, for BEFORE."""
    names = {one.to: one.name for one in entries if one.operation == "renamed"}
    parts = []
    for operation in OPERATIONS:
        own = [one for one in entries if one.operation == operation]
        if own:
            parts.append(f"## {operation.upper()} Requirements\n")
        for one in own:
            match operation:
                case "added":
                    parts += _block(one.name, one.body)
                case "modified":
                    parts += _render_modified(one, before.get(names.get(one.name, one.name)))
                case "removed":
                    parts += [f"### Requirement: {one.name}", ""]
                case "renamed":
                    parts += [
                        f"- FROM: `### Requirement: {one.name}`",
                        f"- TO: `### Requirement: {one.to}`",
                        "",
                    ]
    return "\n".join(parts)


def _render_modified(one: DeltaEntry, was: Requirement | None) -> list[str]:
    old = () if was is None else level_body(was)
    ticks = max((len(run) for line in old for run in re.findall(r"^\s*(`{3,})", line)), default=2) + 1
    fence = "`" * max(3, ticks)
    return [
        f"### Requirement: {one.name}",
        *("", "**BEFORE**", "", f"{fence}markdown", *old, fence),
        *("", "**AFTER**", "", *one.body, ""),
    ]


def stale_scenarios(old: Spec, new: Spec, delta: Sequence[DeltaEntry]) -> tuple[StaleScenario, ...]:
    """Compares hashes, and ids without the spec's own part; `delta` names renamed requirements."""
    after = {one.id.partition("#")[2]: one for one in new.scenarios}
    to = {one.name: one.to for one in delta if one.operation == "renamed"}
    found = []
    for one in old.scenarios:
        key = one.id.partition("#")[2]
        if one.requirement in to:
            key = f"{slug(to[one.requirement])}/{key.partition('/')[2]}"
        same = after.get(key)
        if same is None:
            found.append(StaleScenario(one, "removed"))
        elif same.digest != one.digest:
            found.append(StaleScenario(one, "changed", same.id))
        elif same.id != one.id:
            found.append(StaleScenario(one, "renamed", same.id))
    return tuple(found)


def changed_spec(spec: Spec, base: str, delta: Sequence[DeltaEntry]) -> Spec:
    """Returns the spec that a delta makes, with the ids of the old one."""
    return read_spec(spec.path, apply_delta(base, spec, delta).encode())
