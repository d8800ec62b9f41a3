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
    last: int = 0
    """The last step of the machine's run."""
    step: w.StepBegan | None = None
    """None between the phases of a program."""
    attempt: int = 0
    doing: str = ""
    asked: w.Asked | None = None
    cached: int = 0
    """Tokens of the run so far."""
    dots: tuple[tuple[str, str], ...] = ()
    """A mark and its colour, one for each step that has ended."""
    verdict: str = ""
    program: w.ProgramBegan | None = None
    iteration: int = 0
    phase: str = ""
    harness: tuple[str, ...] = ()
    """The status of each behaviour that a program pinned."""
    metrics: tuple[float, ...] = ()
    note: str = ""
    """The last note of a program."""


def after(glance: Glance, happening: w.Happening) -> Glance:
    match happening:
        case w.StepBegan():
            return replace(glance, step=happening, phase=happening.phase, attempt=0, doing="reads")
        case w.Attempted():
            return replace(glance, attempt=happening.attempt, doing="writes")
        case w.Asked():
            return replace(
                glance, asked=happening, cached=glance.cached + happening.cached, doing="is judged"
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
            return _after_round(glance, happening)


def _after_round(glance: Glance, happening: w.Happening) -> Glance:
    """What is told around the steps: of a run, a program and its iterations."""
    match happening:
        case w.RunBegan():
            return replace(glance, last=happening.last)
        case w.DaemonRests():
            return Glance(note=f"rests until {happening.until}: {happening.why}")
        case w.ProgramBegan():
            return Glance(program=happening, harness=happening.harness, metrics=happening.metrics)
        case w.IterationBegan():
            return replace(glance, iteration=happening.number, phase="", step=None)
        case w.PhaseBegan():
            return replace(glance, iteration=happening.iteration, phase=happening.phase, step=None)
        case w.IterationDone(harness=harness, metrics=metrics, status=status):
            return replace(glance, harness=harness, metrics=metrics, verdict=status, phase="", step=None)
        case w.Noted():
            return replace(glance, note=happening.text)
        case _:
            return glance


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
    time_passed, step = f"{minutes}:{seconds:02}", glance.step
    tokens = f"{glance.asked.total if glance.asked else 0} tokens"
    tokens += f" ({glance.cached} cached)" if glance.cached else ""
    role = ""
    if step is not None:
        attempt = f", attempt {glance.attempt} of {step.attempts}" if glance.attempt else ""
        doing = f" {glance.doing}" if glance.doing else ""
        role = f": the {step.role}{doing}{attempt}  ({step.player})"
    if glance.program is None:
        of = f" of {glance.last}" if glance.last else ""
        number = step.step if step else 0
        return [f"step {number}{of}{role}", f"{time_passed}  {tokens}  {glance.verdict}"]
    phase = f": {glance.phase}{role}" if glance.phase else ""
    iteration = f", iteration {glance.iteration}" if glance.iteration else ""
    cost = "" if glance.asked is None or glance.asked.cost is None else f"cost {glance.asked.cost:.2f}"
    parts = (time_passed, _show_metrics(glance.metrics, glance.program), tokens, cost, glance.verdict)
    # Always the same number of lines: if it changes while another line is printed, one stays behind.
    return [f"{glance.program.program}{iteration}{phase}", "  ".join(filter(None, parts)), glance.note]


def _show_metrics(metrics: tuple[float, ...], program: w.ProgramBegan) -> str:
    target = "" if program.target_metric is None else f" of {program.target_metric:g}"
    return f"metric {sparkline(metrics)} {metrics[-1]:g}{target}" if metrics else ""


SCROLLING = (
    *(w.RunBegan, w.CycleBegan, w.ProgramBegan, w.IterationBegan, w.IterationDone),
    *(w.Told, w.StepEnded, w.Refused, w.Noted, w.YourTurn, w.RunEnded, w.DaemonEnded),
)


@contextmanager
def watch_run() -> Iterator[w.Watcher]:
    screen = RunScreen()
    try:
        yield screen.watch
    finally:
        screen.rest()


class RunScreen:
    """Prints lines that scroll by, and shows the open step below them while nobody types."""

    def __init__(self) -> None:
        self.glance = Glance()
        self._began = time.monotonic()
        self._console = Console(highlight=False, markup=False)
        self._live: Live | None = None

    def watch(self, happening: w.Happening) -> None:
        if isinstance(happening, w.YourTurn):
            self.rest()  # a person types there
        elif self._live is None:
            # A new one each time: a restarted one would clear lines of its earlier height.
            self._live = Live(
                console=self._console, get_renderable=self.render, refresh_per_second=4, transient=True
            )
            self._live.start()
        self.glance = after(self.glance, happening)
        if isinstance(happening, SCROLLING):
            for line in view.lines(happening):
                for part in wrap(line, self._console.width):
                    self._console.print(line_text(part), soft_wrap=True)

    def rest(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

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
