"""Renders the demo: each kind of answer has its own sign and colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Literal

from verdigris.core.value import value
from verdigris.core.verdict import Kind
from verdigris.drivers import demo as s
from verdigris.drivers import happenings as w
from verdigris.views.lines import count_of, make_visible
from verdigris.views.run import changed_lines

Tone = Literal["title", "wish", "code", "command", "denied", "red", "rejected", "accepted", "quiet", "plain"]
_SIGNS: dict[Tone, str] = {"denied": "✗", "red": "●", "rejected": "◆", "accepted": "✔"}
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


def rows(scene: s.Scene, width: int) -> list[Row]:
    """The rows of a scene, wrapped at words; code is cut at the screen's width."""
    return [part for row in _rows(scene, width) for part in _fit_row(row, width)]


def _rows(scene: s.Scene, width: int) -> Iterator[Row]:
    match scene:
        case s.Act():
            yield from (Row(""), Row(f"── {scene.title} ".ljust(width, "─"), "title"))
            if scene.about:
                yield Row(scene.about)
        case s.Wish():
            yield Row(scene.text, "wish")
        case s.EditScene():
            written = [line for line in scene.lines if line.startswith("+")]
            yield from (Row(f"{MARGIN}│ {line}", "code") for line in (written or scene.lines)[:_MOST_CODE])
        case s.CommandScene():
            yield Row(f"{MARGIN}$ {scene.text}", "command")
        case s.AllowedScene() | s.Passing():
            yield Row(f"{MARGIN}· {scene.text}", "quiet")
        case s.DeniedScene():
            yield _sign_row("denied", f"denied [{scene.rule}]")
            yield Row(f"{_DEEPER}{scene.reason}")
        case s.RedScene():
            yield from _red_scene(scene)
        case s.PlainRun():
            says = "green" if scene.green else "red"
            yield Row(f"{MARGIN}· plain {scene.tool} says {says}: {' '.join(scene.output[-1:])}", "wish")
        case s.Moral():
            yield Row(f"{MARGIN}→ {scene.text}", "wish")
        case s.JudgedScene():
            yield from _verdict_rows(scene)


def _red_scene(scene: s.RedScene) -> Iterator[Row]:
    if scene.wrong:
        yield _sign_row("denied", "red, but not for the right reason")
        yield from (Row(f"{_DEEPER}{text}") for text in (scene.failure, scene.wrong) if text)
        yield Row(f"{_DEEPER}next: {scene.next}", "quiet")
    else:
        yield _red_row(scene.failure)


def _verdict_rows(scene: s.JudgedScene) -> Iterator[Row]:
    accepted = scene.kind is Kind.ACCEPTED
    said = f"accepted: {scene.what}" if accepted else f"{scene.kind}"
    yield _sign_row("accepted" if accepted else "rejected", said)
    if scene.assertion:
        yield Row(f"{_DEEPER}│ {scene.assertion}", "code")
    yield from (Row(f"{_DEEPER}{reason}") for reason in scene.reasons[:1])


def machine_rows(happening: w.Happening, width: int) -> list[Row]:
    """The rows for a happening of the machine."""
    return [part for row in _machine_rows(happening) for part in _fit_row(row, width)]


def _machine_rows(happening: w.Happening) -> Iterator[Row]:
    match happening:
        case w.StepEnded():
            yield Row(
                f"The {_role(happening)}: {happening.subject or happening.why.partition(';')[0]}", "wish"
            )
            yield from _changes(happening.diff)
            if happening.tests:
                yield _red_row(happening.tests[0].splitlines()[-1].strip())
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


def _role(step: w.StepEnded) -> str:
    return step.role.replace("_", " ")


def _red_row(failure: str) -> Row:
    return _sign_row("red", f"red for the right reason: {failure}")


def _sign_row(tone: Tone, text: str) -> Row:
    return Row(f"{MARGIN}{_SIGNS[tone]} {text}", tone)


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
