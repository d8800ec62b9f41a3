"""The screen of a session, by Textual's pilot; the test is the session at the other end of the line."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any

import pytest

from support.late_imports import LateModule, needs
from verdigris.drivers import happenings as w
from verdigris.drivers.code.commands import CommandAnswer
from verdigris.drivers.code.facts import Changes, SessionFacts, StepFacts, VerdictFacts
from verdigris.models.protocol import Usage
from verdigris.views.code import Cancel, PermissionAsked, ScreenMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from multiprocessing.connection import Connection

    from textual.pilot import Pilot

    from verdigris.views.code_screen import CodeScreen

pytestmark = needs("textual", "the screen needs the extra verdigris[code]")
screens: Any = LateModule("verdigris.views.code_screen")
widgets: Any = LateModule("verdigris.views.code_widgets")

BEGAN = w.SessionBegan("0123abcd", "scripted", False, "/home/you/calculator")
FACTS = SessionFacts(
    "0123abcd",
    "scripted",
    "green",
    (StepFacts("add two numbers", "t::add", "green"), StepFacts("subtract", "t::sub", "red")),
    VerdictFacts("still-red", reasons=("t::sub: assert 1 == 2",)),
    Changes("the open turn", ("@@ -1 +1 @@", "-    return 1", "+    return 2")),
    Usage(8910, 6900, 210),
    0.0123,
    5,
)
IDLE = CommandAnswer(())


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions take a key at once."""
    monkeypatch.setattr("verdigris.views.code_widgets.QUIET", 0.0)


