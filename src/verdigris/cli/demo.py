"""`tdd demo`: a scripted agent meets the laws, on the screen."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from verdigris.cli import inspection
from verdigris.cli.context import show
from verdigris.core.languages import DEFAULT_LANGUAGE, READ_LANGUAGES
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from verdigris.core.records import Actor
    from verdigris.drivers.demo import Scene
    from verdigris.drivers.happenings import Happening, RunEnded, Watcher
    from verdigris.views.demo import Row, Tone

LANGUAGES = READ_LANGUAGES
_COLOURS: dict[Tone, str] = {
    "title": "1",
    "wish": "1",
    "code": "36",
    "command": "0",
    "denied": "1;33",
    "red": "1;31",
    "rejected": "1;35",
    "accepted": "1;32",
    "quiet": "2",
}
"""None of the four answers shares a colour with another, nor with the code."""
_WIDEST = 80
_PAUSES: dict[str, float] = {
    "EditScene": 0.25,
    "DeniedScene": 0.4,
    "RedScene": 0.4,
    "PlainRun": 0.6,
    "JudgedScene": 0.5,
    "Moral": 1.2,
}
"""By kind of scene, in seconds, on a terminal only: to see what is written before the answer comes."""
_SLOW = 18.0
"""Seconds after which there are no more pauses: on a slow computer the tests make enough of them."""
_REPLAY = "The roles' answers are recorded; the verdicts are made now."
_FAREWELL = "now yours: `tdd init` in a repository of your own; `tdd help tutorial`"


@click.command("demo")
@click.option(
    "--lang", type=click.Choice(LANGUAGES), default=DEFAULT_LANGUAGE, help="The language of the play."
)
def command(lang: str) -> int:
    """Watch a scripted agent in a temporary repository: each answer is the kernel's own.

    With --lang the play is in JavaScript (node), Rust or Go, by the tool that is on PATH.
    """
    from verdigris.drivers.demo.play import play, prepare, script_of

    script = script_of(lang)
    screen = DemoScreen()
    screen.legend()
    project = prepare(script)
    play(script, project, screen)
    found = project.log.verify()
    show([Line(""), *inspection.verification_lines(found), Line(f"  its repository: {project.root}")])
    accepted = any(record.type == "accepted" for record in project.log.records(reverse=True))
    done = found.whole and accepted
    if lang == DEFAULT_LANGUAGE:
        done = _machine(screen) and _cycle(screen) and done
    show([Line(""), Line(_FAREWELL)])
    return 0 if done else 1


class DemoScreen:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._live = sys.stdout.isatty()
        self._plain = not self._live or bool(os.environ.get("NO_COLOR") or os.environ.get("CI"))
        self._width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) if self._live else _WIDEST

    def legend(self) -> None:
        from verdigris.views.demo import LEGEND

        sys.stdout.write("   ".join(self._colour(text, tone) for text, tone in LEGEND) + "\n")

    def show(self, scene: Scene) -> None:
        from verdigris.views.demo import rows

        self._write(rows(scene, self._width))
        if self._live and time.monotonic() - self._began < _SLOW:
            time.sleep(_PAUSES.get(type(scene).__name__, 0.0))

    def watch(self, happening: Happening) -> None:
        from verdigris.views.demo import machine_rows

        self._write(machine_rows(happening, self._width))

    def _write(self, rows: Iterable[Row]) -> None:
        sys.stdout.writelines(f"{self._colour(row.text, row.tone)}\n" for row in rows)
        sys.stdout.flush()

    def _colour(self, text: str, tone: Tone) -> str:
        colour = _COLOURS.get(tone)
        return text if self._plain or colour is None or not text else f"\x1b[{colour}m{text}\x1b[0m"


def _machine(screen: DemoScreen) -> bool:
    """The other half of the product, on a real kata."""
    from verdigris.drivers.demo.play import build_kata

    return _show_replay(screen, "The machine builds a kata", build_kata)


def _cycle(screen: DemoScreen) -> bool:
    from verdigris.drivers.demo.play import build_spec

    return _show_replay(screen, "A spec becomes evidence", build_spec)


def _show_replay(screen: DemoScreen, title: str, build: Callable[[Path, Actor, Watcher], RunEnded]) -> bool:
    import tempfile
    from pathlib import Path

    from verdigris.cli.context import PERSON
    from verdigris.cli.drivers.machine import SUCCEEDED
    from verdigris.drivers.demo import Act
    from verdigris.storage.project import open_project

    root = Path(tempfile.mkdtemp(prefix="tdd-demo-"))
    screen.show(Act(title, _REPLAY))
    ended = build(root, PERSON, screen.watch)
    found = open_project(root, PERSON).log.verify()
    show([*inspection.verification_lines(found), Line(f"  its commits: git -C {root} log")])
    return found.whole and ended.outcome in SUCCEEDED
