"""The scripted agent: it knows no rules, it only tries, and shows what the kernel answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from verdigris.core.actions import Deny
from verdigris.core.redness import WHY_NOT, judge_collect_error
from verdigris.core.report import Status
from verdigris.core.shown import typed
from verdigris.core.value import value
from verdigris.core.verdict import first_line
from verdigris.kernel.claiming import claim
from verdigris.kernel.settle import Settlement, settle
from verdigris.kernel.testing import run_tests
from verdigris.kernel.writing import write

if TYPE_CHECKING:
    from verdigris.kernel.project import Project


class Stage(Protocol):
    """Where the play is shown."""

    def act(self, text: str) -> None:
        """What the agent does."""

    def answer(self, *lines: str) -> None:
        """What the kernel says to it."""


@value
class Agent:
    project: Project
    stage: Stage

    def writes(self, path: str, text: str, why: str) -> None:
        self.stage.act(f"{why}: writes {path}")
        match write(self.project, {path: text.encode()}, cwd=self.project.root):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case _:
                self.stage.answer("allowed")

    def tests(self, test_id: str) -> None:
        self.stage.act(f"runs `tdd test {typed(test_id)}`")
        tested = run_tests(self.project, [test_id], cwd=self.project.root)
        for run in tested.tests:
            self._found(run.test_id, run.status, run.red, run.failure)
        for error in tested.report.errors if tested.report else ():
            failure = f"{error.kind}: {first_line(error.message)}"
            self._found(error.path, Status.ERROR, judge_collect_error(error), failure)

    def _found(self, name: str, status: Status, red: str | None, failure: str) -> None:
        self.stage.answer(f"{name}: {status}" + (f", red: {red}" if red else ""))
        if failure:
            self.stage.answer(failure)
        if red is not None and red in WHY_NOT:
            self.stage.answer(f"next: {WHY_NOT[red][1]}")

    def claims(self, test_id: str, path: str) -> None:
        self.stage.act(f"runs `tdd claim {typed(test_id, path)}`")
        match claim(self.project, [test_id], [path], cwd=self.project.root):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case _:
                self.stage.answer(f"claimed; phase {self.project.state().phase}")

    def settles(self) -> None:
        self.stage.act("runs `tdd settle`")
        match settle(self.project):
            case Deny() as no:
                self.stage.answer(*no.lines())
            case Settlement() as settlement:
                self.stage.answer(*settlement.verdict.reasons, settlement.footer)
