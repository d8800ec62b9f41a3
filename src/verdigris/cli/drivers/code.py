"""`tdd code`: a coding agent whose every write goes through the kernel."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from verdigris.cli.context import persons_only, start
from verdigris.cli.drivers.machine import reporting_ends, with_time
from verdigris.cli.output import deny, show, show_json
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.happenings import Happening, Watcher

AGAIN = "`tdd code --continue` goes on"


@click.command("code")
@click.option("--prompt", "-p", "task", metavar="TASK", help="What is to be done; `-` reads standard input.")
@click.option("--model", "-m", default="", metavar="MODEL", help="PROVIDER:NAME, or replay:FILE.")
@click.option(
    "--continue", "-c", "goes_on", is_flag=True, help="Go on with the last session of this worktree."
)
@click.option("--resume", metavar="ID", help="Go on with this session.")
@click.option("--max-turns", type=click.IntRange(min=0), default=0, help="Replies of the model.")
@click.option("--max-tokens", type=click.IntRange(min=0), default=0, help="Of all prompts and replies.")
@click.option("--max-cost", type=click.FloatRange(min=0), default=0.0, help="By `code.prices` in tdd.yaml.")
@click.option("--timeout", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Of all of it.")
@click.option("--uncovered", is_flag=True, help="Begin with a refactor of code that no test runs.")
@click.option(
    "--record", type=click.Path(path_type=Path), help="Append each exchange with the model to FILE."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per event.")
def command(  # noqa: PLR0913 - options, each by its name
    *,
    task: str | None,
    model: str,
    goes_on: bool,
    resume: str | None,
    max_turns: int,
    max_tokens: int,
    max_cost: float,
    timeout: float,
    uncovered: bool,
    record: Path | None,
    as_json: bool,
) -> int:
    """Let a model work on a task, red before green: the result on stdout, the progress on stderr.

    Exit code: 0 done, 1 what is left is not accepted, 3 a limit is reached, 69 no model answers, 130
    interrupted. A session that ended, or was killed, goes on with --continue or --resume.
    """
    if (no := persons_only("code")) is not None:
        return deny(no, as_json=as_json)
    from verdigris.drivers.code.limits import EXIT_CODES, End, Limits
    from verdigris.drivers.code.opening import open_session, run_session

    resumed = resume if resume is not None else "" if goes_on else None
    words = _read_task(task, optional=resumed is not None)
    limits = Limits(max_turns, max_tokens, max_cost, timeout)
    with reporting_ends(AGAIN, as_json=as_json) as failed:
        watch = _watching(as_json=as_json)
        with (
            _signals(timeout),
            open_session(
                start(), watch, model=model, resume=resumed, record=record, limits=limits
            ) as session,
        ):
            ended = run_session(session, words, uncovered=uncovered)
        if not as_json:
            sys.stdout.write(f"{ended.text.rstrip()}\n")
        return EXIT_CODES[End(ended.outcome)]
    return failed[0]


def _read_task(task: str | None, *, optional: bool) -> str:
    """As it is given, or from standard input."""
    if task is not None and task != "-":
        return task.strip()
    if task == "-" or not sys.stdin.isatty():
        return "" if task is None and optional else sys.stdin.read().strip()
    if optional:
        return ""
    raise UserError("there is no task.", hint='tdd code -p "TASK", or a task on standard input')


def _watching(*, as_json: bool) -> Watcher:
    from verdigris.views import code, machine

    def told(happening: Happening) -> None:
        if as_json:
            show_json(with_time(machine.document(happening)))
        else:
            show(code.lines(happening), err=True)

    return told


@contextmanager
def _signals(seconds: float) -> Iterator[None]:
    """A polite end is an interrupt, and so is the end of the time."""
    from verdigris.drivers.code.session import OutOfTime

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    def end_time(*_: object) -> NoReturn:
        raise OutOfTime

    before = [
        (number, signal.signal(number, call))
        for number, call in ((signal.SIGTERM, interrupt), (signal.SIGALRM, end_time))
    ]
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)
