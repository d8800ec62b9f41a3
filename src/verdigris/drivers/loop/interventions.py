"""What a person does to a program from outside: pause it, resume it, stop the run that is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers.happenings import Noted
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.occupancy import DAEMON, RUN, ask_to_stop, find_occupant
from verdigris.drivers.loop.open_program import now_ms
from verdigris.drivers.loop.programs.discovery import find_program
from verdigris.drivers.loop.settings import load_loop
from verdigris.drivers.loop.state_file.person_edits import MANUAL
from verdigris.drivers.loop.state_keeper import StateKeeper

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Happening
    from verdigris.drivers.loop.occupancy import Occupant
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository


@value
class Intervention:
    changed: bool
    lines: tuple[str, ...]
    """What came of it, and what was noticed."""


def pause_program(home: Project, name: str, why: str = "") -> Intervention:
    """A run that is at work sees it before its next step."""
    keeper, notes = _open(home, name)
    keeper.read()
    state = keeper.state()
    if state.completed:
        return Intervention(False, (f"{name} is completed: {state.completed}", *notes))
    if state.paused:
        return Intervention(False, (f"{name} is paused already: {state.paused}", *notes))
    reason = " ".join(why.split()) or MANUAL
    keeper.record(e.ProgramPaused(program=name, reason=reason, at=now_ms()))
    run = find_occupant(home.repo, RUN)
    at_work = run is not None and run.program == name
    soon = (f"process {run.pid} is at work on it and ends before its next step",) if run and at_work else ()
    return Intervention(True, (f"{name} is paused: {reason}", *soon, *notes))


def resume_program(home: Project, name: str, why: str = "") -> Intervention:
    """After a pause, whoever made it, a plateau, or its completion."""
    keeper, notes = _open(home, name)
    keeper.read()
    state = keeper.state()
    was = f"paused: {state.paused}" if state.paused else f"completed: {state.completed}"
    if not state.paused and not state.completed:
        return Intervention(False, (f"{name} is not paused", *notes))
    keeper.record(e.ProgramResumed(program=name, why=" ".join(why.split()), at=now_ms()))
    return Intervention(True, (f"{name} is resumed; it was {was}", *notes))


def stop_runs(repo: Repository, name: str) -> tuple[Occupant, ...]:
    """Who was asked to stop before their next step; none where nobody is at work."""
    run, daemon = find_occupant(repo, RUN), find_occupant(repo, DAEMON)
    if name:
        if run is None or run.program != name:
            other = f"{run.program} is" if run else "nothing is"
            raise UserError(f"{name} is not at work: {other}.", hint="`tdd loop status` tells what is")
        ask_to_stop(repo, run.pid, name)
        return (run,)
    for one in (run, daemon):
        if one is not None and (daemon is None or one.pid != daemon.pid or one is daemon):
            ask_to_stop(repo, one.pid, one.program)
    return tuple(one for one in (daemon, run) if one is not None)


def _open(home: Project, name: str) -> tuple[StateKeeper, list[str]]:
    notes: list[str] = []

    def watch(happening: Happening) -> None:
        if isinstance(happening, Noted):
            notes.append(happening.text)

    return StateKeeper(home, find_program(home.root, name), load_loop(home.root), watch), notes
