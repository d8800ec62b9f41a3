"""A play: one role at one task, asked until an answer of it is accepted; and the run that plays belong to.

A driver says who judges an answer and how a refused attempt is set back. A play asks, records and tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from verdigris.core.errors import ContextOverflow, VerdigrisError
from verdigris.core.events import StepBegun, StepProposed, StepRefused
from verdigris.core.policy.done import find_open
from verdigris.core.records import from_json, to_json
from verdigris.core.settings import DriverSettings
from verdigris.core.state import OpenStep
from verdigris.core.value import value
from verdigris.drivers.budget import BudgetUsedUp, Meter, Metered, as_tokens
from verdigris.drivers.commits import Proposal
from verdigris.drivers.edits import Bad, Seen, join_reasons
from verdigris.drivers.happenings import (
    Attempted,
    Delayed,
    Noted,
    Refused,
    RunEnded,
    StepBegan,
    StepEnded,
    Watcher,
    scrub_events,
)
from verdigris.drivers.step_records import StepLog
from verdigris.models.role_models import RoleModels, assign_models
from verdigris.models.roles import Role, Team, conversation
from verdigris.models.roles.answer import RefusedAnswer
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.context import Material, shrunk
from verdigris.models.roles.conversation import Talk
from verdigris.models.roles.prompt import Task
from verdigris.storage.durable_files import prepare_folder
from verdigris.storage.project import Project
from verdigris.storage.repository import head
from verdigris.turns.completion import gather_work

Done = TypeVar("Done")
UNPROVEN = "not-proven"
"""A run made what it was to make, and something is open."""
REPLAY = "this is a replay: the answers come from a recording, the verdicts do not"
_REASONS, _LONG = 5, 300


@value
class Exhausted:
    """The attempts are used up; the tree is as it was before the step."""

    why: str
    """The last reason."""
    reasons: tuple[str, ...] = ()
    """Those of every attempt."""


@dataclass(frozen=True)
class Play(Generic[Done]):
    """One role at one task, in one conversation; `RoleRun.play` makes it."""

    run: RoleRun
    project: Project
    """As the role acts in it."""
    role: Role
    step: int
    """The same after a kill, so that a recording still fits."""
    most: int
    """How many attempts it has."""
    judge: Callable[[EditPlan | RoleStop, int, Seen], Done | Bad]
    """Carries out the answer of an attempt, or returns why it is refused; notes the test runs that it saw."""
    set_back: Callable[[str], None]
    """Restores the tree for the next attempt."""
    model: Metered
    log: StepLog
    reopen: Callable[[], Done | None] = lambda: None
    """Opens what the next attempt needs, or returns a result that ends the play instead."""
    earlier: int = 0
    """Attempts of an earlier play at the same task; watchers count on from them."""
    interrupted: str = "the step was interrupted"
    """Why the edits of a killed attempt are set aside."""

    def take(self, show: Callable[[], tuple[Material, Task]]) -> Done | Exhausted:
        """Asks until an answer is accepted; `show` is called on the tree that the first attempt begins with.

        What is not accepted is set aside if something ends the play early, such as Ctrl-C.
        """
        try:
            self.set_back(self.interrupted)
            return self._attempt(*show())
        except BaseException:
            with suppress(VerdigrisError):
                self.set_back(self.interrupted)
            raise

    def _attempt(self, material: Material, task: Task) -> Done | Exhausted:
        talk = conversation.begin(material, task)
        last: tuple[str, ...] = ()
        tried: list[str] = []
        for attempt in range(1, self.most + 1):
            self.run.watch(Attempted(self.step, self.role.name, self.earlier + attempt))
            talk, reply = self._ask(talk)
            if attempt == 1:
                self.log.plan(talk.plan or (reply.reason if isinstance(reply, RoleStop) else ""))
            if isinstance(reply, RefusedAnswer):
                last = reply.reasons
                self.log.attempt(attempt, reasons=last)
            else:
                seen: Seen = []
                done = self.judge(reply, attempt, seen)
                bad = done if isinstance(done, Bad) else Bad("", ())
                paths, last = tuple(reply.changes), bad.reasons
                self.log.attempt(attempt, paths=paths, reasons=last, output=bad.output, runs=seen)
                if not isinstance(done, Bad):
                    return done
                self.set_back(join_reasons(self._shorten(last)))
                if (ended := self.reopen()) is not None:
                    return ended
                talk = conversation.say(talk, done.said, join_reasons(last))
            reasons = self._shorten(last)
            tried.append(join_reasons(reasons))
            self.project.record(StepRefused(step=self.step, attempt=attempt, reasons=reasons))
            self.run.watch(Refused(self.step, self.role.name, self.earlier + attempt, join_reasons(reasons)))
        self.log.record_end(outcome="blocked", why=join_reasons(last))
        return Exhausted(join_reasons(self._shorten(last)), tuple(tried))

    def _ask(self, talk: Talk) -> tuple[Talk, EditPlan | RoleStop | RefusedAnswer]:
        """Asks; if the model's context is too small, asks again with less of the project."""
        while True:
            try:
                return conversation.edit(self.model, talk)
            except ContextOverflow:
                shorter = conversation.begin(shrunk(talk.material), talk.task)
                if talk.tried:
                    shorter = conversation.say(replace(shorter, tried=talk.tried[:-1]), talk.tried[-1])
                talk = replace(shorter, exchanges=talk.exchanges, plan=talk.plan, looks=talk.looks)

    def _shorten(self, reasons: tuple[str, ...]) -> tuple[str, ...]:
        """Shortens reasons for the log, and takes keys out of them."""
        some = (why if len(why) <= _LONG else f"{why[: _LONG - 1]}…" for why in reasons[:_REASONS])
        return tuple(map(self.run.role_models.scrub, some))

    # -- its record ---------------------------------------------------------------------------

    def tell_beginning(self, phase: str = "") -> None:
        most = self.earlier + self.most
        self.run.watch(StepBegan(self.step, self.role.name, self.model.name, most, phase))

    def tell_end(self, outcome: str, why: str = "") -> None:
        self.run.watch(StepEnded(self.step, self.role.name, outcome, why, **as_tokens(self.model.usage)))


