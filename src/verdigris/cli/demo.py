"""`tdd demo`: a scripted agent meets the laws, on the screen."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from verdigris.cli.context import show
from verdigris.core.events import Accepted
from verdigris.core.languages import DEFAULT_LANGUAGE, READ_LANGUAGES
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from verdigris.core.records import Actor
    from verdigris.drivers.demo import Scene, SceneKind
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
_PAUSES: dict[SceneKind, float] = {
    "edit": 0.25,
    "denied": 0.4,
    "red": 0.4,
    "wrong-red": 0.4,
    "plain": 0.6,
    "rejected": 0.5,
    "accepted": 0.5,
    "moral": 1.2,
}
"""By kind of scene, in seconds, on a terminal only: to see what is written before the answer comes."""
_SLOW = 18.0
"""Seconds after which there are no more pauses: on a slow computer the tests make enough of them."""
_KATA = (
    "A kata is a small exercise: tell leap years. Three roles take turns, each a model's in real life; here "
    "their answers are recorded, and the verdicts are made now."
)
_SPEC = (
    "A spec is a page of examples, written by whoever wants the feature; here: an order of 49.99 costs 4.95 "
    "to ship, one of 50.00 costs 1.00. Four roles lead it to code, and none marks its own work: one plans, "
    "one writes the tests, one checks them, one writes the code, with the tests frozen. (Recorded, too.)"
)
_EVIDENCE = ".tdd/evidence/EVID-001.md says which test shows which example, and who checked."
_FAREWELL = "now yours: `tdd init` in a repository of your own; `tdd help tutorial`"


@click.command("demo")
@click.option(
    "--lang", type=click.Choice(LANGUAGES), default=DEFAULT_LANGUAGE, help="The language of the play."
)
def command(lang: str) -> int:
    """Watch a scripted agent in a temporary repository: each answer is the kernel's own.

    With --lang the play is in JavaScript (node), Rust or Go, by the tool that is on PATH.
    """
    from verdigris.drivers.demo import Scene
    from verdigris.drivers.demo.play import play, prepare, script_of

    script = script_of(lang)
    screen = DemoScreen()
    screen.legend()
    project = prepare(script)
    play(script, project, screen)
    found = project.log.verify()
    accepted = any(record.type == Accepted.kind() for record in project.log.records(reverse=True))
    done, roots = found.whole and accepted, [project.root]
    if lang == DEFAULT_LANGUAGE:
        from verdigris.drivers.demo.play import build_kata, build_spec

        for title, about, build in (
            ("A machine builds a kata", _KATA, build_kata),
            ("A spec becomes evidence", _SPEC, build_spec),
        ):
            root, whole = _show_replay(screen, Scene("act", title, more=(about,)), build)
            done, roots = done and whole, [*roots, root]
        show([Line(_EVIDENCE)])
    logs = "the logs are intact" if done else "a log is damaged, or something was not accepted"
    show([Line(""), Line(f"{logs}; the folders are kept, for you to look at and to remove:")])
    show([*(Line(f"  {root}") for root in roots), Line(_FAREWELL)])
    return 0 if done else 1


class DemoScreen:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._live = sys.stdout.isatty()
        self._plain = not self._live or bool(os.environ.get("NO_COLOR") or os.environ.get("CI"))
        self._reader = self._live and sys.stdin.isatty()
        self._acts = 0
        self._width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) if self._live else _WIDEST

    def legend(self) -> None:
        from verdigris.views.demo import LEGEND

        sys.stdout.write("   ".join(self._colour(text, tone) for text, tone in LEGEND) + "\n")

    def show(self, scene: Scene) -> None:
        from verdigris.views.demo import rows

        if scene.kind == "act":
            self._wait_for_reader()
        self._write(rows(scene, self._width))
        if self._live and time.monotonic() - self._began < _SLOW:
            time.sleep(_PAUSES.get(scene.kind, 0.0))

    def _wait_for_reader(self) -> None:
        """Before each act but the first: an act fits a screen, and is read before the next one comes."""
        self._acts += 1
        if self._reader and self._acts > 1:
            click.prompt("Enter: the next act", default="", show_default=False, prompt_suffix=" ")
            self._began = time.monotonic()

    def watch(self, happening: Happening) -> None:
        from verdigris.views.demo import machine_rows

        self._write(machine_rows(happening, self._width))

    def _write(self, rows: Iterable[Row]) -> None:
        sys.stdout.writelines(f"{self._colour(row.text, row.tone)}\n" for row in rows)
        sys.stdout.flush()

    def _colour(self, text: str, tone: Tone) -> str:
        colour = _COLOURS.get(tone)
        return text if self._plain or colour is None or not text else f"\x1b[{colour}m{text}\x1b[0m"


def _show_replay(
    screen: DemoScreen, act: Scene, build: Callable[[Path, Actor, Watcher], RunEnded]
) -> tuple[Path, bool]:
    """The folder that it was played in, and whether all went well."""
    import tempfile
    from pathlib import Path

    from verdigris.cli.context import PERSON
    from verdigris.cli.drivers.machine import SUCCEEDED
    from verdigris.storage.project import open_project

    root = Path(tempfile.mkdtemp(prefix="tdd-demo-"))
    screen.show(act)
    ended = build(root, PERSON, screen.watch)
    found = open_project(root, PERSON).log.verify()
    return root, found.whole and ended.outcome in SUCCEEDED
