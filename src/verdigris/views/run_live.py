"""The live view of a run: finished steps scroll by, and the open one is shown below them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from verdigris.core.value import replace, value
from verdigris.drivers import happenings as w
from verdigris.views import run as view
from verdigris.views.lines import Line, make_visible, wrap
from verdigris.views.run import DOTS, dot_of_step
from verdigris.views.status import HARNESS_COLOURS, HARNESS_MARKS, MOST_MARKS, count_harness, sparkline

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
    program: str = ""
    iteration: int = 0
    phase: str = ""
    harness: tuple[str, ...] = ()
    """The status of each behaviour that a program pinned."""
    metrics: tuple[float, ...] = ()
    target_metric: float | None = None
    cost: float | None = None
    note: str = ""
    """The last note of a program."""


def after(glance: Glance, happening: w.Happening) -> Glance:
    match happening:
        case w.RunBegan():
            return replace(glance, first=happening.first, last=happening.last)
        case w.DaemonRests():
            return Glance(note=f"rests until {happening.until}: {happening.why}")
        case w.ProgramBegan() | w.IterationBegan() | w.PhaseBegan() | w.IterationDone() | w.Noted():
            return _after_iteration(glance, happening)
        case w.StepBegan():
            return replace(
                glance,
                step=happening.step,
                role=happening.role,
                player=happening.player,
                attempt=0,
                attempts=happening.attempts,
                phase=happening.phase,
                doing="reads",
            )
        case w.Attempted():
            return replace(glance, attempt=happening.attempt, doing="writes")
        case w.Asked():
            cached = glance.cached + happening.cached
            return replace(
                glance, tokens=happening.total, cached=cached, cost=happening.cost, doing="is judged"
            )
        case w.Delayed():
            return replace(glance, doing=f"waits: {happening.why}")
        case w.Refused():
            return replace(glance, verdict=f"attempt {happening.attempt} was refused", doing="tries again")
        case w.StepEnded():
            dot = ("●", DOTS[happening.role]) if happening.commit else (_PASSED, dot_of_step(happening))
            verdict = happening.verdict or happening.outcome
            harness = _after_step(glance.harness, happening.outcome)
            return replace(glance, dots=(*glance.dots, dot), verdict=verdict, doing="", harness=harness)
        case _:
            return glance


def _after_iteration(
    glance: Glance, happening: w.ProgramBegan | w.IterationBegan | w.PhaseBegan | w.IterationDone | w.Noted
) -> Glance:
    match happening:
        case w.ProgramBegan():
            return Glance(
                program=happening.program,
                harness=happening.harness,
                metrics=happening.metrics,
                target_metric=happening.target_metric,
            )
        case w.IterationBegan():
            return replace(glance, iteration=happening.number, phase="", role="", doing="")
        case w.PhaseBegan():
            return replace(glance, iteration=happening.iteration, phase=happening.phase, role="", doing="")
        case w.IterationDone():
            told = replace(glance, harness=happening.harness, metrics=happening.metrics)
            return replace(told, verdict=happening.status, phase="", role="")
        case w.Noted():
            return replace(glance, note=happening.text)


def _after_step(harness: tuple[str, ...], outcome: str) -> tuple[str, ...]:
    """Shows a new red, or the last red made green, before the iteration ends."""
    if outcome == "red":
        return (*harness, "failing")
    if outcome == "green" and "failing" in harness:
        at = len(harness) - 1 - harness[::-1].index("failing")
        return (*harness[:at], "passing", *harness[at + 1 :])
    return harness


def glance_lines(glance: Glance, elapsed: float) -> list[str]:
    """The lines below the dots: two, and for a program its last note."""
    minutes, seconds = divmod(int(elapsed), 60)
    if glance.program:
        return _program_lines(glance, f"{minutes}:{seconds:02}")
    attempt = f", attempt {glance.attempt} of {glance.attempts}" if glance.attempt else ""
    doing = f" {glance.doing}" if glance.doing else ""
    cached = f" ({glance.cached} cached)" if glance.cached else ""
    of = f" of {glance.last}" if glance.last else ""
    return [
        f"step {glance.step}{of}: the {glance.role}{doing}{attempt}  ({glance.player})",
        f"{minutes}:{seconds:02}  {glance.tokens} tokens{cached}  {glance.verdict}",
    ]


def _program_lines(glance: Glance, elapsed: str) -> list[str]:
    attempt = f", attempt {glance.attempt} of {glance.attempts}" if glance.attempt and glance.role else ""
    doing = f" {glance.doing}" if glance.doing else ""
    role = f": the {glance.role}{doing}{attempt}  ({glance.player})" if glance.role else ""
    phase = f": {glance.phase}{role}" if glance.phase else ""
    iteration = f", iteration {glance.iteration}" if glance.iteration else ""
    best = f" {glance.metrics[-1]:g}" if glance.metrics else ""
    target = "" if glance.target_metric is None else f" of {glance.target_metric:g}"
    metric = f"metric {sparkline(glance.metrics)}{best}{target}" if glance.metrics else ""
    tokens = f"{glance.tokens} tokens" + (f" ({glance.cached} cached)" if glance.cached else "")
    cost = "" if glance.cost is None else f"cost {glance.cost:.2f}"
    parts = (elapsed, metric, tokens, cost, glance.verdict)
    # Always the same number of lines: if it changes while another line is printed, one stays behind.
    return [f"{glance.program}{iteration}{phase}", "  ".join(filter(None, parts)), glance.note]


SCROLLING = (
    *(w.RunBegan, w.CycleBegan, w.ProgramBegan, w.IterationBegan, w.IterationDone),
    *(w.Told, w.StepEnded, w.Refused, w.Noted, w.YourTurn, w.RunEnded, w.DaemonEnded),
)


@contextmanager
def watch_run() -> Iterator[w.Watcher]:
    shown = Shown()
    try:
        yield shown.watch
    finally:
        shown.rest()


class Shown:
    """Prints lines that scroll by, and shows the open step below them while nobody types."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False)
        self._screen = MachineScreen()
        self._live: Live | None = None

    def watch(self, happening: w.Happening) -> None:
        if isinstance(happening, w.YourTurn):
            self.rest()  # a person types there
        elif self._live is None:
            self._live = self._start_live()
        self._screen.glance = after(self._screen.glance, happening)
        if isinstance(happening, SCROLLING):
            for line in view.lines(happening):
                for part in wrap(line, self._console.width):
                    self._console.print(line_text(part), soft_wrap=True)

    def _start_live(self) -> Live:
        """Makes a new one each time: a restarted one would clear lines of its earlier height."""
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
        if not self.glance.step and not self.glance.program:
            note = Text(make_visible(self.glance.note), no_wrap=True, overflow="ellipsis")
            return Group(note, *[Text("")] * 3) if self.glance.note else Text("")
        dots = _harness(self.glance.harness) if self.glance.program else _steps(self.glance.dots)
        lines = glance_lines(self.glance, time.monotonic() - self._began)
        return Group(dots, *(Text(make_visible(line), no_wrap=True, overflow="ellipsis") for line in lines))


def _steps(dots: tuple[tuple[str, str], ...]) -> Text:
    return Text(" ").join(Text(mark, style=colour) for mark, colour in dots)


def _harness(statuses: tuple[str, ...]) -> Text:
    """A dot for each behaviour, and the number of each status."""
    shown = statuses[-MOST_MARKS:]
    marks = [(HARNESS_MARKS.get(one, "·"), HARNESS_COLOURS.get(one, "")) for one in shown]
    more = "…" if len(statuses) > len(shown) else ""
    return Text.assemble(more, *marks, f"  {count_harness(statuses)}" if statuses else "nothing pinned yet")


def line_text(line: Line) -> Text:
    dot = [("● ", line.dot)] if line.dot else []
    return Text.assemble(*dot, (make_visible(line.text), _style(line)))


def _style(line: Line) -> str:
    """The colour of an added or a removed line."""
    first = line.text.strip()[:1] if line.code else ""
    return {"+": "green", "-": "red"}.get(first, "")
