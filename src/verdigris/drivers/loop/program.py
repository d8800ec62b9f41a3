"""Reads a program: what a loop is to do, what it may touch, how it is measured, and where it ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers.specs.markdown import list_items, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.drivers.specs.markdown import Page, TextLine

Direction = Literal["higher", "lower"]
_EVERY = re.compile(r"every\s+(\d+)\s*([hm])\b", re.IGNORECASE)
_NAMED = {"daily": 24.0, "weekly": 168.0}
_MINUTES = 60
_COMMENTS = re.compile(r"\A(?:\s*<!--.*?-->)+\s*", re.DOTALL)
_PROTECTED = re.compile(r"\W*do\s+not\s+modify\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)^ {0,3}\1", re.DOTALL | re.MULTILINE)
_POINTER = re.compile(r"[\w./-]*strategy/[\w./-]+\.md")


@value
class Schedule:
    written: str

    @property
    def hours(self) -> float:
        """Between two runs; 0: always due, as whatever nobody can read is."""
        said = self.written.strip().casefold()
        if found := _EVERY.fullmatch(said):
            return float(found[1]) / (_MINUTES if found[2] == "m" else 1)
        return _NAMED.get(said, 0.0)


@value
class Limits:
    """Where a run ends, whatever is open; 0: no limit."""

    iterations: int = 0
    hours: float = 0
    tokens: int = 0
    money: float = 0


@value
class ProgramNote:
    """Something that was read otherwise than it is written."""

    line: int
    what: str


@value
class Program:
    name: str
    goal: str
    targets: tuple[str, ...]
    """Files and folders that it may change; all source and tests where it names none."""
    protected: tuple[str, ...]
    """What it must not change."""
    evaluation: str
    """The command that prints the metric."""
    schedule: Schedule
    target_metric: float | None
    direction: Direction
    limits: Limits
    strategy: str = ""
    """The playbook that the program points at."""
    notes: tuple[ProgramNote, ...] = ()


def read_program(name: str, text: str) -> Program:
    """Any text can be read; `lint_program` says what is missing."""
    page = read_page(_COMMENTS.sub("", text))
    keys = {str(key).replace("-", "_"): one for key, one in page.metadata.items()}
    targets, protected = _read_target(_section(page, "target"))
    direction, notes = _read_direction(keys)
    metric, more = _read_metric(keys)
    return Program(
        name,
        _plain(_section(page, "goal")),
        targets,
        protected,
        _read_command(text),
        Schedule(str(keys.get("schedule") or "")),
        metric,
        direction,
        _read_limits(keys),
        strategy=_read_pointer(_section(page, "evolution strategy") or _section(page, "strategy")),
        notes=(*notes, *more),
    )


def _section(page: Page, title: str) -> Sequence[TextLine]:
    """The lines below a heading, to the next of its level or a higher one."""
    lines = page.lines
    for at, line in enumerate(lines):
        if line.heading and line.heading.text.casefold().strip(" :") == title:
            level = line.heading.level
            ends = (n for n in range(at + 1, len(lines)) if 0 < lines[n].level <= level)
            return lines[at + 1 : next(ends, len(lines))]
    return ()


def _plain(lines: Sequence[TextLine]) -> str:
    return "\n".join(line.text for line in lines).strip()


def _read_target(lines: Sequence[TextLine]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two lists: what may be changed, and what stands below "Do NOT modify"."""
    at = next((n for n, line in enumerate(lines) if _PROTECTED.match(line.text)), len(lines))
    return tuple(_paths(lines[:at])), tuple(_paths(lines[at:]))


def _paths(lines: Sequence[TextLine]) -> Iterator[str]:
    for item in list_items(lines):
        quoted = _QUOTED.findall(item.text)
        yield from quoted or [item.text.partition(" ")[0]]


def _read_command(text: str) -> str:
    """The one fenced block below Evaluation; what a page masks is what is wanted here."""
    heading = re.search(r"^#+\s*evaluation\b.*$", text, re.IGNORECASE | re.MULTILINE)
    block = _FENCE.search(text, heading.end()) if heading else None
    return block[2].strip() if block else ""


def _read_direction(keys: Mapping[str, object]) -> tuple[Direction, tuple[ProgramNote, ...]]:
    said = str(keys.get("metric_direction") or "higher").strip().casefold()
    if said == "lower":
        return "lower", ()
    if said == "higher":
        return "higher", ()
    return "higher", (ProgramNote(1, f"the direction {said!r} is neither higher nor lower: higher is taken"),)


def _read_metric(keys: Mapping[str, object]) -> tuple[float | None, tuple[ProgramNote, ...]]:
    said = keys.get("target_metric")
    if said is None:
        return None, ()
    try:
        return float(str(said)), ()
    except ValueError:
        return None, (ProgramNote(1, f"the target metric {said!r} is no number: there is no target"),)


def _read_limits(keys: Mapping[str, object]) -> Limits:
    found = keys.get("limits")
    said = found if isinstance(found, dict) else {}
    numbers = {key: one for key, one in said.items() if isinstance(one, int | float)}
    return Limits(
        int(numbers.get("iterations", 0)),
        float(numbers.get("hours", 0)),
        int(numbers.get("tokens", 0)),
        float(numbers.get("money", 0)),
    )


def _read_pointer(lines: Sequence[TextLine]) -> str:
    found = _POINTER.search(_plain(lines))
    return found[0] if found else ""
