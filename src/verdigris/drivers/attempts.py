"""Asks a model until its answer is accepted or the attempts are used up; each refusal goes back with why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from verdigris.core.errors import ContextOverflow
from verdigris.core.events import StepRefused
from verdigris.core.value import value
from verdigris.drivers.edits import Bad, join_reasons
from verdigris.drivers.happenings import Attempted, Refused
from verdigris.models.roles import conversation
from verdigris.models.roles.answer import RefusedAnswer
from verdigris.models.roles.check import RoleStop
from verdigris.models.roles.context import shrunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.drivers.budget import Metered
    from verdigris.drivers.happenings import Watcher
    from verdigris.drivers.step_records import StepLog
    from verdigris.models.providers import Scrubber
    from verdigris.models.roles.check import EditPlan
    from verdigris.models.roles.context import Material
    from verdigris.models.roles.conversation import Talk
    from verdigris.models.roles.prompt import Task
    from verdigris.storage.project import Project

Done = TypeVar("Done")
_REASONS, _LONG = 5, 300


@value
class Exhausted:
    """The attempts are used up; the tree is as it was."""

    why: str
    """The last reason."""
    reasons: tuple[str, ...] = ()
    """Of every attempt."""


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
        self, material: Material, task: Task, carry_out: Callable[[EditPlan | RoleStop, int], Done | Bad]
    ) -> Done | Exhausted:
        """`carry_out`: does what an answer says, given the attempt's number, or says why it cannot be."""
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
                done = carry_out(got, attempt)
                if not isinstance(done, Bad):
                    return done
                last = done.reasons
                talk = conversation.say(talk, done.said, join_reasons(last))
            told = self.shorten(last)
            tried.append(join_reasons(told))
            self.project.record(StepRefused(step=task.step, attempt=attempt, reasons=told))
            self.watch(Refused(task.step, task.role.name, attempt, join_reasons(told)))
        self.log.ended(outcome="blocked", why=join_reasons(last))
        return Exhausted(join_reasons(self.shorten(last)), tuple(tried))

    def _ask(self, talk: Talk) -> tuple[Talk, EditPlan | RoleStop | RefusedAnswer]:
        """With less of the project where the model's context is too small for it."""
        while True:
            try:
                return conversation.edit(self.model, talk)
            except ContextOverflow:
                shorter = conversation.begin(shrunk(talk.material), talk.task)
                if talk.tried:
                    shorter = conversation.say(replace(shorter, tried=talk.tried[:-1]), talk.tried[-1])
                talk = replace(shorter, exchanges=talk.exchanges, plan=talk.plan, looks=talk.looks)

    def shorten(self, reasons: tuple[str, ...]) -> tuple[str, ...]:
        """As they may be written down."""
        some = (why if len(why) <= _LONG else f"{why[: _LONG - 1]}…" for why in reasons[:_REASONS])
        return tuple(map(self.scrub, some))
