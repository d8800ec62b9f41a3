"""Renders the demo: each kind of answer has its own sign and colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value
from verdigris.drivers import happenings as w
from verdigris.views.lines import count_of, make_visible
from verdigris.views.run import changed_lines

if TYPE_CHECKING:
    from verdigris.drivers.demo import Scene, SceneKind

Tone = Literal["title", "wish", "code", "command", "denied", "red", "rejected", "accepted", "quiet", "plain"]
_SIGNS: dict[SceneKind, tuple[str, Tone]] = {
    "command": ("$", "command"),
    "quiet": ("·", "quiet"),
    "plain": ("·", "wish"),
    "moral": ("→", "wish"),
    "denied": ("✗", "denied"),
    "wrong-red": ("✗", "denied"),
    "red": ("●", "red"),
    "rejected": ("◆", "rejected"),
    "accepted": ("✔", "accepted"),
}
MARGIN = "  "
_DEEPER = MARGIN * 2
_MOST_CODE = 8
_LAST_CODE = 2


@value
class Row:
    text: str
    tone: Tone = "plain"


LEGEND: tuple[tuple[str, Tone], ...] = (
    ("✗ denied", "denied"),
    ("● red for the right reason", "red"),
    ("◆ not accepted", "rejected"),
    ("✔ accepted", "accepted"),
)


def rows(scene: Scene, width: int) -> list[Row]:
    """The rows of a scene, wrapped at words; code is cut at the screen's width."""
    return [part for row in _rows(scene, width) for part in _fit_row(row, width)]


def _rows(scene: Scene, width: int) -> Iterator[Row]:
    match scene.kind:
        case "act":
            yield from (Row(""), Row(f"── {scene.text} ".ljust(width, "─"), "title"))
            yield from map(Row, scene.more)
        case "wish":
            yield Row(scene.text, "wish")
        case "edit":
            written = [line for line in scene.code if line.startswith("+")]
            yield from (Row(f"{MARGIN}│ {line}", "code") for line in (written or scene.code)[:_MOST_CODE])
        case kind:
            yield _sign_row(kind, scene.text)
            yield from (Row(f"{_DEEPER}│ {line}", "code") for line in scene.code)
            yield from (Row(f"{_DEEPER}{sentence}") for sentence in scene.more)
            if scene.next:
                yield Row(f"{_DEEPER}next: {scene.next}", "quiet")


def machine_rows(happening: w.Happening, width: int) -> list[Row]:
    """The rows for a happening of the machine."""
    return [part for row in _machine_rows(happening) for part in _fit_row(row, width)]


def _machine_rows(happening: w.Happening) -> Iterator[Row]:
    match happening:
        case w.StepEnded():
            about = happening.subject or happening.why.partition(";")[0]
            yield Row(f"The {happening.role.replace('_', ' ')}: {about}", "wish")
            yield from _changes(happening.diff)
            if happening.tests:
                failure = happening.tests[0].splitlines()[-1].strip()
                yield _sign_row("red", f"red for the right reason: {failure}")
            elif happening.verdict:
                yield _sign_row("accepted", happening.verdict)
        case w.Refused():
            yield _sign_row("denied", f"the {happening.role} is refused: {happening.why}")
        case w.RunEnded():
            made = f"{count_of(happening.steps, 'step')}, {count_of(len(happening.commits), 'commit')}"
            yield Row(f"{made}; the log has the proof of each.")


def _changes(diff: str) -> Iterator[Row]:
    """The last lines that were written: of a test its name and its assertion."""
    written = [line for line in changed_lines(diff) if line.startswith("+") and not line.startswith("+++ ")]
    yield from (Row(f"{MARGIN}│ + {line[1:]}", "code") for line in written[-_LAST_CODE:])


def _sign_row(kind: SceneKind, text: str) -> Row:
    sign, tone = _SIGNS[kind]
    return Row(f"{MARGIN}{sign} {text}", tone)


def _fit_row(row: Row, width: int) -> list[Row]:
    text = make_visible(row.text)
    if len(text) <= width:
        return [Row(text, row.tone)]
    if row.tone in {"code", "red"}:
        return [Row(f"{text[: width - 1]}…", row.tone)]
    margin = re.match(r" *", text)
    indent = " " * (margin.end() if margin else 0)
    parts = textwrap.wrap(
        text.lstrip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + (MARGIN if row.tone in {"command", "quiet"} else ""),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [Row(part, row.tone) for part in parts]
