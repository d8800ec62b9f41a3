"""Shows a run of the machine, and gives its exit code."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from verdigris.cli.context import persons_only, start
from verdigris.cli.output import deny, show, show_json
from verdigris.core.errors import VerdigrisError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.drivers.happenings import Happening, Watcher, YourTurn
    from verdigris.drivers.machine.person import Person
    from verdigris.views.lines import Line

SUCCEEDED = frozenset({"steps-made", "kata-done", "cycle-done"})


def play_steps(steps: int | None, record: Path | None, *, as_json: bool) -> int:
    if (no := persons_only("run")) is not None:
        return deny(no, as_json=as_json)
    from verdigris.drivers.machine.opening import open_machine
    from verdigris.drivers.machine.run import Run

    with reporting_ends("`tdd run` goes on with the open step", as_json=as_json) as failed:
        with watching(as_json=as_json) as watch, open_machine(start(), watch, record=record) as machine:
            ended = Run(machine, _person(watch, as_json=as_json)).make(steps)
        return 0 if ended.outcome in SUCCEEDED else 1
    return failed[0]


@contextmanager
def reporting_ends(again: str, *, as_json: bool) -> Iterator[list[int]]:
    """What ends a run otherwise than it should, also as an event; the exit code of a failure is appended."""
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
def watching(*, as_json: bool) -> Iterator[Watcher]:
    from verdigris.views import machine as view

    if as_json:
        yield lambda happening: show_json(with_time(view.document(happening)))
    elif sys.stdout.isatty() and not os.environ.get("CI"):
        from verdigris.views.machine_live import watch_run

        with watch_run() as watch:
            yield watch
    else:
        yield _plainly


def with_time(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}


def _plainly(happening: Happening) -> None:
    show(_lines(happening))
    sys.stdout.flush()


def _person(watch: Watcher, *, as_json: bool) -> Person:
    """Who plays a human role: whoever sits at the terminal; else nobody, and the run ends there."""
    waits = sys.stdin.isatty() and not as_json

    def asked(turn: YourTurn) -> str | None:
        watch(turn)
        if not waits:
            return None
        try:
            return input("> ")
        except EOFError:
            return None

    return asked


def _lines(happening: Happening) -> list[Line]:
    from verdigris.views import machine as view

    return view.lines(happening)
