"""Keeps the state file of a program in step with the log: records people's edits, and writes the state."""

from __future__ import annotations

from collections.abc import Iterator

from verdigris.core.events import Event
from verdigris.drivers.happenings import Noted, Watcher
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.branches.memory import MemoryPlace, StateDeferred, see_state, write_state
from verdigris.drivers.loop.branches.work import BRANCHES
from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.history import ProgramState, follow_history
from verdigris.drivers.loop.open_program import remote_of
from verdigris.drivers.loop.settings import LoopSettings
from verdigris.drivers.loop.state_file.person_edits import PersonEdits, read_edits
from verdigris.drivers.loop.state_file.view import ProgramFacts, render_state
from verdigris.storage.lock import hold_lock
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.storage.repository import LOCKS


class StateKeeper:
    def __init__(self, home: Project, found: FoundProgram, settings: LoopSettings, watch: Watcher) -> None:
        self._home, self._found, self._watch = home, found, watch
        self._place = MemoryPlace(settings.memory, remote_of(home.root, settings))
        self._lock = home.repo.control / LOCKS / "loop-state"
        self._resumed = False
        self.text = ""
        """The file as it was last read or written."""

    @property
    def name(self) -> str:
        return self._found.name

    def state(self) -> ProgramState:
        return follow_history(self._home.log, self.name)

    def read(self) -> None:
        """Records what people edited meanwhile."""
        with hold_lock(self._lock):
            self._read()

    def take_in(self) -> None:
        """Records people's edits, and writes the file only if they resumed the program."""
        with hold_lock(self._lock):
            self._read()
            if self._resumed:
                self._write()

    def write(self) -> None:
        """Reads it first: another process may have recorded edits since."""
        with hold_lock(self._lock):
            self._read()
            self._write()

    def record(self, *events: Event) -> None:
        """Records a person's command in the log and in the file."""
        with hold_lock(self._lock):
            self._read()
            self._append(*events)
            self._write()

    def _append(self, *events: Event) -> None:
        self._resumed = self._resumed or any(isinstance(event, e.ProgramResumed) for event in events)
        self._home.record(*events, sync=True)

    def _read(self) -> None:
        seen = see_state(self._home.root, self.name, self._place)
        self.text = seen.text
        state = self.state()
        if not state.iterations and not seen.text:
            return
        known = state != ProgramState(state.name)  # else the log was lost, or the file is older than it
        edits = read_edits(seen.base if known else "", seen.text)
        self._append(*_as_events(self.name, edits, state))
        for note in (*seen.notes, *(f"the state file was edited: {what}" for what in edits.what)):
            self._watch(Noted(note))

    def _write(self) -> None:
        state = self.state()
        facts = ProgramFacts(self._found.program, f"{BRANCHES}{self.name}", resumed=self._resumed)
        text = render_state(self.text, state, facts)
        why = f"{self.name}: iteration {state.count}"
        written = write_state(self._home.root, self.name, text, why, self._place)
        if isinstance(written, StateDeferred):
            self._watch(
                Noted(f"the state file is not written now, and is tried again the next time: {written.why}")
            )
            return
        self._resumed = False
        self.text = written.text
        for note in written.notes:
            self._watch(Noted(note))


def _as_events(name: str, edits: PersonEdits, state: ProgramState) -> Iterator[Event]:
    at = now_ms()
    if edits.what:
        yield e.StateFileEdited(program=name, what=edits.what)
    if (edits.resumed and state.paused) or (edits.reopened and state.completed):
        yield e.ProgramResumed(program=name, why="the state file says so", at=at)
    if edits.paused and not state.paused:
        yield e.ProgramPaused(program=name, reason=edits.paused, at=at)
    if edits.completed and not state.completed:
        yield e.ProgramCompleted(program=name, reason=edits.completed, at=at)
    known = {one.name: one.status for one in state.harness}
    for test, status in edits.statuses:
        if known.get(test, status) != status:
            yield e.StatusSet(program=name, test=test, status=status)
