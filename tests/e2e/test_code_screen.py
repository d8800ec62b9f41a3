"""The screen of `tdd code` as a user has it: the real command on a terminal, with a real server."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.cli import TDD, Cli
from support.code_sessions import GOOD, HONEST, Played, call, playing, turn
from support.late_imports import needs
from support.openai_server import Request, Stall, Step

pytestmark = [pytest.mark.slow, needs("textual", "the screen needs the extra verdigris[code]")]

CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
LEFT_THE_SCREEN = "\x1b[?1049l"
READY = "Ctrl-D ends"


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], ours: int) -> None:
        self.process = process
        self._ours = ours
        self._shown = ""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def send(self, line: str) -> None:
        self.type(line)
        time.sleep(0.2)
        self.type(ENTER)

    def until(self, text: str, seconds: float = 60) -> None:
        """What came before it is forgotten: the next text has to be drawn after it."""
        deadline = time.monotonic() + seconds
        while text not in self._shown:
            waits = time.monotonic() < deadline and self.process.poll() is None
            assert waits, f"{text!r} is not drawn in {self._shown[-3000:]!r}"
            self._read(0.1)
        self._shown = self._shown.partition(text)[2]

    def end(self) -> str:
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self._shown[-3000:]
            self._read(0.1)
        self._read(0)
        return self._shown

    def vanish(self) -> None:
        """As when a connection breaks. It controls no session, so no signal is sent."""
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, self._ours)
        os.close(nothing)

    def _read(self, seconds: float) -> None:
        if select.select([self._ours], [], [], seconds)[0]:
            with suppress(OSError):
                self._shown += os.read(self._ours, 65536).decode(errors="replace")


@contextmanager
def on_screen(played: Played, *words: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    surroundings = Cli(played.repo).environment() | played.env | {"TERM": "xterm-256color"}
    surroundings.pop("COLUMNS", None)
    process = subprocess.Popen(
        [*TDD, "code", *words],
        cwd=played.repo.root,
        env=surroundings,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        terminal = Terminal(process, ours)
        terminal.until(READY)
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


def test_a_task_is_worked_on_a_command_is_asked_about_and_the_screen_leaves_the_terminal_as_it_was(
    tmp_path: Path,
) -> None:
    look = turn(call("shell", command="echo seen"))
    with playing(tmp_path, (look, *HONEST)) as played, on_screen(played) as terminal:
        terminal.send("Write a calculator that adds.")
        terminal.until("y yes")
        time.sleep(0.6)
        terminal.type("n")
        terminal.until("plan: all 1 green")
        terminal.until(READY)
        assert "[no-permission]" in played.answers()[0]
        assert played.repo.read("calculator.py").decode() == GOOD
        terminal.type(CTRL_D)
        left = terminal.end()
        assert terminal.process.returncode == 0
        assert LEFT_THE_SCREEN in left
        assert "`tdd code --continue` goes on" in left


def test_ctrl_c_cancels_a_silent_model_and_a_running_command_and_the_session_goes_on(tmp_path: Path) -> None:
    """Both block the session; the screen goes on to take keys."""

    def play(request: Request) -> Step:
        if request.number == 1:
            return Stall()
        slow = turn(call("shell", command="touch begun; sleep 300", seconds=300))
        return slow if request.number == 2 else "All is well."

    with playing(tmp_path, play) as played, on_screen(played, "--permission", "all") as terminal:
        terminal.send("Wait for the model.")
        terminal.until("the model is asked")
        while not played.server.requests:
            time.sleep(0.05)
        terminal.type(CTRL_C)
        terminal.until("cancelled")
        terminal.until(READY)
        terminal.send("Wait for a command.")
        terminal.until("shell touch begun")
        while not (played.repo.root / "begun").exists():
            time.sleep(0.05)
        terminal.type(CTRL_C)
        terminal.until("cancelled")
        terminal.until(READY)
        terminal.send("Say something.")
        terminal.until("All is well.")
        assert terminal.process.poll() is None
        assert "interrupted while this call was under way" in played.answers()[-1]


def test_a_polite_end_of_the_session_closes_the_screen(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Stall()) as played, on_screen(played) as terminal:
        terminal.send("Wait for the model.")
        terminal.until("the model is asked")
        terminal.process.send_signal(signal.SIGTERM)
        assert LEFT_THE_SCREEN in terminal.end()
        assert terminal.process.returncode == 130


def test_a_session_that_cannot_begin_says_why_and_shows_no_screen(tmp_path: Path) -> None:
    with playing(tmp_path, ()) as played:
        ran = Cli(played.repo).on_a_terminal("code", "--model", "human", env=played.env)
    assert ran.code == 2
    assert "the agent is a model, not a person" in ran.out
    assert "\x1b[?1049h" not in ran.out


def test_a_screen_that_dies_ends_the_session_which_can_be_taken_up_again(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Stall()) as played, on_screen(played) as terminal:
        terminal.send("Wait for the model.")
        terminal.until("the model is asked")
        pid = terminal.process.pid
        [screen] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(screen), signal.SIGKILL)
        assert "`tdd code --continue --plain` goes on" in terminal.end()
        assert terminal.process.returncode == 70


def test_a_terminal_that_is_gone_ends_screen_and_session(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Stall()) as played, on_screen(played) as terminal:
        terminal.send("Wait for the model.")
        terminal.until("the model is asked")
        pid = terminal.process.pid
        [screen] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        terminal.vanish()
        terminal.process.wait(timeout=30)
        assert not Path(f"/proc/{screen}").exists()
