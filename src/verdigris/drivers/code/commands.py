"""Takes a person's lines in a session: tasks, and commands that begin with `/`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.events import Accepted, Ground, RefactorEnded
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.value import value
from verdigris.drivers.code.conversation import describe_law
from verdigris.drivers.code.facts import describe_usage, read_changes
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.plan import describe_plan
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.session_file import Undone
from verdigris.drivers.code.session_start import begin_refactor, work_on_task
from verdigris.drivers.code.settings import Sweep, touched_files
from verdigris.drivers.code.tools.law import last_event
from verdigris.drivers.code.tools.workbench import CLIENT
from verdigris.drivers.happenings import SessionEnded
from verdigris.storage.project import Project
from verdigris.storage.repository import head
from verdigris.turns import refactor
from verdigris.turns.aside import lay_back, restore
from verdigris.turns.completion import events_since
from verdigris.turns.next_move import following_move
from verdigris.turns.person import switch_off, switch_on
from verdigris.turns.test_bug import report_bug

QUIT = "/quit"


@value
class CommandAnswer:
    lines: tuple[str, ...]
    ends: bool = False
    note: str = ""
    """A sentence about it that the model gets with the next task."""
    ended: SessionEnded | None = None
    """How a task ended; None for a command."""


@dataclass
class Dialogue:
    """A session that a person speaks with, line by line."""

    session: Session
    notes: list[str] = field(default_factory=list)
    """What the person did since their last task, for the model."""

    def take(self, line: str) -> CommandAnswer:
        """Carries out a line. An interrupt ends the task or the command, not the session."""
        words = line.strip()
        if not words:
            return CommandAnswer(())
        if not words.startswith("/"):
            return self._work_on(words)
        try:
            answer = run_command(self.session, words)
        except KeyboardInterrupt:
            return CommandAnswer((f"{words.split()[0]} was cancelled; /status tells where things stand",))
        self.notes += [answer.note] if answer.note else []
        return answer

    def _work_on(self, task: str) -> CommandAnswer:
        resumed = bool(self.session.file.record.tasks)
        ended = work_on_task(self.session, task, resumed=resumed, notes="\n".join(self.notes))
        self.notes.clear()
        if ended.outcome == End.INTERRUPTED:
            line = "cancelled; what it has changed so far stays: /diff shows it, /undo takes it back"
            return CommandAnswer((line,), ended=ended)
        return CommandAnswer(tuple(ended.text.rstrip().splitlines()), ended=ended)


def run_command(session: Session, line: str) -> CommandAnswer:
    """Answers errors in words; an unknown command is answered with the list of commands."""
    name, _, rest = line.strip().partition(" ")
    if name not in COMMANDS:
        return CommandAnswer((f"there is no {name}; there are {' '.join(COMMANDS)}",))
    try:
        answer = COMMANDS[name][1](session, rest.strip())
        return CommandAnswer(answer.lines()) if isinstance(answer, Deny) else answer
    except VerdigrisError as error:
        return CommandAnswer(tuple(filter(None, (error.message, error.hint and f"next: {error.hint}"))))


def _person(session: Session) -> Project:
    return replace(session.bench.project, actor=Actor(client=CLIENT))


def _plan(session: Session, _: str) -> CommandAnswer:
    plan = session.file.record.plan
    if not plan.steps:
        return CommandAnswer(("there is no plan",))
    return CommandAnswer(tuple(describe_plan(plan, session.dispatcher.verdicts()).splitlines()))


def _status(session: Session, _: str) -> CommandAnswer:
    project = _person(session)
    state = project.state()
    return CommandAnswer((*describe_law(state), f"next: {following_move(project, state)}"))


def _diff(session: Session, _: str) -> CommandAnswer:
    changes = read_changes(session)
    if not changes.lines:
        return CommandAnswer(("nothing is changed",))
    more = (f"… {changes.left_out} more lines; `git diff` has them",) if changes.left_out else ()
    return CommandAnswer((f"changed in {changes.of}:", *changes.lines, *more))


@value
class UndoPoint:
    """A state of the worktree that a person can go back to."""

    seq: int
    """The number of the log's last event then."""
    tree: str
    ground: str
    name: str


