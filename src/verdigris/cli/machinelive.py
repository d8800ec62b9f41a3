"""The live view of a run on a terminal: finished steps scroll by, the open one stands below them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from verdigris.drivers.machine import watching as w
from verdigris.views import machine as view
from verdigris.views.line import visible, wrapped
from verdigris.views.machinelive import Glance, after, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from verdigris.views.line import Line

SCROLLING = (w.RunBegan, w.StepEnded, w.Refused, w.Noted, w.YourTurn, w.RunEnded)


@contextmanager
def watched() -> Iterator[w.Watcher]:
    console = Console(highlight=False, markup=False)
    screen = Screen()
    with Live(console=console, get_renderable=screen.render, refresh_per_second=4, transient=True) as live:

        def watch(happening: w.Happening) -> None:
            if isinstance(happening, w.YourTurn):
                # Whoever types needs the line to themselves.
                live.stop()
            elif not live.is_started:
                live.start()
            screen.glance = after(screen.glance, happening)
            if isinstance(happening, SCROLLING):
                told = [part for line in view.lines(happening) for part in wrapped(line, console.width)]
                for line in told:
                    live.console.print(_text(line), soft_wrap=True)

        yield watch


class Screen:
    def __init__(self) -> None:
        self.glance = Glance()
        self._began = time.monotonic()

    def render(self) -> RenderableType:
        if not self.glance.step:
            return Text("")
        dots = Text(" ").join(Text(mark, style=colour) for mark, colour in self.glance.dots)
        lines = told(self.glance, time.monotonic() - self._began)
        return Text("\n").join(
            [dots, *(Text(visible(line), no_wrap=True, overflow="ellipsis") for line in lines)]
        )


def _text(line: Line) -> Text:
    dot = [("● ", line.dot)] if line.dot else []
    return Text.assemble(*dot, (visible(line.text), _style(line)))


def _style(line: Line) -> str:
    """Of a difference: what is new and what is gone."""
    first = line.text.strip()[:1] if line.code else ""
    return {"+": "green", "-": "red"}.get(first, "")