class Seat:
    """In front of the screen, and at the session's end of its line."""

    def __init__(self, app: CodeScreen, pilot: Pilot[None], session: Connection) -> None:
        self.app, self.pilot, self._session = app, pilot, session

    async def tell(self, *messages: ScreenMessage) -> None:
        for message in messages:
            self._session.send(message)
        while self.app._channel.poll():  # on a busy machine the screen may not have read it yet
            await self.pilot.pause()
        await self._pause()

    async def _pause(self) -> None:
        """What is laid out anew shows after a refresh: several, so that a late timer does not matter."""
        for _ in range(3):
            await self.pilot.pause(0.02)

    def close(self) -> None:
        self._session.close()

    async def heard(self) -> Any:
        deadline = time.monotonic() + 10
        while not self._session.poll():
            assert time.monotonic() < deadline, "the screen sends nothing"
            await asyncio.sleep(0.01)
        return self._session.recv()

    def hears_nothing(self) -> bool:
        return not self._session.poll()

    async def type(self, text: str, *keys: str) -> None:
        self.app.query_one(widgets.Prompt).insert(text)
        await self.pilot.press(*keys)
        await self._pause()

    @property
    def text(self) -> str:
        """What a person reads."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    @property
    def prompt(self) -> str:
        return str(self.app.query_one(widgets.Prompt).text)


def seated(
    act: Callable[[Seat], Awaitable[None]], *messages: ScreenMessage, size: tuple[int, int] = (80, 24)
) -> None:
    async def run() -> None:
        ours, theirs = Pipe()
        app = screens.CodeScreen(theirs, BEGAN)
        async with app.run_test(size=size) as pilot:
            seat = Seat(app, pilot, ours)
            await seat.tell(*messages)
            await act(seat)
        theirs.close()
        ours.close()

    asyncio.run(run())


def test_eighty_columns_show_all_that_matters_and_tab_turns_to_each_pane() -> None:
    async def act(seat: Seat) -> None:
        assert all(len(line) <= 80 for line in seat.text.splitlines())
        for text in (
            "tdd code 0123abcd · scripted · phase green",
            "First a test.",
            "● plan: 1 of 2 green; 2. subtract",
            "● verdict: still-red: t::sub: assert 1 == 2",
            "9120 tokens: 6900 cached, 2010 uncached, 210 written; cost 0.0123; 0:0",
            "Ctrl-D ends",
            "a task, or /help",
        ):
            assert text in seat.text
        for pane, text in (
            ("[plan]", "● 1. add two numbers · green"),
            ("[verdict]", "  t::sub: assert 1 == 2"),
            ("[diff]", "+    return 2"),
            ("[conversation]", "First a test."),
        ):
            await seat.pilot.press("tab")
            assert pane in seat.text.splitlines()[0]
            assert text in seat.text

    seated(act, FACTS, w.ModelSpoke(1, "First a test."), IDLE)


def test_a_large_terminal_shows_all_panes_at_once_and_a_smaller_one_folds_them_again() -> None:
    async def act(seat: Seat) -> None:
        parts = ("First a test.", "● 2. subtract · red", "● still-red", "+    return 2")
        assert all(part in seat.text for part in parts)
        assert "plan: 1 of 2" not in seat.text
        await seat.pilot.resize_terminal(60, 15)
        await seat.pilot.pause(0.1)
        assert "plan: 1 of 2 green" in seat.text
        assert "First a test." in seat.text
        assert "+    return 2" not in seat.text

    seated(act, FACTS, w.ModelSpoke(1, "First a test."), IDLE, size=(120, 40))


def test_a_line_goes_to_the_session_and_the_next_one_waits_until_it_is_done() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("Add numbers.", "tab", "enter")
        assert await seat.heard() == "Add numbers."
        assert "[conversation]" in seat.text
        assert "> Add numbers." in seat.text
        assert "the model is asked" in seat.text
        await seat.type("/plan", "enter")
        assert seat.hears_nothing()
        assert "then: /plan" in seat.text
        await seat.tell(CommandAnswer(("Done.",)))
        assert await seat.heard() == "/plan"
        assert "Done." in seat.text

    seated(act, FACTS, IDLE)


def test_a_pasted_text_of_several_lines_is_one_task_and_what_was_sent_comes_back() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("One\ntwo", "ctrl+j", "x", "enter")
        assert await seat.heard() == "One\ntwo\nx"
        await seat.pilot.press("up")
        assert seat.prompt == "One\ntwo\nx"
        await seat.pilot.press("down")
        assert not seat.prompt

    seated(act, IDLE)


def test_ctrl_c_cancels_the_turn_and_gives_back_what_was_queued() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("Add numbers.", "enter")
        await seat.heard()
        await seat.type("Then subtract.", "enter")
        await seat.pilot.press("ctrl+c")
        assert await seat.heard() == Cancel()
        assert "cancelling" in seat.text
        assert seat.prompt == "Then subtract."
        await seat.tell(CommandAnswer(("cancelled",)))
        assert "Ctrl-D ends" in seat.text
        assert seat.app.is_running

    seated(act, IDLE)


def test_ctrl_c_at_a_prompt_clears_it_and_at_an_empty_one_asks_whether_to_end() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("half a thou")
        await seat.pilot.press("ctrl+c")
        assert not seat.prompt
        await seat.pilot.press("ctrl+c")
        assert "End the session?" in seat.text
        await seat.pilot.press("n")
        assert "End the session?" not in seat.text
        assert seat.hears_nothing()
        await seat.pilot.press("ctrl+c")
        await seat.pilot.press("y")
        assert await seat.heard() == "/quit"
        await seat.tell(CommandAnswer((), ends=True))
        assert not seat.app.is_running

    seated(act, IDLE)


def test_ctrl_d_ends_at_an_empty_prompt_and_asks_first_while_a_turn_is_open() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("Add numbers.", "enter")
        await seat.heard()
        await seat.pilot.press("ctrl+d")
        assert "Cancel it and end the session?" in seat.text
        await seat.pilot.press("y")
        assert await seat.heard() == Cancel()
        await seat.tell(CommandAnswer(("cancelled",)))
        assert await seat.heard() == "/quit"

    seated(act, IDLE)


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False), ("escape", False)])
def test_a_question_shows_the_whole_command_and_is_answered_by_a_key(key: str, answer: bool) -> None:
    command = "make " + "very-long-word " * 20 + "&& rm -r build"

    async def act(seat: Seat) -> None:
        await seat.type("Build it.", "enter")
        await seat.heard()
        await seat.type("half a thou")
        await seat.tell(PermissionAsked("shell", f'{{"command": "{command}"}}'))
        assert "rm -r build" in seat.text
        assert "y yes · n no" in seat.text
        await seat.pilot.press(key)
        assert await seat.heard() is answer
        assert seat.prompt == "half a thou"
        assert not seat.app.query_one(widgets.Question).display

    seated(act, IDLE)


def test_of_a_long_question_the_beginning_and_the_keys_are_in_view_and_the_rest_can_be_scrolled_to() -> None:
    content = "\\n".join(f"line {n}" for n in range(50))

    async def act(seat: Seat) -> None:
        await seat.type("Build it.", "enter")
        await seat.heard()
        await seat.tell(PermissionAsked("create_file", f'{{"path": "x.py", "content": "{content}"}}'))
        for text in ("The model asks for create_file of x.py:", "  +line 0", "y yes · n no", "no tokens yet"):
            assert text in seat.text
        assert "line 49" not in seat.text
        await seat.pilot.press(*["down"] * 60)
        await seat.pilot.pause(0.1)
        assert "line 49" in seat.text
        assert "y yes · n no" in seat.text
        await seat.pilot.press("y")
        assert await seat.heard() is True

    seated(act, IDLE)


def test_a_pane_that_somebody_scrolled_stays_where_it_is_while_nothing_in_it_changes() -> None:
    long = replace(FACTS, changes=Changes("the open turn", tuple(f"+line {n}" for n in range(60))))

    async def act(seat: Seat) -> None:
        await seat.pilot.press("shift+tab", "pagedown", "pagedown")
        await seat.pilot.pause(0.1)
        before = seat.text.splitlines()[1:8]
        assert "+line 0" not in before
        await seat.tell(w.Noted("more"), replace(long, seconds=9))
        assert seat.text.splitlines()[1:8] == before

    seated(act, long, IDLE)


def test_a_key_that_was_meant_for_the_prompt_answers_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verdigris.views.code_widgets.QUIET", 60.0)

    async def act(seat: Seat) -> None:
        await seat.type("Build it.", "enter")
        await seat.heard()
        await seat.tell(PermissionAsked("shell", '{"command": "make"}'))
        await seat.pilot.press("t", "r", "y")
        assert seat.hears_nothing()
        assert "your answer is awaited" in seat.text
        await seat.pilot.press("ctrl+c")
        assert await seat.heard() == Cancel()
        assert not seat.app.query_one(widgets.Question).is_open

    seated(act, IDLE)


def test_the_screen_ends_when_the_session_is_gone() -> None:
    async def act(seat: Seat) -> None:
        seat.close()
        await seat.pilot.pause(0.1)
        assert not seat.app.is_running

    seated(act, IDLE)


def test_what_is_new_is_in_view_until_somebody_scrolls_back() -> None:
    async def act(seat: Seat) -> None:
        await seat.tell(*(w.Noted(f"number {n}") for n in range(50)))
        assert "number 49" in seat.text
        await seat.pilot.press("pageup", "pageup")
        await seat.tell(w.Noted("number 50"))
        assert "number 50" not in seat.text
        await seat.type("go on", "enter")
        assert "> go on" in seat.text

    seated(act, IDLE)


def test_text_from_a_model_or_a_test_sends_no_commands_to_the_terminal_and_is_no_markup() -> None:
    async def act(seat: Seat) -> None:
        await seat.tell(replace(FACTS, model="[b]odd"), w.ModelSpoke(1, "\x1b[2Jgone [red]no[/red]"))
        assert "[b]odd" in seat.text
        assert "\\x1b[2Jgone [red]no[/red]" in seat.text

    seated(act, IDLE)


def test_a_command_that_is_begun_is_completed() -> None:
    async def act(seat: Seat) -> None:
        await seat.type("/dif")
        await seat.pilot.press("right", "enter")
        assert await seat.heard() == "/diff"

    seated(act, IDLE)