def undo_points(session: Session) -> tuple[UndoPoint, ...]:
    """Before each task, and each state that a verdict accepted, without what was undone; the oldest first."""
    record, project = session.file.record, session.bench.project
    points = [UndoPoint(t.after, t.tree, t.ground, "before the task") for t in record.begun if t.tree]
    for seq, event in events_since(project, record.start):
        match event:
            case Accepted():
                points.append(UndoPoint(seq, event.after, event.after, f"when {event.test_id} was accepted"))
            case RefactorEnded(verdict="accepted"):
                points.append(UndoPoint(seq, event.tree, event.tree, "when the refactor was accepted"))
    kept = (p for p in points if not any(since < p.seq <= until for since, until in record.undone))
    return tuple(sorted(kept, key=lambda point: point.seq))


def _undo(session: Session, _: str) -> CommandAnswer:
    """Restores the last accepted state, or that before the task; keeps what it takes back."""
    project = _person(session)
    now = project.workspace.snapshot()
    point = next((c for c in reversed(undo_points(session)) if c.tree != now), None)
    if point is None:
        return CommandAnswer(("nothing that this session changed is still there",))
    paths = lay_back(project, point.tree, f"undone by a person: back to {point.name}")
    state = project.state()
    if point.ground and state.ground != point.ground:
        place = head(project.repo)
        why = f"back to {point.name}"
        project.record(Ground(tree=point.ground, commit=place.commit, on=place.branch, why=why), sync=True)
    turns = session.file.record.turns
    first = min((turn.number for turn in turns if turn.after >= point.seq), default=len(turns) + 1)
    session.file.add(Undone(first, point.seq, last_event(project)))
    kept = list(state.aside)[-1]
    line = f"the worktree is as it was {point.name}; undone: {', '.join(paths)}, kept as {kept}"
    note = f"The person has undone your work: all is as it was {point.name} ({', '.join(paths)})."
    return CommandAnswer((line,), note=note)


def _restore(session: Session, rest: str) -> CommandAnswer | Deny:
    project = _person(session)
    if not rest:
        kept = [f"{laid.id}: {', '.join(laid.paths)}" for laid in project.state().aside.values()]
        way = ("/restore ID brings one back while its test is claimed",) if kept else ()
        return CommandAnswer((*(kept or ["nothing is set aside"]), *way))
    back = restore(project, rest)
    if isinstance(back, Deny):
        return back
    line = f"brought back: {', '.join(back)}"
    return CommandAnswer((line,), note=f"The person has {line}.")


_BUDGET = "--sweep-files"
_REFACTOR_USE = "/refactor [--uncovered] [--sweep 'GLOB'… [--sweep-files NUMBER]]"


def _read_sweep(words: list[str]) -> Sweep:
    """Reads the globs, and the number of files that it may touch."""
    if _BUDGET not in words:
        return Sweep(tuple(words))
    at = words.index(_BUDGET)
    globs, number = words[:at], words[at + 1 :]
    if not globs or len(number) != 1 or not number[0].isdecimal() or not int(number[0]):
        raise UserError(f"/refactor cannot read {' '.join(words[at:])!r}.", hint=_REFACTOR_USE)
    return Sweep(tuple(globs), int(number[0]))


def _refactor(session: Session, rest: str) -> CommandAnswer | Deny:
    """Begins a refactor, with `--uncovered` or as a sweep; if one is open, ends it."""
    project = _person(session)
    if project.state().phase is Phase.REFACTOR:
        if (no := session.bench.judge_sweep()) is not None:
            return no
        touched = len(touched_files(project))
        ended = refactor.end(project)
        if isinstance(ended, Deny):
            return ended
        count = [] if session.bench.sweep is None else [f"the sweep touched {touched} files"]
        return CommandAnswer((*count, ended.footer), note=ended.footer)
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise UserError(f"/refactor cannot read {rest!r}: {error}.", hint="close the quotation") from None
    uncovered, sweep = "--uncovered" in words, None
    left = [word for word in words if word != "--uncovered"]
    if left[:1] == ["--sweep"] and len(left) > 1:
        sweep, left = _read_sweep(left[1:]), []
    if left:
        raise UserError(f"/refactor does not know {left[0]!r}.", hint=_REFACTOR_USE)
    begin_refactor(session, uncovered=uncovered, sweep=sweep)
    following = "next: say what to restructure; /refactor again has it judged"
    return CommandAnswer((following,), note="The person has opened a refactor.")


