"""Checks a spec without a model: scenarios, names, open questions, and the targets of a delta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from verdigris.core.value import value
from verdigris.drivers.specs.delta import (
    DeltaEntry,
    is_delta,
    level_body,
    read_delta,
    requirements,
    unread_headings,
)
from verdigris.drivers.specs.markdown import is_feature
from verdigris.drivers.specs.spec import STATUSES, UNCLEAR, Scenario, Spec

Level = Literal["error", "warning"]
EXAMPLE = """\
#### Scenario: NAME
- **GIVEN** the state before
- **WHEN** something happens
- **THEN** what can be observed"""
_GHERKIN = """\
  Scenario: NAME
    Given the state before
    When something happens
    Then what can be observed"""
_THEN = re.compile(r"\b(then|shall)\b", re.IGNORECASE)
_OTHER_STATUSES = frozenset({"ready-for-dev", "in-progress", "in-review", "done", "blocked"})
"""The statuses that BMAD writes."""
_MOVE = {
    ("added", "modified"): "a requirement is either new or changed",
    ("added", "removed"): "to replace it, write it below `## MODIFIED Requirements`",
    ("modified", "removed"): "keep the one that is meant",
}


@value
class SpecFault:
    level: Level
    line: int
    what: str
    fix: str


def error(line: int, what: str, fix: str) -> SpecFault:
    return SpecFault("error", line, what, fix)


def lint_spec(spec: Spec, text: str, base: Spec | None = None, base_text: str = "") -> tuple[SpecFault, ...]:
    """`base`: the spec that a delta changes; None if there is none."""
    faults = [*_lint_file(spec, text), *_lint_names(spec, text), *_lint_words(spec)]
    if is_delta(text):
        delta = read_delta(text)
        faults += [*_lint_entries(delta, text), *_lint_targets(delta, base, base_text)]
        faults += [] if base is None else _lint_dropped(delta, spec, base)
    return tuple(sorted(faults, key=lambda fault: (fault.line, fault.level)))


def is_parent(spec: Spec) -> bool:
    """A PRD has requirements; its specs have the scenarios."""
    return str(spec.metadata.get("kind", "")).casefold() == "prd"


def _lint_file(spec: Spec, text: str) -> Iterator[SpecFault]:
    example = _GHERKIN if is_feature(spec.path) else EXAMPLE
    if not spec.scenarios and not is_delta(text) and not is_parent(spec):
        line = max(1, len(text.splitlines()))
        where = "the feature" if is_feature(spec.path) else "the requirement that it is about, or at the end"
        fix = f"add these lines below {where}, and fill them in:\n{example}"
        yield error(line, "there is no scenario, so there is nothing to test", fix)
    if len(spec.blocks) > 1:
        where = ", ".join(map(str, spec.blocks))
        fix = "keep one; until then the first block that has a key gives its value"
        yield error(spec.blocks[1], f"{len(spec.blocks)} front-matter blocks (lines {where})", fix)
    for line in spec.unclear:
        fix = "answer it in the spec, then take it out"
        yield error(line, f"an open question: `{UNCLEAR} …]`", fix)
    if spec.status not in STATUSES and spec.status not in _OTHER_STATUSES:
        fix = f"use one of {', '.join(STATUSES)}"
        yield SpecFault("warning", 1, f"the status {spec.status!r} is not known", fix)
    for skipped in spec.skipped:
        level: Level = "error" if is_feature(spec.path) else "warning"
        yield SpecFault(level, skipped.line, f"not read: {skipped.why}", f"write it as\n{example}")


def _lint_names(spec: Spec, text: str) -> Iterator[SpecFault]:
    by_name: dict[tuple[str, str], Scenario] = {}
    for scenario in spec.scenarios:
        key = (_fold_name(scenario.requirement), _fold_name(scenario.name))
        first = by_name.setdefault(key, scenario)
        if first is not scenario:
            what = f"the scenario {scenario.name!r} is there twice in one requirement (line {first.line})"
            yield error(scenario.line, what, "give one of them another name")
    if is_delta(text) or is_feature(spec.path):
        return
    lines: dict[str, int] = {}
    for requirement in requirements(spec, text):
        line = lines.setdefault(_fold_name(requirement.name), requirement.first)
        if line != requirement.first:
            what = f"the requirement {requirement.name!r} is there twice (line {line})"
            yield error(requirement.first, what, "give one of them another name")


def _lint_words(spec: Spec) -> Iterator[SpecFault]:
    for scenario in spec.scenarios:
        if not _THEN.search(scenario.text) and scenario.text.isascii():
            yield SpecFault(
                "warning", scenario.line, f"{scenario.name!r} says no THEN", "say what can be observed"
            )


def _lint_entries(delta: Sequence[DeltaEntry], text: str) -> Iterator[SpecFault]:
    """Finds faults of a delta that do not depend on the spec that it changes."""
    if not delta:
        yield error(1, "the delta changes nothing yet", "name a requirement in one of its sections")
    for line in unread_headings(text):
        yield SpecFault(
            "warning", line, "not read: this heading names no requirement", "`### Requirement: NAME`"
        )
    entries: dict[str, DeltaEntry] = {}
    for entry in delta:
        if entry.operation == "renamed":
            if not entry.name or not entry.to:
                missing = "FROM" if not entry.name else "TO"
                fix = "- FROM: `### Requirement: OLD`\n- TO: `### Requirement: NEW`"
                yield error(entry.line, f"a rename without its {missing}", f"write both:\n{fix}")
            continue
        first = entries.setdefault(_fold_name(entry.name), entry)
        if first is not entry:
            both = (min(first.operation, entry.operation), max(first.operation, entry.operation))
            what = f"{entry.name!r} is {first.operation} (line {first.line}) and {entry.operation}"
            yield error(entry.line, what, _MOVE.get(both, "name it once"))


def _lint_targets(delta: Sequence[DeltaEntry], base: Spec | None, base_text: str) -> Iterator[SpecFault]:
    """Compares names with the spec after RENAMED, which is applied first."""
    before = requirements(base, base_text) if base is not None else ()
    names_before = [r.name for r in before]
    same = {(r.name, level_body(r)) for r in before}
    renames = {e.name: e for e in delta if e.operation == "renamed" and e.to}
    names = [renames[name].to if name in renames else name for name in names_before]
    for entry in delta:
        match entry.operation:
            case "renamed":
                yield from _lint_target(entry, base, names_before)
                if entry.to and (
                    taken := _find_alike(entry.to, [name for name in names_before if name != entry.name])
                ):
                    what = f"{entry.name!r} cannot be renamed: {taken!r} is there already"
                    yield error(entry.line, what, "choose another name")
            case "added" if alike := _find_alike(entry.name, names):
                what = (
                    f"{entry.name!r} is there already, so it cannot be added"
                    if alike == entry.name
                    else f"{entry.name!r} differs from {alike!r} in case or blanks only"
                )
                yield error(entry.line, what, "move it below `## MODIFIED Requirements`")
            case "modified" | "removed" if entry.name in renames:
                what = f"{entry.name!r} is renamed first (line {renames[entry.name].line})"
                yield error(entry.line, what, f"call it `{renames[entry.name].to}` here")
            case "modified" | "removed":
                yield from _lint_target(entry, base, names)
                if (entry.name, entry.body) in same:
                    what = f"{entry.name!r} stays as it is"
                    yield SpecFault(
                        "warning", entry.line, what, "edit what follows AFTER, or take the block out"
                    )


def _lint_target(entry: DeltaEntry, base: Spec | None, names: Sequence[str]) -> Iterator[SpecFault]:
    if not entry.name or entry.name in names:
        return
    if base is None:
        fix = "a new capability is ADDED only; else name a spec that exists"
        yield error(entry.line, f"there is no spec that has {entry.name!r}", fix)
        return
    close = _find_alike(entry.name, names)
    fix = f"write `{close}`, letter for letter" if close else f"{base.path} has: {', '.join(names) or 'none'}"
    yield error(entry.line, f"{base.path} has no requirement {entry.name!r}", fix)


def _lint_dropped(delta: Sequence[DeltaEntry], spec: Spec, base: Spec) -> Iterator[SpecFault]:
    """Finds dropped scenarios: a MODIFIED block replaces the whole requirement."""
    before = {e.to: e.name for e in delta if e.operation == "renamed"}
    for entry in (change for change in delta if change.operation == "modified"):
        kept = {_fold_name(s.name) for s in spec.scenarios if s.requirement == entry.name}
        for scenario in base.scenarios:
            if (
                scenario.requirement == before.get(entry.name, entry.name)
                and _fold_name(scenario.name) not in kept
            ):
                what = f"the change of {entry.name!r} drops the scenario {scenario.name!r}"
                yield error(entry.line, what, "copy it into the block, or remove the requirement")


def _find_alike(name: str, names: Sequence[str]) -> str:
    """Returns the same name, or one that differs in case or blanks only; empty if there is none."""
    folded = _fold_name(name)
    return name if name in names else next((c for c in names if _fold_name(c) == folded), "")


def _fold_name(name: str) -> str:
    return " ".join(name.casefold().split())


def base_path(spec: Spec) -> str | None:
    """Returns the spec that a delta changes: by its front matter, or by its place in an OpenSpec change.

    `…/changes/ID/specs/CAP/spec.md` changes `…/specs/CAP/spec.md`.
    """
    if named := spec.metadata.get("delta_of"):
        return str(named)
    match = re.fullmatch(r"((?:.*/)?openspec)/changes/(?:archive/)?[^/]+/(specs/.+)", spec.path)
    return f"{match[1]}/{match[2]}" if match else None
