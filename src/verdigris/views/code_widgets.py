"""The widgets of a session's screen: a pane, the prompt, a question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import RichLog, Static, TextArea

from verdigris.drivers.code.commands import COMMANDS
from verdigris.views.code import PANES
from verdigris.views.lines import Line, wrap
from verdigris.views.run_live import line_text

if TYPE_CHECKING:
    from textual.events import Key, Resize


QUIET = 0.4
"""Seconds without a key before a question accepts one: it may appear while somebody types."""


class Pane(RichLog):
    """Lines, wrapped to the pane's width; scrolls to new lines while the end is in view."""

    can_focus = False

    def __init__(self, name: str) -> None:
        super().__init__(id=name, auto_scroll=False, min_width=1)
        self.border_title = name
        self._given: tuple[Line, ...] = ()
        self._at: tuple[int, int] = (0, 0)
        """The width and the number of dropped lines at the last drawing."""
        self._drawn = 0
        self.follows = name == PANES[0]
        """New lines are scrolled into view."""

    def show(self, lines: Iterable[Line], dropped: int = 0) -> None:
        given = tuple(lines)
        if given != self._given:
            self._given = given
            self._draw(dropped)

    def on_resize(self, _: Resize) -> None:
        self._draw(self._at[1])

    def _draw(self, dropped: int) -> None:
        width = self.scrollable_content_region.width
        if not width:
            return
        if self._at != (width, dropped) or not self._grows:
            self.clear()
            self._drawn = 0
        for line in self._given[self._drawn :]:
            for part in wrap(line, width):
                self.write(line_text(part), width=width, scroll_end=False)
        self._at, self._drawn = (width, dropped), len(self._given)
        if self.follows:
            self.scroll_end(animate=False)

    def page(self, direction: int) -> None:
        self.scroll_relative(y=direction * max(1, self.size.height - 2), animate=False)
        self.follows = self._grows and self.scroll_target_y >= self.max_scroll_y

    @property
    def _grows(self) -> bool:
        return self.id == PANES[0]


class Prompt(TextArea):
    """One line that grows. Enter sends, Ctrl-J begins a new line, Up and Down recall sent lines."""

    class Sent(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(
            id="prompt", compact=True, highlight_cursor_line=False, placeholder="a task, or /help"
        )
        self._history: list[str] = []
        self._place = 0

    async def _on_key(self, event: Key) -> None:
        match event.key:
            case "enter":
                self._send()
            case "ctrl+j":
                self.insert("\n")
            case "up" if self.cursor_location[0] == 0:
                self._recall(-1)
            case "down" if self.cursor_location[0] == self.document.line_count - 1:
                self._recall(1)
            case _:
                await super()._on_key(event)
                return
        event.stop()
        event.prevent_default()

    def _send(self) -> None:
        if text := self.text.strip():
            self._history.append(text)
            self._place = len(self._history)
            self.clear()
            self.post_message(self.Sent(text))

    def _recall(self, step: int) -> None:
        self._place = min(max(self._place + step, 0), len(self._history))
        self.text = (*self._history, "")[self._place]
        self.move_cursor(self.document.end)

    def update_suggestion(self) -> None:
        """Suggests the rest of a command; the right arrow takes it."""
        text = self.text
        begun = text.startswith("/") and len(text) > 1
        found = next((name for name in COMMANDS if begun and name.startswith(text)), "")
        self.suggestion = found[len(text) :]


class Question(Vertical, can_focus=True):
    """Asks for one key, in place of the prompt; the question scrolls, the keys stay in view."""

    _ANSWERS: ClassVar = {"y": True, "n": False, "escape": False}

    def __init__(self) -> None:
        self._asked = Static(id="asked")
        self._scroll = VerticalScroll(self._asked, id="scroll", can_focus=False)
        super().__init__(self._scroll, Static("y yes · n no · Up Down scroll", id="keys"), id="question")
        self.display = False
        self._then: Callable[[bool], None] | None = None
        self._since = 0.0

    @property
    def is_open(self) -> bool:
        return self._then is not None

    def ask(self, lines: Iterable[Line], then: Callable[[bool], None]) -> None:
        self._asked.update(Text("\n").join(map(line_text, lines)))
        self._scroll.styles.max_height = max(3, self.app.size.height // 2)
        self._scroll.scroll_home(animate=False)
        self._then, self._since, self.display = then, time.monotonic(), True
        self.focus()

    def close(self) -> None:
        self._then, self.display = None, False

    def on_key(self, event: Key) -> None:
        quiet, self._since = time.monotonic() - self._since, time.monotonic()
        then = self._then
        if then is not None and event.key in self._ANSWERS and quiet >= QUIET:
            event.stop()
            self.close()
            then(self._ANSWERS[event.key])
        elif event.key in {"up", "down"}:
            self._scroll.scroll_relative(y=-1 if event.key == "up" else 1, animate=False)