def _test_bug(session: Session, rest: str) -> CommandAnswer | Deny:
    place, _, why = rest.partition(" ")
    if not why:
        raise UserError("/test-bug needs a place and a reason.", hint="/test-bug tests/test_x.py:12 WHY")
    project = _person(session)
    reported = report_bug(project, [place], why, cwd=project.root)
    if isinstance(reported, Deny):
        return reported
    line = f"{reported.bug}: {', '.join(reported.places)}: {why}"
    return CommandAnswer((line,), note=f"The person reports a wrong test, {line}. Revise it.")


def _off(session: Session, rest: str) -> CommandAnswer | Deny:
    if not rest:
        raise UserError("/off needs a reason, which is recorded.", hint="/off WHY")
    return switch_off(_person(session), rest) or CommandAnswer((f"the law is off: {rest}; /on ends that",))


def _on(session: Session, _: str) -> CommandAnswer | Deny:
    return switch_on(_person(session)) or CommandAnswer(("the law is on",))


def _compact(session: Session, _: str) -> CommandAnswer:
    session.compact()
    return CommandAnswer(())


def _cost(session: Session, _: str) -> CommandAnswer:
    record, spent = session.file.record, session.spent()
    money = "" if spent.money is None else f"; cost {spent.money:.4f}"
    lines = [f"{describe_usage(session.meter.usage)}{money}; {spent.seconds:.0f} s"]
    if record.openings > 1:
        lines.append(f"in all {record.openings} runs of the session: {describe_usage(record.usage)}")
    return CommandAnswer(tuple(lines))


def _model(session: Session, name: str) -> CommandAnswer:
    """Shows or changes the model. A wrong name is noticed at the next task."""
    if not name:
        return CommandAnswer((f"{session.model.name} answers; /model PROVIDER:NAME lets another one go on",))
    session.choose_model(name)
    lines = [f"{session.model.name} answers from the next turn on"]
    lines += ["its tokens are counted at the prices in tdd.yaml"] if session.meter.cost is not None else []
    return CommandAnswer(tuple(lines))


def _help(_: Session, __: str) -> CommandAnswer:
    return CommandAnswer(tuple(f"{name:<10} {about}" for name, (about, _) in COMMANDS.items()))


def _quit(session: Session, _: str) -> CommandAnswer:
    state = session.bench.project.state()
    left = ["a refactor is open: `tdd refactor end` judges it, `tdd refactor abort` gives it up"]
    open_ = (
        left
        if state.phase is Phase.REFACTOR
        else [f"{test} is claimed and not settled" for test in state.claims]
    )
    kept = f"session {session.file.name} is kept: `tdd code --continue` goes on"
    return CommandAnswer((*_cost(session, "").lines, *open_, kept), ends=True)


COMMANDS: Mapping[str, tuple[str, Callable[[Session, str], CommandAnswer | Deny]]] = {
    "/plan": ("the steps, each with its colour", _plan),
    "/status": ("phase, reds, claims and the next move", _status),
    "/diff": ("what the open turn, or else the last one, changed", _diff),
    "/undo": ("back to the last accepted state, or to before the task, to the byte", _undo),
    "/restore": ("[ID]: bring back what was set aside, or list it", _restore),
    "/refactor": ("[--uncovered] [--sweep 'GLOB'…]: begin one; again: have it judged", _refactor),
    "/test-bug": ("FILE:LINE WHY: report a wrong test", _test_bug),
    "/off": ("WHY: switch the law off; recorded", _off),
    "/on": ("switch it on again", _on),
    "/compact": ("shorten the conversation to what matters", _compact),
    "/cost": ("tokens, money and time", _cost),
    "/model": ("[NAME]: who answers, or who is to answer from now on", _model),
    "/help": ("this list", _help),
    QUIT: ("end; `tdd code --continue` goes on", _quit),
}