def begin_step(project: Project, driver: str, step: int, role: Role, tree: str) -> OpenStep:
    """Records that a step begins on this tree, unless it is open already after a kill."""
    commit = head(project.repo).commit or ""
    open_ = project.state().machine.step
    if open_ is None or (open_.driver, open_.step, open_.role) != (driver, step, role.name):
        begun = StepBegun(step=step, role=role.name, commit=commit, tree=tree, driver=driver)
        project.record(begun, sync=True)
        open_ = project.state().machine.step
    assert open_ is not None  # noqa: S101 - it was begun just now
    return open_


def read_proposal(project: Project) -> Proposal | None:
    """The role's words about the edits of the open step, which are judged or accepted now."""
    step = project.state().machine.step
    data = project.workspace.blob_bytes(step.proposal) if step and step.proposal else None
    return from_json(Proposal, json.loads(data)) if data else None


@value
class RunEnd:
    """How a run of a driver ends."""

    outcome: str
    why: str = ""
    next: str = ""


def prove_end(ended: RunEnd, project: Project, session: str, *, finished: bool, following: str) -> RunEnd:
    """A good end is one only if nothing is open: no test was lost since `session` began, for instance.

    Roles try again what was set aside, and reports go to the tester. A red may wait unless it is `finished`.
    """
    facts = replace(gather_work(project, session), aside={}, bugs=())
    left = tuple(find_open(facts if finished else replace(facts, reds={}, claims=(), owed=())))
    return RunEnd(UNPROVEN, "; ".join(left), following) if left else ended


def play_out(turn: Callable[[], RunEnd | None], spent: RunEnd) -> RunEnd:
    """Takes turns until one ends the run; `spent`: its end, but for the reason, if no token is left."""
    try:
        while (ended := turn()) is None:
            pass
    except BudgetUsedUp as used:
        return replace(spent, why=str(used))
    return ended


@dataclass(frozen=True)
class RoleRun:
    """What every driver's run with roles has."""

    role_models: RoleModels
    folder: Path
    """For the records of steps."""
    meter: Meter
    watch: Watcher
    """Keys are taken out of what it is told."""

    def play(
        self,
        project: Project,
        role: Role,
        step: int,
        most: int,
        judge: Callable[[EditPlan | RoleStop, int, Seen], Done | Bad],
        set_back: Callable[[str], None],
    ) -> Play[Done]:
        model = self.meter.meter_model(self.role_models.model(role.name, step), step, role)
        log = StepLog(self.folder, self.role_models.scrub, step, role, model)
        return Play(self, project, role, step, most, judge, set_back, model, log)

    def propose(self, project: Project, step: int, attempt: int, proposal: Proposal) -> None:
        """Records a proposal before any edit is written, without keys that a model may have repeated."""
        document = self.role_models.scrub.document(to_json(proposal))
        blob = project.workspace.blob(json.dumps(document, sort_keys=True).encode())
        project.record(StepProposed(step=step, attempt=attempt, proposal=blob), sync=True)

    def tell_end(self, ended: RunEnded) -> RunEnded:
        """Tells the end of a run, with what it used."""
        for recording in {id(r): r for r in self.role_models.recordings.values()}.values():
            if recording.drift:
                self.watch(Noted(recording.drift))
        usage = self.meter.usage
        ended = replace(
            ended,
            tokens=self.meter.tokens,
            cached=usage.cached,
            uncached=usage.prompt - usage.cached,
            prefix=round(self.meter.prefix, 4),
            cost=self.meter.cost,
        )
        self.watch(ended)
        return ended


@contextmanager
def open_roles(
    team: Team,
    settings: DriverSettings,
    root: Path,
    watch: Watcher,
    *,
    record: Path | None,
    optional: Collection[str] = (),
) -> Iterator[RoleRun]:
    """`optional`: roles that need no player."""
    role_models = assign_models(
        team, settings, root=root, record=record, notice=lambda why: watch(Delayed(why)), optional=optional
    )
    with role_models:
        scrubbed = scrub_events(watch, role_models.scrub)
        meter = Meter(settings.tokens, scrubbed, settings.prices)
        yield RoleRun(role_models, prepare_folder(root), meter, scrubbed)
