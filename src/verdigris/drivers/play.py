"""A run with roles: its models and its meter; and the attempts of a role, until one is accepted."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from verdigris.core.errors import ContextOverflow, VerdigrisError
from verdigris.core.events import StepRefused
from verdigris.core.value import value
from verdigris.drivers.budget import Meter
from verdigris.drivers.edits import Bad, join_reasons
from verdigris.drivers.happenings import Attempted, Delayed, Noted, Refused, scrub_events
from verdigris.drivers.step_records import StepLog, StepRecords
from verdigris.models.role_models import assign_models
from verdigris.models.roles import conversation
from verdigris.models.roles.answer import RefusedAnswer
from verdigris.models.roles.check import RoleStop
from verdigris.models.roles.context import shrunk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from verdigris.core.settings import DriverSettings
    from verdigris.drivers.budget import Metered
    from verdigris.drivers.edits import Seen
    from verdigris.drivers.happenings import RunEnded, Watcher
    from verdigris.models.providers import Scrubber
    from verdigris.models.role_models import RoleModels
    from verdigris.models.roles import Role, Team
    from verdigris.models.roles.check import EditPlan
    from verdigris.models.roles.context import Material
    from verdigris.models.roles.conversation import Talk
    from verdigris.models.roles.prompt import Task
    from verdigris.storage.project import Project

Done = TypeVar("Done")
_REASONS, _LONG = 5, 300


@value
class Exhausted:
    """The attempts are used up; the tree is as it was before the step."""

    why: str
    """The last reason."""
    reasons: tuple[str, ...] = ()
    """Those of every attempt."""


@dataclass(frozen=True)
class Attempts:
    """The attempts of one role at one step, in one conversation."""

    project: Project
    model: Metered
    log: StepLog
    most: int
    watch: Watcher
    scrub: Scrubber

    def make(
        self,
        material: Material,
        task: Task,
        carry_out: Callable[[EditPlan | RoleStop, int, Seen], Done | Bad],
        set_back: Callable[[str], Done | None],
    ) -> Done | Exhausted:
        """Asks until an answer is accepted.

        `carry_out`: carries out an answer, given the attempt's number, or returns why it is refused; it adds
        the test runs of its judgement to a list. `set_back`: restores the tree for the next attempt, or
        returns a result that ends the step instead.
        """
        talk = conversation.begin(material, task)
        last: tuple[str, ...] = ()
        tried: list[str] = []
        for attempt in range(1, self.most + 1):
            self.watch(Attempted(task.step, task.role.name, attempt))
            talk, got = self._ask(talk)
            if attempt == 1:
                self.log.plan(talk.plan or (got.reason if isinstance(got, RoleStop) else ""))
            if isinstance(got, RefusedAnswer):
                last = got.reasons
                self.log.attempt(attempt, reasons=last)
            else:
                seen: Seen = []
                done = carry_out(got, attempt, seen)
                bad = done if isinstance(done, Bad) else Bad("", ())
                paths, last = tuple(got.changes), bad.reasons
                self.log.attempt(attempt, paths=paths, reasons=last, output=bad.output, runs=seen)
                if not isinstance(done, Bad):
                    return done
                if (ended := set_back(join_reasons(self.shorten(last)))) is not None:
                    return ended
                talk = conversation.say(talk, done.said, join_reasons(last))
            told = self.shorten(last)
            tried.append(join_reasons(told))
            self.project.record(StepRefused(step=task.step, attempt=attempt, reasons=told))
            self.watch(Refused(task.step, task.role.name, attempt, join_reasons(told)))
        self.log.record_end(outcome="blocked", why=join_reasons(last))
        return Exhausted(join_reasons(self.shorten(last)), tuple(tried))

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

    def shorten(self, reasons: tuple[str, ...]) -> tuple[str, ...]:
        """Shortens reasons for the log, and takes keys out of them."""
        some = (why if len(why) <= _LONG else f"{why[: _LONG - 1]}…" for why in reasons[:_REASONS])
        return tuple(map(self.scrub, some))


@contextmanager
def undo_when_interrupted(set_back: Callable[[], object]) -> Iterator[None]:
    """Sets aside what is not accepted if something ends the step early, such as Ctrl-C."""
    try:
        yield
    except BaseException:
        with suppress(VerdigrisError):
            set_back()
        raise


@dataclass(frozen=True)
class RoleRun:
    """What every driver's run with roles has."""

    role_models: RoleModels
    keeper: StepRecords
    meter: Meter
    watch: Watcher
    """Keys are taken out of what it is told."""

    def attempts(self, project: Project, role: Role, step: int, most: int) -> Attempts:
        metered = self.meter.meter_model(self.role_models.model(role.name, step), step, role)
        log = StepLog(self.keeper, step, role, metered)
        return Attempts(project, metered, log, most, self.watch, self.role_models.scrub)

    def tell_end(self, ended: RunEnded) -> RunEnded:
        """Tells the end of a run, with what it used."""
        for recording in {id(r): r for r in self.role_models.recordings.values()}.values():
            if recording.drift:
                self.watch(Noted(recording.drift))
        usage = self.meter.usage
        found = replace(
            ended,
            tokens=self.meter.tokens,
            cached=usage.cached,
            uncached=usage.prompt - usage.cached,
            prefix=round(self.meter.prefix, 4),
            cost=self.meter.cost,
        )
        self.watch(found)
        return found


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
        told = scrub_events(watch, role_models.scrub)
        meter = Meter(settings.tokens, told, settings.prices)
        yield RoleRun(role_models, StepRecords(root, role_models.scrub), meter, told)
