"""`tdd code`: a coding agent whose every write goes through the kernel."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verdigris.cli.context import deny, deny_agent, persons_only, show, show_json, start
from verdigris.cli.drivers.machine import (
    events_option,
    handling_signals,
    interrupt,
    record_option,
    reporting_ends,
    with_time,
)
from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.drivers.code.session import Session
    from verdigris.drivers.code.session_start import SessionOptions
    from verdigris.drivers.code.settings import Mode
    from verdigris.drivers.happenings import Happening, Watcher

AGAIN = "`tdd code --continue` goes on"


@value
class CodeCall:
    """The options of one command line."""

    task: str | None
    model: str
    goes_on: bool
    resume: str | None
    permission: Mode | None
    max_turns: int
    max_tokens: int
    max_cost: float
    timeout: float
    uncovered: bool
    sweep: tuple[str, ...]
    sweep_files: int
    record: Path | None
    plain: bool
    acp: bool
    as_json: bool

    def session_options(self) -> SessionOptions:
        from verdigris.drivers.budget import Limits
        from verdigris.drivers.code.session_start import SessionOptions

        limits = Limits(self.max_turns, self.max_tokens, self.max_cost, self.timeout)
        resumed = self.resume if self.resume is not None else "" if self.goes_on else None
        return SessionOptions(self.model, resumed, self.record, limits, self.permission)

    def beside_acp(self) -> list[str]:
        """Given options that do not go with --acp, because the editor decides about them."""
        said = {
            "--prompt": self.task is not None,
            "--continue": self.goes_on,
            "--resume": self.resume is not None,
            "--uncovered": self.uncovered,
            "--sweep": bool(self.sweep),
            "--plain": self.plain,
            "--json": self.as_json,
        }
        return [name for name, given in said.items() if given]


@click.command("code")
@click.option("--prompt", "-p", "task", metavar="TASK", help="The task; `-` reads it from standard input.")
@click.option("--model", "-m", default="", metavar="MODEL", help="The model: PROVIDER:NAME, or replay:FILE.")
@click.option("--continue", "-c", "goes_on", is_flag=True, help="Go on with this worktree's last session.")
@click.option("--resume", metavar="ID", help="Go on with this session; the beginning of its id is enough.")
@click.option(
    "--permission",
    type=click.Choice(["ask", "edits", "all"]),
    help="What you have to permit: edits and commands (ask), commands only (edits), or nothing (all).",
)
@click.option("--max-turns", type=click.IntRange(min=0), default=0, help="Stop after this number of replies.")
@click.option("--max-tokens", type=click.IntRange(min=0), default=0, help="Stop after this number of tokens.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Stop at this cost, by `llm.prices` in tdd.yaml.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Stop after this time."
)
@click.option(
    "--uncovered", is_flag=True, help="Begin with a refactor that may add lines which no test runs."
)
@click.option("--sweep", multiple=True, metavar="GLOB", help="Begin with a refactor of these files alone.")
@click.option(
    "--sweep-files", type=click.IntRange(min=1), default=200, help="How many files a sweep may touch."
)
@record_option
@click.option("--plain", is_flag=True, help="At a terminal: a plain prompt, without the screen.")
@click.option("--acp", is_flag=True, help="Let an editor host sessions: the Agent Client Protocol on stdio.")
@events_option
def command(**said: Any) -> int:
    """Let a model work on a task, red before green: the result on stdout, the progress on stderr.

    Without --prompt, on a terminal: a screen (if `verdigris[code]` is installed) or a prompt, for tasks and
    commands (/help). Exit code: 0 done or answered, 1 something is open or nothing was done, 3 a limit is
    reached, 69 no model answers, 130 interrupted. A session that ended, or was killed, goes on with
    --continue or --resume.
    """
    call = CodeCall(**said)
    if (no := deny_agent("code") if call.acp else persons_only("code")) is not None:
        return deny(no, as_json=call.as_json)
    if call.acp:
        return _serve_editor(call)
    from verdigris.drivers.code.outcome import EXIT_CODES, End
    from verdigris.drivers.code.session_start import begin_session, open_session, run_session
    from verdigris.drivers.code.settings import Sweep

    attended = call.task is None and not call.as_json and sys.stdin.isatty()
    options = call.session_options()
    sweep = Sweep(call.sweep, call.sweep_files) if call.sweep else None
    words = "" if attended else _read_task(call.task, optional=options.resume is not None)
    with reporting_ends(AGAIN, as_json=call.as_json) as failed:
        if attended:
            converse = _converse if call.plain or not has_screen() else _converse_on_screen
            return converse(
                options, lambda session: begin_session(session, uncovered=call.uncovered, sweep=sweep)
            )
        opened = open_session(start(), _make_watcher(as_json=call.as_json), options)
        with _signals(call.timeout), opened as session:
            ended = run_session(session, words, uncovered=call.uncovered, sweep=sweep)
        if not call.as_json:
            sys.stdout.write(f"{ended.text.rstrip()}\n")
        return EXIT_CODES[End(ended.outcome)]
    return failed[0]


def _serve_editor(call: CodeCall) -> int:
    if others := call.beside_acp():
        raise UserError(
            f"--acp and {others[0]} do not go together.", hint="the editor begins sessions and gives tasks"
        )
    try:
        import acp  # noqa: F401 - of the extra
    except ImportError:
        raise ToolMissing(
            "--acp needs the SDK of the Agent Client Protocol, which is not installed.",
            hint="pip install 'verdigris[code]'",
        ) from None
    from verdigris.drivers.code.acp.agent import serve_editor

    return serve_editor(call.session_options(), _make_watcher(as_json=False))


def _read_task(task: str | None, *, optional: bool) -> str:
    """The task of the command line, or of standard input."""
    if task is not None and task != "-":
        return task.strip()
    if task is None and optional:
        return ""
    words = sys.stdin.read().strip()
    if not words:
        raise UserError("there is no task.", hint='tdd code -p "TASK", or a task on standard input')
    return words


def has_screen() -> bool:
    """Whether the extra is installed, and this terminal can be drawn on."""
    from importlib.util import find_spec

    drawn = sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return drawn and find_spec("textual") is not None


def _converse_on_screen(options: SessionOptions, begin: Callable[[Session], None]) -> int:
    from verdigris.drivers.code.commands import QUIT, Dialogue, run_command
    from verdigris.drivers.code.outcome import EXIT_CODES, End
    from verdigris.drivers.code.session_start import open_session
    from verdigris.views.code_process import open_screen

    with open_screen() as link:
        opened = open_session(start(), link.watch, options, ask_person=link.ask_person)
        with _signals(options.limits.seconds, link.leave), opened as session:
            link.attend(session)
            begin(session)
            ended = link.converse(Dialogue(session))
            farewell = run_command(session, QUIT).lines
    sys.stdout.writelines(f"{line}\n" for line in farewell)
    return EXIT_CODES[End.DONE if ended else End.INTERRUPTED]


def _converse(options: SessionOptions, begin: Callable[[Session], None]) -> int:
    """Takes tasks line by line. Ctrl-C ends the open task, and Ctrl-D or /quit the session."""
    import readline  # noqa: F401 - gives `input` its line editing and its history
    from threading import Event

    from verdigris.drivers.code.commands import Dialogue
    from verdigris.drivers.code.outcome import EXIT_CODES, End
    from verdigris.drivers.code.session_start import open_session
    from verdigris.views.lines import make_visible

    left = Event()
    opened = open_session(start(), _make_watcher(as_json=False, attended=True), options, ask_person=_ask)
    with _signals(options.limits.seconds, left.set), opened as session:
        begin(session)
        dialogue = Dialogue(session)
        while not left.is_set():
            answer = dialogue.take(_read_line())
            sys.stdout.writelines(f"{make_visible(text.expandtabs())}\n" for text in answer.lines)
            if answer.ends:
                break
    return EXIT_CODES[End.INTERRUPTED if left.is_set() else End.DONE]


def _read_line() -> str:
    """The next line. The end of the input counts as `/quit`, an interrupt as an empty line."""
    from verdigris.drivers.code.commands import QUIT

    sys.stdout.flush()
    try:
        return input("> ").strip()
    except EOFError:
        sys.stdout.write("\n")
        return QUIT
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        return ""


def _ask(tool: str, arguments: str) -> bool:
    from verdigris.views.code import question_lines

    show(question_lines(tool, arguments))
    try:
        said = input("run it? [y/N] ")
    except EOFError:
        return False
    return said.strip().lower() in {"y", "yes"}


def _make_watcher(*, as_json: bool, attended: bool = False) -> Watcher:
    """`attended`: the reader is at the prompt again when a task has ended, and needs no way back."""
    from verdigris.drivers.happenings import ModelWrote, SessionEnded
    from verdigris.views import run
    from verdigris.views.lines import wrap

    def tell(happening: Happening) -> None:
        if isinstance(happening, ModelWrote):
            return  # `ModelSpoke` has all of it
        if attended and isinstance(happening, SessionEnded):
            happening = replace(happening, following="")
        if as_json:
            show_json(with_time(run.document(happening)))
        else:
            lines = run.lines(happening)
            width = shutil.get_terminal_size().columns if attended else 0
            show([part for line in lines for part in wrap(line, width)] if width else lines, err=True)

    return tell


@contextmanager
def _signals(seconds: float, leave: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Handles SIGTERM, after a call of `leave`, and the end of the time as an interrupt."""
    from verdigris.drivers.code.session import OutOfTime

    def end(*_: object) -> NoReturn:
        leave()
        interrupt()

    def end_time(*_: object) -> NoReturn:
        raise OutOfTime

    with handling_signals({signal.SIGTERM: end, signal.SIGALRM: end_time}):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
