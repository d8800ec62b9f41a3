"""The live view of a run: finished steps scroll by, the open one stands below them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from verdigris.core.value import replace, value
from verdigris.drivers import happenings as w
from verdigris.views import machine as view
from verdigris.views.lines import visible, wrap
from verdigris.views.machine import DOTS, passed_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from verdigris.views.lines import Line


_PASSED = "·"


@value
class Glance:
    first: int = 0
    last: int = 0
    step: int = 0
    role: str = ""
    player: str = ""
    attempt: int = 0
    attempts: int = 0
    tokens: int = 0
    cached: int = 0
    dots: tuple[tuple[str, str], ...] = ()
    """A mark and its colour, one for each step that has ended."""
    verdict: str = ""
    doing: str = ""


def after(glance: Glance, happening: w.Happening) -> Glance:
    match happening:
        case w.RunBegan():
            return replace(glance, first=happening.first, last=happening.last)
        case w.StepBegan():
            return replace(
                glance,
                step=happening.step,
                role=happening.role,
                player=happening.player,
                attempt=0,
                attempts=happening.attempts,
                doing="reads",
            )
        case w.Attempted():
            return replace(glance, attempt=happening.attempt, doing="writes")
        case w.Asked():
            cached = glance.cached + happening.cached
            return replace(glance, tokens=happening.total, cached=cached, doing="is judged")
        case w.Delayed():
            return replace(glance, doing=f"waits: {happening.why}")
        case w.Refused():
            return replace(glance, verdict=f"attempt {happening.attempt} was refused", doing="tries again")
        case w.StepEnded():
            dot = ("●", DOTS[happening.role]) if happening.commit else (_PASSED, passed_by(happening))
            verdict = happening.verdict or happening.outcome
            return replace(glance, dots=(*glance.dots, dot), verdict=verdict, doing="")
        case _:
            return glance


def glance_lines(glance: Glance, elapsed: float) -> list[str]:
    """Two lines below the dots."""
    minutes, seconds = divmod(int(elapsed), 60)
    attempt = f", attempt {glance.attempt} of {glance.attempts}" if glance.attempt else ""
    doing = f" {glance.doing}" if glance.doing else ""
    cached = f" ({glance.cached} cached)" if glance.cached else ""
    of = f" of {glance.last}" if glance.last else ""
    return [
        f"step {glance.step}{of}: the {glance.role}{doing}{attempt}  ({glance.player})",
        f"{minutes}:{seconds:02}  {glance.tokens} tokens{cached}  {glance.verdict}",
    ]


SCROLLING = (w.RunBegan, w.CycleBegan, w.Told, w.StepEnded, w.Refused, w.Noted, w.YourTurn, w.RunEnded)


@contextmanager
def watch_run() -> Iterator[w.Watcher]:
    shown = Shown()
    try:
        yield shown.watch
    finally:
        shown.rest()


class Shown:
    """Lines that scroll by, and the open step below them while nobody types."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False)
        self._screen = MachineScreen()
        self._live: Live | None = None

    def watch(self, happening: w.Happening) -> None:
        if isinstance(happening, w.YourTurn):
            self.rest()  # whoever types needs the line to themselves
        elif self._live is None:
            self._live = self._start_live()
        self._screen.glance = after(self._screen.glance, happening)
        if isinstance(happening, SCROLLING):
            for line in view.lines(happening):
                for part in wrap(line, self._console.width):
                    self._console.print(_text(part), soft_wrap=True)

    def _start_live(self) -> Live:
        """Makes a new one each time: one that is started again clears as many lines as it had before."""
        live = Live(
            console=self._console, get_renderable=self._screen.render, refresh_per_second=4, transient=True
        )
        live.start()
        return live

    def rest(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class MachineScreen:
    def __init__(self) -> None:
        self.glance = Glance()
        self._began = time.monotonic()

    def render(self) -> RenderableType:
        if not self.glance.step:
            return Text("")
        dots = Text(" ").join(Text(mark, style=colour) for mark, colour in self.glance.dots)
        lines = glance_lines(self.glance, time.monotonic() - self._began)
        return Group(dots, *(Text(visible(line), no_wrap=True, overflow="ellipsis") for line in lines))


def _text(line: Line) -> Text:
    dot = [("● ", line.dot)] if line.dot else []
    return Text.assemble(*dot, (visible(line.text), _style(line)))


def _style(line: Line) -> str:
    """The style of a line of a diff: new or gone."""
    first = line.text.strip()[:1] if line.code else ""
    return {"+": "green", "-": "red"}.get(first, "")
