"""`tdd run` and `tdd step`: show a run of the machine, and give its exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verdigris.cli.context import deny, persons_only, show, show_json, start
from verdigris.core.errors import VerdigrisError

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Happening, Watcher, YourTurn
    from verdigris.drivers.machine.person import Person


record_option = click.option(
    "--record", type=click.Path(path_type=Path), help="Append each exchange with a model to FILE."
)
events_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document per event.")
SUCCEEDED = frozenset({"steps-made", "kata-done", "cycle-done"})


def play_steps(steps: int | None, record: Path | None, *, as_json: bool) -> int:
    if (no := persons_only("run")) is not None:
        return deny(no, as_json=as_json)
    from verdigris.drivers.machine.open_machine import open_machine
    from verdigris.drivers.machine.run import MachineRun

    with reporting_ends("`tdd run` goes on with the open step", as_json=as_json) as failed:
        with open_watcher(as_json=as_json) as watch, open_machine(start(), watch, record=record) as machine:
            ended = MachineRun(machine, _person(watch, as_json=as_json)).make(steps)
        return 0 if ended.outcome in SUCCEEDED else 1
    return failed[0]


@contextmanager
def reporting_ends(again: str, *, as_json: bool) -> Iterator[list[int]]:
    """Prints an error or an interrupt as an event too (`--json`); appends the exit code of an error."""
    failed: list[int] = []
    try:
        yield failed
    except KeyboardInterrupt:
        if as_json:
            show_json(with_time({"event": "interrupted", "hint": again}))
        raise
    except VerdigrisError as error:
        if not as_json:
            raise
        show_json(with_time({"event": "failed", "why": error.message, "hint": error.hint or ""}))
        failed.append(error.exit_code)


@contextmanager
def handling_signals(handlers: Mapping[signal.Signals, Callable[..., object]]) -> Iterator[None]:
    """Handles signals so for a while."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def open_watcher(*, as_json: bool) -> Iterator[Watcher]:
    from verdigris.views import run as view

    if as_json:
        yield lambda happening: show_json(with_time(view.document(happening)))
    elif sys.stdout.isatty() and not os.environ.get("CI"):
        from verdigris.views.run_live import watch_run

        with watch_run() as watch:
            yield watch
    else:

        def tell(happening: Happening) -> None:
            show(view.lines(happening))
            sys.stdout.flush()

        yield tell


def with_time(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}


def _person(watch: Watcher, *, as_json: bool) -> Person:
    """The person at the terminal, who plays human roles; without a terminal nobody answers."""
    waits = sys.stdin.isatty() and not as_json

    def ask(turn: YourTurn) -> str | None:
        watch(turn)
        if not waits:
            return None
        try:
            return input("> ")
        except EOFError:
            return None

    return ask


@click.command("run")
@click.option(
    "--steps", "-n", type=click.IntRange(min=1), help="How many steps; `machine.steps` when not given."
)
@record_option
@events_option
def run_command(steps: int | None, record: Path | None, *, as_json: bool) -> int:
    """Turn the kata into code: tester, implementor and refactorer in turn, one proven commit per step.

    A run that was interrupted goes on where it was. Exit code: 0 the steps are made or the kata is done, 1 a
    step is blocked or a role says what is wrong, 69 no model answers, 130 interrupted.
    """
    return play_steps(steps, record, as_json=as_json)


@click.command("step")
@record_option
@events_option
def step_command(record: Path | None, *, as_json: bool) -> int:
    """Run the next step only; where a person plays it, judge the tree as it is.

    Exit code: as `tdd run`.
    """
    return play_steps(1, record, as_json=as_json)
