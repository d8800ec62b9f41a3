"""The session's end of the line to its screen; the test is the screen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import cast

from verdigris.drivers.code.commands import QUIT, CommandAnswer, Dialogue
from verdigris.views.code import Cancel
from verdigris.views.code_process import ScreenLink


class SlowDialogue:
    """Every task takes a minute."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.taken: list[str] = []

    def take(self, line: str) -> CommandAnswer:
        self.taken.append(line)
        if line == QUIT:
            return CommandAnswer(("kept",), ends=True)
        self.began.set()
        time.sleep(60 if line else 0)
        return CommandAnswer(())


def converse(act: Callable[[Connection, SlowDialogue], None]) -> tuple[bool, SlowDialogue]:
    ours, theirs = Pipe()
    dialogue, link = SlowDialogue(), ScreenLink(ours)
    screen = threading.Thread(target=act, args=(theirs, dialogue))
    screen.start()
    try:
        return link.converse(cast("Dialogue", dialogue)), dialogue
    finally:
        screen.join()
        link.close()
        theirs.close()


def test_each_line_can_be_cancelled_however_soon_after_another() -> None:
    told = []

    def act(channel: Connection, dialogue: SlowDialogue) -> None:
        told.append(channel.recv())
        for line in ("one", "two"):
            dialogue.began.clear()
            channel.send(line)
            assert dialogue.began.wait(10)
            channel.send(Cancel())
            told.append(channel.recv())
        channel.send(QUIT)
        told.append(channel.recv())

    ended, dialogue = converse(act)
    assert ended
    assert dialogue.taken == ["one", "two", QUIT]
    cancelled = CommandAnswer(("cancelled",))
    assert told == [CommandAnswer(()), cancelled, cancelled, CommandAnswer(("kept",), ends=True)]


def test_a_cancel_when_nothing_is_under_way_cancels_nothing_later() -> None:
    def act(channel: Connection, _: SlowDialogue) -> None:
        channel.recv()
        channel.send(Cancel())
        channel.send(QUIT)

    ended, dialogue = converse(act)
    assert ended
    assert dialogue.taken == [QUIT]


def test_a_line_that_ends_interrupts_what_is_under_way_and_is_no_end_by_a_person() -> None:
    def act(channel: Connection, dialogue: SlowDialogue) -> None:
        channel.recv()
        channel.send("one")
        assert dialogue.began.wait(10)
        channel.close()

    ended, dialogue = converse(act)
    assert not ended
    assert dialogue.taken == ["one"]
