"""The screen of `tdd code`: draws the panes of a session, and takes tasks, commands and answers by keyboard.

The session works in another process (`code_process`), so the screen never waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from verdigris.core.value import replace
from verdigris.drivers.code.commands import QUIT, CommandAnswer
from verdigris.drivers.code.facts import SessionFacts
from verdigris.views import code as panes
from verdigris.views.code import PANES, Cancel, SessionView, view_after
from verdigris.views.code_widgets import Pane, Prompt, Question
from verdigris.views.lines import Line
from verdigris.views.run_live import line_text

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from textual.events import Resize

HINTS = "Enter sends · Tab next pane · PgUp PgDn scroll · /help · Ctrl-D ends"
_TICK = 0.5


class CodeScreen(App[None]):
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "code_screen.tcss"
    BINDINGS: ClassVar = [
        Binding("ctrl+c", "interrupt", priority=True),
        Binding("ctrl+d", "end", priority=True),
        Binding("ctrl+q", "end", priority=True),
        Binding("tab", "turn_to(1)", priority=True),
        Binding("shift+tab", "turn_to(-1)", priority=True),
        Binding("pageup", "page(-1)", priority=True),
        Binding("pagedown", "page(1)", priority=True),
    ]

    def __init__(self, channel: Connection, first: panes.ScreenMessage) -> None:
        super().__init__()
        self.view = view_after(SessionView(doing="the session is opened"), first)
        self._channel = channel
        self._queued: list[str] = []
        self._current = PANES[0]
        self._opened = self._turned = time.monotonic()

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        with Horizontal(id="panes"):
            yield Pane(PANES[0])
            with Vertical(id="side"):
                yield from map(Pane, PANES[1:])
        yield Static(id="plan-strip")
        yield Static(id="verdict-strip")
        yield Static(id="doing")
        yield Question()
        with Horizontal(id="line"):
            yield Static(">", id="mark")
            yield Prompt()
        yield Static(id="cost")

    def on_mount(self) -> None:
        self.theme = "ansi-dark"
        self.query_one(Prompt).focus()
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._receive)
        self.set_interval(_TICK, self._draw_lines)
        self._draw()

    def on_resize(self, event: Resize) -> None:
        folded = panes.folds(event.size.width, event.size.height)
        self.screen.set_class(folded, "folded").set_class(not folded, "wide")
        self._turn_to(self._current)

    # -- the session's process ----------------------------------------------------------------

    def _receive(self) -> None:
        try:
            while self._channel.poll():
                self._take(self._channel.recv())
        except (EOFError, OSError):
            self._leave()

    def _leave(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel.fileno())
        self.exit()

    def _take(self, message: panes.ScreenMessage) -> None:
        self.view = view_after(self.view, message)
        match message:
            case SessionFacts():
                self._opened = time.monotonic() - message.seconds
            case panes.PermissionAsked():
                self._ask(self.view.question, self._answer)
            case CommandAnswer() if message.ends:
                self._leave()
                return
            case CommandAnswer():
                self._close_question()
                if self._queued:
                    self._send(self._queued.pop(0))
        self._draw()

    def _send(self, line: str) -> None:
        self._turned = time.monotonic()
        self.query_one(f"#{PANES[0]}", Pane).follows = True
        self.view = self.view.begin(line)
        self._channel.send(line)
        self._turn_to(PANES[0])  # where the answer appears

    def _cancel(self) -> None:
        """Cancels the open task, and puts queued lines back into the prompt."""
        self._close_question()
        self.view = replace(self.view.without_question(), doing="cancelling")
        self._channel.send(Cancel())
        prompt = self.query_one(Prompt)
        prompt.text = "\n".join(filter(None, (*self._queued, prompt.text)))
        self._queued.clear()
        self._draw()

    # -- what a person does -------------------------------------------------------------------

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        if not self.view.doing:
            self._send(event.text)
        elif event.text == QUIT:
            self.action_end()
        elif shown := panes.answer_meanwhile(self.view.facts, event.text, time.monotonic() - self._opened):
            self.view = self.view.add((Line(f"> {event.text}"), *shown))
            self._draw()
        else:
            self._queued.append(event.text)
            self._draw_lines()

    def _ask(self, lines: Iterable[Line], then: Callable[[bool], None]) -> None:
        self.query_one("#line").display = False
        self.query_one(Question).ask(lines, then)

    def _close_question(self) -> None:
        self.query_one(Question).close()
        self.query_one("#line").display = True
        self.query_one(Prompt).focus()

    def _answer(self, yes: bool) -> None:
        self._close_question()
        self.view = self.view.without_question()
        self._channel.send(yes)
        self._draw()

    def action_interrupt(self) -> None:
        """Cancels the open task, else clears the prompt; at an empty prompt asks whether to end."""
        prompt, question = self.query_one(Prompt), self.query_one(Question)
        if self.view.doing:
            self._cancel()
        elif question.is_open:
            self._close_question()
        elif prompt.text:
            prompt.clear()
        else:
            self._ask([Line("End the session? `tdd code --continue` takes it up again.")], self._end)

    def action_end(self) -> None:
        prompt, question = self.query_one(Prompt), self.query_one(Question)
        if question.is_open:
            return
        if prompt.text and prompt.has_focus:
            prompt.action_delete_right()
        elif self.view.doing:
            self._ask([Line("The turn is not over. Cancel it and end the session?")], self._end)
        else:
            self._send(QUIT)

    def _end(self, yes: bool) -> None:
        self._close_question()
        if not yes:
            return
        if not self.view.doing:
            self._send(QUIT)
            return
        self._cancel()
        self._queued = [QUIT]

    # -- drawing ------------------------------------------------------------------------------

    def action_turn_to(self, step: int) -> None:
        self._turn_to(PANES[(PANES.index(self._current) + step) % len(PANES)])

    def _turn_to(self, name: str) -> None:
        self._current = name
        for pane in self.query(Pane):
            pane.set_class(pane.id == name, "current")
        self.query_one("#side").set_class(name != PANES[0], "current")
        self._draw()

    def action_page(self, direction: int) -> None:
        self.query_one(f"#{self._current}", Pane).page(direction)

    def _draw(self) -> None:
        view, facts = self.view, self.view.facts
        self.query_one("#conversation", Pane).show(view.said, view.dropped)
        self.query_one("#plan", Pane).show(panes.plan_lines(facts))
        self.query_one("#verdict", Pane).show(panes.verdict_lines(facts))
        self.query_one("#diff", Pane).show(panes.diff_lines(facts))
        self._draw_lines()

    def _draw_lines(self) -> None:
        """Draws the lines outside the panes; some may be gone when the clock ticks at the end."""
        now, view = time.monotonic(), self.view
        pane = f"  [{self._current}]" if self.screen.has_class("folded") else ""
        doing = panes.working_line(view, now - self._turned) if view.doing else HINTS
        queued = "".join(f" · then: {line}" for line in self._queued)
        lines = {
            "head": Line(f"{panes.head_line(view.facts)}{pane}"),
            "plan-strip": panes.plan_strip(view.facts),
            "verdict-strip": panes.verdict_strip(view.facts),
            "doing": Line(f"{doing}{queued}"),
            "cost": Line(panes.cost_line(view.facts, now - self._opened)),
        }
        for static in self.query(Static):
            if static.id in lines:
                static.update(line_text(lines[static.id]))
