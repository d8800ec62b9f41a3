"""`tdd loop daemon`: runs programs that are due, the longest waiting first, and rests in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from verdigris.core.errors import VerdigrisError
from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits, Spent, reached_limit
from verdigris.drivers.happenings import DaemonEnded, DaemonRests, Happening, Noted, RunEnded, Watcher
from verdigris.drivers.loop.discovery import FoundProgram, find_programs
from verdigris.drivers.loop.history import LoopOutcome
from verdigris.drivers.loop.open_program import (
    DAEMON,
    RUN,
    find_occupant,
    is_asked_to_stop,
    occupy,
    open_program,
)
from verdigris.drivers.loop.run import ITERATION, STOPPED, LoopRun
from verdigris.drivers.loop.settings import load_loop
from verdigris.drivers.loop.state_keeper import StateKeeper
from verdigris.drivers.loop.survey import WaitingProgram, choose_due, gather_candidates
from verdigris.drivers.loop.tasks import DRIVER
from verdigris.storage.project import open_project

Play: TypeAlias = Callable[[str, Limits], RunEnded]

_FIRST, _LONGEST = timedelta(minutes=1), timedelta(hours=1)
_ALWAYS, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_SLICE = 1.0
"""Seconds after which a resting daemon notices a request to stop."""


@dataclass
class DaemonClock:
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Trouble:
    """A program that could not run: when it is tried again. Each pause is longer than the last."""

    until: datetime
    pause: timedelta = _FIRST


@dataclass
class Daemon:
    root: Path
    watch: Watcher
    interval: timedelta
    """The longest time between two looks at the programs."""
    play: Play
    clock: DaemonClock = field(default_factory=DaemonClock)
    _troubles: dict[str, Trouble] = field(default_factory=dict)
    _spent: dict[str, Spent] = field(default_factory=dict)
    _stopped: set[str] = field(default_factory=set)
    """Programs whose run a person stopped: this daemon does not start them again."""
    _ran: dict[str, datetime] = field(default_factory=dict)
    """By program, the end of its last run that made an iteration."""
    _told: dict[str, str] = field(default_factory=dict)
    """By program, the last note, so that it is not repeated."""
    _runs: int = 0

    def __post_init__(self) -> None:
        self._home = open_project(self.root, Actor(client=DRIVER))

    def make(self) -> DaemonEnded:
        """Runs until a person stops it. No failure of a program ends it."""
        while not is_asked_to_stop(self._home.repo, ""):
            try:
                self._turn()
            except (VerdigrisError, OSError) as error:
                self._say("", f"the programs cannot be read: {error}")
                self._rest(self.clock.now() + self.interval, "the programs cannot be read")
        ended = DaemonEnded(STOPPED, self._runs)
        self.watch(ended)
        return ended

    def _turn(self) -> None:
        """Runs the program that is due; if none is, rests until one may be."""
        found, now = self._look(), self.clock.now()
        ready = {one.found.name: self._ready_at(one.found) for one in found if self._may_run(one.found)}
        due = choose_due([one for one in found if ready.get(one.found.name, _NEVER) <= now], now)
        for skip in due.skipped:
            self._say(skip.name, "" if skip.next_due else f"{skip.name} is skipped: {skip.reason}")
        if due.selected is None:
            times = [datetime.fromisoformat(skip.next_due) for skip in due.skipped if skip.next_due]
            times += [at for at in ready.values() if at > now]
            self._rest(min((*times, now + self.interval)), "nothing is due")
        elif (other := find_occupant(self._home.repo, RUN)) is not None:
            self._rest(now + _FIRST, f"process {other.pid} runs {other.program or 'a program'}")
        else:
            self._run(due.selected.found)

    def _look(self) -> tuple[WaitingProgram, ...]:
        """Reads the programs, after it has taken in people's edits of the state files."""
        settings = load_loop(self.root)
        for one in find_programs(self.root):
            StateKeeper(self._home, one, settings, self._once(one.name)).take_in()
        return gather_candidates(self.root, "", settings.memory)

    def _ready_at(self, one: FoundProgram) -> datetime:
        """When it may run, by what this daemon saw: the state file may not have been written."""
        trouble, ran = self._troubles.get(one.name), self._ran.get(one.name)
        due = _ALWAYS if ran is None else ran + timedelta(hours=one.program.schedule.hours)
        return due if trouble is None else max(due, trouble.until)

    def _may_run(self, one: FoundProgram) -> bool:
        if one.name in self._stopped:
            return False
        if one.program.schedule.hours:
            return True  # its limits count for each scheduled time anew
        limit = reached_limit(one.program.limits, self._spent.get(one.name, Spent()), ITERATION)
        if limit:
            self._say(one.name, f"{one.name} is skipped: {limit}")
        return not limit

    def _run(self, one: FoundProgram) -> None:
        """Makes one iteration; at a scheduled time as many as the program's limits allow."""
        limits, began = one.program.limits, self.clock.now()
        most = (limits.rounds or 1) if one.program.schedule.hours else 1
        try:
            ended = self.play(one.name, replace(limits, rounds=most))
        except Exception as error:  # noqa: BLE001 - a fault of ours in one program must not end the others
            is_ours = not isinstance(error, VerdigrisError | OSError)
            bug = f"this is a bug in Verdigris: {type(error).__name__}: " if is_ours else ""
            self._fall_back(one.name, f"{bug}{error}")
            return
        self._runs += 1
        if ended.steps:
            self._ran[one.name] = self.clock.now()
        old = self._spent.get(one.name, Spent())
        self._spent[one.name] = Spent(
            old.rounds + ended.steps,
            old.tokens + ended.tokens,
            (old.money or 0.0) + (ended.cost or 0.0),
            old.seconds + (self.clock.now() - began).total_seconds(),
        )
        if ended.outcome == LoopOutcome.PAUSED and ended.why == STOPPED:
            self._stopped.add(one.name)
        elif ended.outcome == LoopOutcome.INFRASTRUCTURE or not ended.steps:
            self._fall_back(one.name, f"{ended.outcome}: {ended.why}")
        else:
            self._troubles.pop(one.name, None)

    def _fall_back(self, name: str, why: str) -> None:
        """Tries it again later; each time after twice as long."""
        before = self._troubles.get(name)
        pause = _FIRST if before is None else min(before.pause * 2, _LONGEST)
        self._troubles[name] = Trouble(self.clock.now() + pause, pause)
        self._say(name, f"{name} could not run and is tried again later: {why}")

    def _rest(self, until: datetime, why: str) -> None:
        self.watch(DaemonRests(until.isoformat(timespec="seconds"), why))
        while (left := (until - self.clock.now()).total_seconds()) > 0:
            if is_asked_to_stop(self._home.repo, ""):
                return
            self.clock.sleep(min(left, _SLICE))

    def _say(self, name: str, text: str) -> None:
        if text and self._told.get(name) != text:
            self.watch(Noted(text))
        self._told[name] = text

    def _once(self, name: str) -> Watcher:
        """Passes notes about the state file on, without repetitions."""

        def watch(happening: Happening) -> None:
            if isinstance(happening, Noted):
                self._say(f"{name}.md", happening.text)

        return watch


@contextmanager
def open_daemon(root: Path, watch: Watcher, minutes: float, *, wait: bool) -> Iterator[Daemon]:
    """One at a time in a repository; `wait`: waits until the other has ended."""

    def play(name: str, limits: Limits) -> RunEnded:
        with open_program(root, name, watch) as opened:
            return LoopRun(opened, limits).make()

    repo = open_project(root, Actor(client=DRIVER)).repo
    with occupy(repo, DAEMON, patient=wait):
        yield Daemon(root, watch, timedelta(minutes=minutes), play)
