"""Tells which program is due and how each stands; pauses, resumes and stops programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers.happenings import Happening, Noted
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.branches.memory import read_state
from verdigris.drivers.loop.branches.work import BRANCHES
from verdigris.drivers.loop.discovery import FoundProgram, find_program, find_programs, lint_program
from verdigris.drivers.loop.events import IterationEnded
from verdigris.drivers.loop.history import PLATEAU, ProgramState, accepted_metrics, next_phase, read_history
from verdigris.drivers.loop.iteration.candidate import has_commit
from verdigris.drivers.loop.open_program import DAEMON, RUN, Occupant, ask_to_stop, find_occupant
from verdigris.drivers.loop.program import as_number
from verdigris.drivers.loop.settings import LoopSettings, load_loop
from verdigris.drivers.loop.state_file.person_edits import MANUAL
from verdigris.drivers.loop.state_file.text import MOST_BYTES, is_yes, read_machine_state
from verdigris.drivers.loop.state_file.view import read_count, read_target
from verdigris.drivers.loop.state_keeper import StateKeeper
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.storage.repository import Repository

_NEVER = datetime.min.replace(tzinfo=UTC)


@value
class WaitingProgram:
    found: FoundProgram
    state: Mapping[str, str]
    """The table at the top of its state file."""
    size: int = 0
    """Of that file, in bytes."""
    faults: int = 0
    """How many findings `tdd loop lint` has."""


@value
class SkippedProgram:
    name: str
    reason: str
    next_due: str = ""


@value
class Due:
    selected: WaitingProgram | None
    skipped: tuple[SkippedProgram, ...] = ()
    deferred: tuple[str, ...] = ()
    """Programs that are due as well, and ran more recently."""


def choose_due(candidates: Sequence[WaitingProgram], now: datetime, *, forced: str = "") -> Due:
    """`forced`: a program that is chosen unless it has findings."""
    asked = [program for program in candidates if forced in {"", program.found.name}]
    reasons = [_why_unfit(program) if forced else _why_not(program, now) for program in asked]
    due = [program for program, reason in zip(asked, reasons, strict=True) if reason is None]
    due.sort(key=lambda program: (_last_run(program) or _NEVER, program.found.name))
    skipped = tuple(reason for reason in reasons if reason is not None)
    return Due(due[0] if due else None, skipped, tuple(program.found.name for program in due[1:]))


def _why_unfit(one: WaitingProgram) -> SkippedProgram | None:
    name = one.found.name
    why = f"unconfigured: {one.faults} findings (`tdd loop lint {name}`)"
    return SkippedProgram(name, why) if one.faults else None


def _why_not(one: WaitingProgram, now: datetime) -> SkippedProgram | None:
    name, state = one.found.name, one.state
    if unfit := _why_unfit(one):
        return unfit
    if is_yes(state.get("Completed", "")):
        return SkippedProgram(name, f"completed: {state.get('Completed Reason') or 'its target is met'}")
    if is_yes(state.get("Paused", "")):
        reason = state.get("Pause Reason") or "manual"
        return SkippedProgram(name, f"paused: {reason} (`tdd loop resume {name}`)")
    recent = [word.strip() for word in state.get("Recent Statuses", "").split(",") if word.strip()]
    if len(recent) >= PLATEAU and set(recent[-PLATEAU:]) == {"rejected"}:
        return SkippedProgram(name, f"plateau: the last {PLATEAU} were rejected (`tdd loop resume {name}`)")
    last, hours = _last_run(one), one.found.program.schedule.hours
    if last is not None and hours and (now - last).total_seconds() < hours * 3600:
        following = datetime.fromtimestamp(last.timestamp() + hours * 3600, UTC)
        return SkippedProgram(name, "not due", following.isoformat(timespec="seconds"))
    return None


def _last_run(one: WaitingProgram) -> datetime | None:
    said = one.state.get("Last Run", "").strip()
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def due_document(due: Due) -> dict[str, Any]:
    """The same fields as the scheduler of `.autoloop` prints."""
    one = due.selected
    program = one.found.program if one else None
    return {
        "selected": program.name if program else None,
        "selected_file": one.found.path if one else None,
        "selected_issue": None,
        "selected_target_metric": program.target_metric if program else None,
        "selected_metric_direction": program.direction if program else None,
        "state_file_size_bytes": one.size if one else None,
        "state_file_max_bytes": MOST_BYTES,
        "issue_programs": {},
        "deferred": list(due.deferred),
        "skipped": [
            {
                "name": skip.name,
                "reason": skip.reason,
                **({"next_due": skip.next_due} if skip.next_due else {}),
            }
            for skip in due.skipped
        ],
        "unconfigured": [skip.name for skip in due.skipped if skip.reason.startswith("unconfigured")],
        "no_programs": one is None and not due.skipped,
        "head_branch": f"autoloop/{program.name}" if program else None,
        "existing_pr": None,
    }


READY, RUNNING, WAITING = "ready", "running", "waiting"
PAUSED, COMPLETED, UNREADY = "paused", "completed", "not-ready"
_LAST = 3


@value
class OpenWork:
    """The iteration that has not ended."""

    number: int
    choice: str
    phase: str
    attempt: int
    """The attempt that is next or under way; 0 if the phase does not count attempts."""
    target: str


@value
class ProgramSurvey:
    name: str
    path: str
    strategy: str
    condition: str
    """`ready`, `running`, `waiting` for its time, `paused`, `completed` or `not-ready`."""
    why: str
    next_due: str
    """When it is `waiting`."""
    pid: int
    """The process of its run; 0 if it is not running."""
    iterations: int
    open: OpenWork | None
    harness: tuple[str, ...]
    """The status of each behaviour, the oldest first."""
    best: float | None
    target_metric: float | None
    direction: str
    metrics: tuple[float, ...]
    """Of the accepted iterations, the oldest first."""
    branch: str
    history: tuple[IterationEnded, ...]
    """The last ones, the newest last."""


def gather_candidates(root: Path, name: str, memory: str) -> tuple[WaitingProgram, ...]:
    """The programs that the schedule chooses from: all of them, or the one of this name."""
    found = []
    for one in find_programs(root, name):
        text = read_state(root, one.name, memory)
        faults = len(lint_program(one, root))
        found.append(WaitingProgram(one, read_machine_state(text), len(text.encode()), faults))
    return tuple(found)


def survey_programs(home: Project, name: str) -> tuple[ProgramSurvey, ...]:
    settings, records = load_loop(home.root), tuple(home.log.records())
    return tuple(
        _survey(home, settings, one, read_history(records, one.found.name))
        for one in gather_candidates(home.root, name, settings.memory)
    )


def _survey(home: Project, settings: LoopSettings, one: WaitingProgram, state: ProgramState) -> ProgramSurvey:
    found, text = one.found, read_state(home.root, one.found.name, settings.memory)
    run = find_occupant(home.repo, RUN)
    pid = run.pid if run is not None and run.program == found.name else 0
    condition, why, next_due = _condition(one, state, running=bool(pid))
    return ProgramSurvey(
        found.name,
        found.path,
        "test-driven" if found.is_test_driven else "ratchet",
        condition,
        why,
        next_due,
        pid,
        max(state.count, read_count(text)),
        _open_work(home, settings, found, state),
        tuple(behaviour.status for behaviour in state.harness),
        state.best.metric if state.best else as_number(one.state.get("Best Metric", "")),
        read_target(text, found.program),
        found.program.direction,
        accepted_metrics(state),
        f"{BRANCHES}{found.name}",
        state.iterations[-_LAST:],
    )


def _condition(one: WaitingProgram, state: ProgramState, *, running: bool) -> tuple[str, str, str]:
    """Asks the log first, then the state file, which may know more after the log was lost."""
    if running:
        return RUNNING, "", ""
    if one.faults:
        return UNREADY, f"{one.faults} findings: `tdd loop lint {one.found.name}` lists them", ""
    if state.completed:
        return COMPLETED, state.completed, ""
    if state.paused:
        return PAUSED, state.paused, ""
    skipped = choose_due([one], datetime.now(UTC)).skipped
    if not skipped:
        return READY, "", ""
    first = skipped[0]
    if first.next_due:
        return WAITING, "", first.next_due
    word, _, why = first.reason.partition(": ")
    return (COMPLETED if word == COMPLETED else PAUSED), why if word == PAUSED else first.reason, ""


def _open_work(
    home: Project, settings: LoopSettings, found: FoundProgram, state: ProgramState
) -> OpenWork | None:
    now = state.open
    if now is None:
        return None
    committed = has_commit(home.root, now, f"refs/heads/{BRANCHES}{found.name}")
    phase = next_phase(
        now,
        is_test_driven=found.is_test_driven,
        committed=committed,
        owes=False,
        attempts=settings.attempts,
    )
    attempt = {"red": now.picks + 1, "green": now.attempts + 1}.get(str(phase), 0)
    target = now.pinned.target if now.pinned else ""
    return OpenWork(now.number, now.choice, str(phase), attempt, target)


@value
class Intervention:
    changed: bool
    lines: tuple[str, ...]
    """The result, and notes."""


def pause_program(home: Project, name: str, why: str) -> Intervention:
    """A run of the program ends before its next step."""
    keeper, state, notes = _read_state(home, name)
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


def resume_program(home: Project, name: str, why: str) -> Intervention:
    """Lets it go on after a pause, a plateau or its completion."""
    keeper, state, notes = _read_state(home, name)
    was = f"paused: {state.paused}" if state.paused else f"completed: {state.completed}"
    if not state.paused and not state.completed:
        return Intervention(False, (f"{name} is not paused", *notes))
    keeper.record(e.ProgramResumed(program=name, why=" ".join(why.split()), at=now_ms()))
    return Intervention(True, (f"{name} is resumed; it was {was}", *notes))


def stop_runs(repo: Repository, name: str) -> tuple[Occupant, ...]:
    """Asks what is at work to stop before its next step, and returns whom it asked."""
    run, daemon = find_occupant(repo, RUN), find_occupant(repo, DAEMON)
    if name:
        if run is None or run.program != name:
            other = f"{run.program} is" if run else "no program is"
            raise UserError(f"{name} is not running: {other}.", hint="`tdd loop status` shows what is")
        ask_to_stop(repo, run.pid, name)
        return (run,)
    for one in (run, daemon):
        if one is not None and (daemon is None or one.pid != daemon.pid or one is daemon):
            ask_to_stop(repo, one.pid, one.program)
    return tuple(one for one in (daemon, run) if one is not None)


def _read_state(home: Project, name: str) -> tuple[StateKeeper, ProgramState, list[str]]:
    """Takes in what people edited meanwhile; the notes say what that was."""
    notes: list[str] = []

    def watch(happening: Happening) -> None:
        if isinstance(happening, Noted):
            notes.append(happening.text)

    keeper = StateKeeper(home, find_program(home.root, name), load_loop(home.root), watch)
    keeper.read()
    return keeper, keeper.state(), notes
