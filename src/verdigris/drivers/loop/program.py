"""Reads the text of a program: its goal, the paths it may change, how it is measured, and its limits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from verdigris.core.value import value
from verdigris.drivers.budget import Limits
from verdigris.drivers.specs.markdown import MarkdownPage, TextLine, list_items, read_page, split_lines

Direction = Literal["higher", "lower"]
_EVERY = re.compile(r"every\s+(\d+)\s*([hm])\b", re.IGNORECASE)
_NAMED = {"daily": 24.0, "weekly": 168.0}
_MINUTES = 60
_SECONDS = 3600
_COMMENTS = re.compile(r"\A(?:\s*<!--.*?-->)+\s*", re.DOTALL)
_PROTECTED = re.compile(r"\W*do\s+not\s+modify\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)^ {0,3}\1", re.DOTALL | re.MULTILINE)
_POINTER = re.compile(r"[\w./-]*strategy/[\w./-]+\.md")
_HELD_OUT = re.compile(r"held[- ]out\b", re.IGNORECASE)
_HELD_OUT_KEY = re.compile(
    r"^held[-_]out[ \t]*:[^\n]*\n(?:[ \t]+[^\n]*\n|- [^\n]*\n)*", re.IGNORECASE | re.MULTILINE
)
_METRIC_NAME = re.compile(r"\bmetric\b[^`\n]{0,40}`([\w.-]+)`", re.IGNORECASE)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_MINUTES_OF_ONE = 10.0


@value
class Schedule:
    written: str

    @property
    def hours(self) -> float:
        """Between two runs; 0: always due, also if the schedule cannot be read."""
        said = self.written.strip().casefold()
        if found := _EVERY.fullmatch(said):
            return float(found[1]) / (_MINUTES if found[2] == "m" else 1)
        return _NAMED.get(said, 0.0)


@value
class Margin:
    """How much a number must differ before the difference counts."""

    amount: float = 0
    relative: bool = False
    """The amount is a share of the number that is compared with."""

    def of(self, number: float) -> float:
        return abs(number) * self.amount if self.relative else self.amount


@value
class EvaluationRules:
    """How the evaluation is run and read; by default the command runs once."""

    metric: str = ""
    """The name of the number, as the sentence below the command gives it."""
    minutes: float = _MINUTES_OF_ONE
    """The longest that one run of the command may take (`timeout-minutes`)."""
    repeats: int = 1
    """Runs of the command; their median counts."""
    margin: Margin = Margin()
    evaluator: tuple[str, ...] = ()
    """Files and globs of the evaluator and its data, besides those that the command names."""
    held_out: tuple[str, ...] = ()
    """Paths of inputs that only the held-out evaluation sees."""
    held_out_command: str = ""
    """The command that measures on those inputs."""


@value
class ProgramNote:
    """A key whose value could not be used, and what is used instead."""

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
    evaluation_rules: EvaluationRules = EvaluationRules()


def read_program(name: str, text: str) -> Program:
    """Reads any text; `lint_program` says what is missing."""
    text = _COMMENTS.sub("", text)
    page = read_page(text)
    keys = _Keys({str(key).replace("-", "_"): given for key, given in page.metadata.items()})
    target = _section(page, "target")
    at = next((n for n, line in enumerate(target) if _PROTECTED.match(line.text)), len(target))
    direction, metric = keys.direction(), keys.target_metric()
    command, rules = _read_evaluation(page, text, keys)
    pointer = _POINTER.search(_text_of(_section(page, "evolution strategy") or _section(page, "strategy")))
    return Program(
        name,
        _text_of(_section(page, "goal")),
        tuple(_paths(target[:at])),
        tuple(_paths(target[at:])),
        command,
        Schedule(str(keys.given.get("schedule") or "")),
        metric,
        direction,
        keys.limits(),
        strategy=pointer[0] if pointer else "",
        notes=tuple(keys.notes),
        evaluation_rules=rules,
    )


def hide_held_out(text: str) -> str:
    """Returns the program as a model may read it: without held-out inputs and their evaluation."""
    page = read_page(text)
    raw = split_lines(text)
    lines = page.lines
    for at, line in enumerate(lines):
        if _is_held_out(line):
            last = _end_of_section(lines, at)
            gone = range(line.number - 1, lines[last].number - 1 if last < len(lines) else len(raw))
            raw = [said for number, said in enumerate(raw) if number not in gone]
            return hide_held_out("\n".join(raw))
    return _HELD_OUT_KEY.sub("", "\n".join(raw))


def _section(page: MarkdownPage, title: str) -> Sequence[TextLine]:
    """The lines below a heading, to the next of its level or a higher one."""
    lines = page.lines
    for at, line in enumerate(lines):
        if line.level and line.title.casefold().strip(" :") == title:
            return lines[at + 1 : _end_of_section(lines, at)]
    return ()


def _end_of_section(lines: Sequence[TextLine], at: int) -> int:
    """The next heading of its level or a higher one."""
    ends = (n for n in range(at + 1, len(lines)) if 0 < lines[n].level <= lines[at].level)
    return next(ends, len(lines))


def _text_of(lines: Sequence[TextLine]) -> str:
    return "\n".join(line.text for line in lines).strip()


def _paths(lines: Sequence[TextLine]) -> Iterator[str]:
    for item in list_items(lines):
        quoted = _QUOTED.findall(item.text)
        yield from quoted or [item.text.partition(" ")[0]]


def _read_evaluation(page: MarkdownPage, text: str, keys: _Keys) -> tuple[str, EvaluationRules]:
    """Reads the first fenced block below Evaluation, and the one below `### Held-out` there."""
    lines = _section(page, "evaluation")
    at = next((n for n, line in enumerate(lines) if _is_held_out(line)), len(lines))
    raw = split_lines(text)
    named = _METRIC_NAME.search(_text_of(lines[:at]))
    minutes, repeats = keys.number("timeout_minutes", _MINUTES_OF_ONE), keys.number("repeats", 1)
    if repeats != int(repeats):
        keys.note(f"repeats {repeats} is no whole number: {int(repeats) or 1} is taken")
    return _first_block(raw, lines[:at]), EvaluationRules(
        named[1] if named else "",
        minutes,
        int(repeats) or 1,
        keys.margin(),
        keys.paths("evaluator"),
        keys.paths("held_out"),
        _first_block(raw, lines[at:]),
    )


def _is_held_out(line: TextLine) -> bool:
    return _HELD_OUT.match(line.title) is not None


def _first_block(raw: Sequence[str], lines: Sequence[TextLine]) -> str:
    """Reads `raw`, since the lines of a page hide what its code blocks say."""
    if not lines:
        return ""
    block = _FENCE.search("\n".join(raw[lines[0].number - 1 : lines[-1].number]) + "\n")
    return block[2].strip() if block else ""


def as_number(said: object) -> float | None:
    """A finite number, or the one that a text says; a bool is none."""
    try:
        number = float(str(said)) if not isinstance(said, bool) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class _Keys:
    """The keys above the text; notes each value that could not be used."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.notes: list[ProgramNote] = []

    def note(self, what: str) -> None:
        self.notes.append(ProgramNote(1, what))

    def number(self, key: str, usual: float) -> float:
        """A number above zero."""
        given = self.given.get(key, usual)
        number = usual if given is None else as_number(given)
        if number is None or number <= 0:
            self.note(f"{key.replace('_', '-')} {given!r} is no number above zero: {usual:g} is taken")
            return usual
        return number

    def margin(self) -> Margin:
        given = self.given.get("margin")
        if given is None:
            return Margin()
        if share := _PERCENT.fullmatch(str(given).strip()):
            return Margin(float(share[1]) / 100, relative=True)
        number = as_number(given)
        if number is None or number < 0:
            self.note(f"the margin {given!r} is neither a number nor a percentage: 0 is taken")
            return Margin()
        return Margin(number)

    def paths(self, key: str) -> tuple[str, ...]:
        given = self.given.get(key)
        listed = given if isinstance(given, list) else [] if given is None else [given]
        paths = tuple(path.strip() for path in listed if isinstance(path, str) and path.strip())
        if len(paths) < len(listed):
            self.note(f"{key.replace('_', '-')} {given!r} is no list of paths: what is no path is left out")
        return paths

    def direction(self) -> Direction:
        given = str(self.given.get("metric_direction") or "higher").strip().casefold()
        if given not in {"lower", "higher"}:
            self.note(f"the direction {given!r} is neither higher nor lower: higher is taken")
        return "lower" if given == "lower" else "higher"

    def target_metric(self) -> float | None:
        given = self.given.get("target_metric")
        number = as_number(given)
        if given is not None and number is None:
            self.note(f"the target metric {given!r} is no number: there is no target")
        return number

    def limits(self) -> Limits:
        given = self.given.get("limits")
        limits = given if isinstance(given, dict) else {}
        numbers = {key: limit for key, limit in limits.items() if isinstance(limit, int | float)}
        return Limits(
            int(numbers.get("iterations", 0)),
            int(numbers.get("tokens", 0)),
            float(numbers.get("money", 0)),
            float(numbers.get("hours", 0)) * _SECONDS,
        )
