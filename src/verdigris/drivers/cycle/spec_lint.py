"""Checks a spec without a model: scenarios, names, open questions, and the targets of a delta."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers.cycle.markdown import list_items, read_page, strip_emphasis
from verdigris.drivers.cycle.spec import STATUSES, UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.drivers.cycle.markdown import Page
    from verdigris.drivers.cycle.spec import Scenario, Spec

Level = Literal["error", "warning"]
Operation = Literal["added", "modified", "removed", "renamed"]
EXAMPLE = """\
#### Scenario: NAME
- **GIVEN** the state before
- **WHEN** something happens
- **THEN** what can be observed"""
_SECTION = re.compile(r"(added|modified|removed|renamed)\s+requirements?", re.IGNORECASE)
_REQUIREMENT = re.compile(r"#*\s*requirement\s*[:\uff1a]\s*(.+)", re.IGNORECASE)
_RENAME = re.compile(r"(from|to)\s*[:\uff1a]\s*(.+)", re.IGNORECASE)
_THEN = re.compile(r"\b(then|shall)\b", re.IGNORECASE)
_CLOSED = frozenset({"ready-for-dev", "in-progress", "in-review", "done", "blocked"})
"""What BMAD writes as a status."""


@value
class Fault:
    level: Level
    line: int
    what: str
    fix: str


@value
class DeltaEntry:
    """One requirement that a delta adds, changes, takes away or renames."""

    operation: Operation
    name: str
    line: int
    to: str = ""
    """The new name, where it is renamed."""


def read_delta(text: str) -> tuple[DeltaEntry, ...]:
    """In the order of the text; empty for a spec that is no delta."""
    page = read_page(text)
    found: list[DeltaEntry] = []
    for operation, start, end in _sections(page):
        lines = page.lines[start:end]
        if operation == "renamed":
            found += _read_renames(page, start, end)
            continue
        for line in lines:
            if line.heading and (name := _REQUIREMENT.fullmatch(line.heading.text)):
                found.append(DeltaEntry(operation, name[1].strip(), line.number))
        if operation == "removed":
            items = (
                (item.first, _REQUIREMENT.fullmatch(strip_emphasis(item.text))) for item in list_items(lines)
            )
            found += [DeltaEntry(operation, name[1].strip(" `"), at) for at, name in items if name]
    return tuple(found)


def _sections(page: Page) -> Iterator[tuple[Operation, int, int]]:
    heads = [n for n, line in enumerate(page.lines) if line.heading and line.heading.level <= 2]  # noqa: PLR2004
    for at in heads:
        heading = page.lines[at].heading
        found = heading and _SECTION.fullmatch(heading.text)
        if found:
            end = next((n for n in heads if n > at), len(page.lines))
            operation: Operation = found[1].casefold()  # type: ignore[assignment]
            yield operation, at + 1, end


def _read_renames(page: Page, start: int, end: int) -> Iterator[DeltaEntry]:
    old, at = "", 0
    for item in list_items(page.lines[start:end]):
        for number, text in enumerate(item.text.split("\n"), item.first):
            found = _RENAME.fullmatch(text.lstrip("-*+ ").strip())
            if not found:
                continue
            named = _REQUIREMENT.fullmatch(strip_emphasis(found[2]))
            name = (named[1] if named else strip_emphasis(found[2])).strip(" `")
            if found[1].casefold() == "from":
                old, at = name, number
            elif old:
                yield DeltaEntry("renamed", old, at, to=name)
                old = ""


def lint_spec(spec: Spec, text: str, base: Spec | None = None, base_text: str = "") -> tuple[Fault, ...]:
    """`base`: the spec that a delta changes; None where there is none."""
    delta = read_delta(text)
    found = [*_lint_file(spec, is_delta=bool(delta)), *_lint_names(spec), *_lint_words(spec)]
    if delta:
        found += _lint_delta(delta, spec, base, base_text)
    return tuple(sorted(found, key=lambda fault: (fault.line, fault.level)))


def _lint_file(spec: Spec, *, is_delta: bool) -> Iterator[Fault]:
    if not spec.scenarios and not is_delta:
        yield Fault("error", 1, "there is no scenario, so there is nothing to test", f"add one:\n{EXAMPLE}")
    if len(spec.blocks) > 1:
        where = ", ".join(map(str, spec.blocks))
        yield Fault(
            "error", spec.blocks[1], f"{len(spec.blocks)} front-matter blocks (lines {where})", "keep one"
        )
    for line in spec.unclear:
        yield Fault(
            "error", line, f"an open question: `{UNCLEAR} …]`", "answer it in the spec, then take it out"
        )
    if spec.status not in STATUSES and spec.status not in _CLOSED:
        known = ", ".join(STATUSES)
        yield Fault("warning", 1, f"the status {spec.status!r} is not known", f"use one of {known}")
    for skipped in spec.skipped:
        yield Fault("warning", skipped.line, f"not read: {skipped.why}", f"write it as\n{EXAMPLE}")


def _lint_names(spec: Spec) -> Iterator[Fault]:
    seen: dict[tuple[str, str], Scenario] = {}
    for one in spec.scenarios:
        key = (_fold_name(one.requirement), _fold_name(one.name))
        first = seen.setdefault(key, one)
        if first is not one:
            what = f"the scenario {one.name!r} is there twice in one requirement (line {first.line})"
            yield Fault("error", one.line, what, "give one of them another name")


def _lint_words(spec: Spec) -> Iterator[Fault]:
    for one in spec.scenarios:
        if not _THEN.search(one.text) and one.text.isascii():
            yield Fault("warning", one.line, f"{one.name!r} says no THEN", "say what can be observed")


def _lint_delta(
    delta: tuple[DeltaEntry, ...], spec: Spec, base: Spec | None, base_text: str
) -> Iterator[Fault]:
    known = _requirements(base_text)
    names = {*known, *(entry.to for entry in delta if entry.operation == "renamed")}
    for entry in delta:
        if entry.operation == "added":
            if entry.name in known:
                what = f"{entry.name!r} is there already, so it cannot be added"
                yield Fault("error", entry.line, what, "move it below `## MODIFIED Requirements`")
            continue
        if base is None:
            yield Fault(
                "error", entry.line, f"there is no spec that has {entry.name!r}", "name a spec that exists"
            )
        elif entry.name not in names:
            close = next((one for one in known if _fold_name(one) == _fold_name(entry.name)), "")
            fix = (
                f"write `{close}`, letter for letter"
                if close
                else f"{base.path} has: {', '.join(known) or 'none'}"
            )
            yield Fault("error", entry.line, f"{base.path} has no requirement {entry.name!r}", fix)
        elif entry.operation == "modified":
            yield from _lint_dropped(entry, spec, base, delta)


def _lint_dropped(
    entry: DeltaEntry, spec: Spec, base: Spec, delta: tuple[DeltaEntry, ...]
) -> Iterator[Fault]:
    """A MODIFIED block replaces the whole requirement: what it leaves out is gone."""
    before = next(
        (one.name for one in delta if one.operation == "renamed" and one.to == entry.name), entry.name
    )
    kept = {_fold_name(one.name) for one in spec.scenarios if one.requirement == entry.name}
    for one in base.scenarios:
        if one.requirement == before and _fold_name(one.name) not in kept:
            what = f"the change of {entry.name!r} drops the scenario {one.name!r}"
            yield Fault("error", entry.line, what, "copy it into the block, or remove the requirement")


def _requirements(text: str) -> Mapping[str, int]:
    found = ((line, line.heading) for line in read_page(text).lines)
    named = ((line.number, _REQUIREMENT.fullmatch(heading.text)) for line, heading in found if heading)
    return {name[1].strip(): number for number, name in named if name}


def _fold_name(name: str) -> str:
    return " ".join(name.casefold().split())


def base_path(path: str) -> str | None:
    """The spec that an OpenSpec change is about: `…/changes/ID/specs/CAP/spec.md` → `…/specs/CAP/spec.md`."""
    found = re.fullmatch(r"((?:.*/)?openspec)/changes/(?:archive/)?[^/]+/(specs/.+)", path)
    return f"{found[1]}/{found[2]}" if found else None
