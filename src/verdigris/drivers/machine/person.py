"""A step that a person plays: asks for it, waits, and judges the worktree."""

from __future__ import annotations

import re
from typing import Protocol

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import StepRefused
from verdigris.core.state import Phase
from verdigris.core.value import replace
from verdigris.drivers.commits import Proposal, Verified, summarise_red
from verdigris.drivers.edits import Bad, describe_reds, join_reasons
from verdigris.drivers.happenings import Refused, YourTurn
from verdigris.drivers.judges.implementor import judge_implemented, open_reds
from verdigris.drivers.judges.refactorer import judge_restructured, too_large
from verdigris.drivers.judges.tester import judge_written_tests, test_texts_at
from verdigris.drivers.machine.commit import StepCommit, commit_step, open_step
from verdigris.drivers.machine.history import CODER, REFACTORER, TESTER, Position
from verdigris.drivers.machine.open_machine import Machine
from verdigris.drivers.machine.step import Outcome, is_accepted, refuse_unfinished
from verdigris.drivers.play import RunEnd
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import RoleStop
from verdigris.models.roles.teams import MACHINE
from verdigris.turns import aside, refactor
from verdigris.turns.aside import lay_back
from verdigris.turns.claim import claim

PATIENT = 1_000_000
"""So many strikes that a person's edits are never set aside."""
_WORDS = {
    "!nothing": (Say.NOTHING_TO_DO, (REFACTORER,)),
    "!wrong": (Say.TEST_IS_WRONG, MACHINE.roles),
    "!right": (Say.TEST_IS_RIGHT, (TESTER,)),
    "!kata": (Say.KATA_IS_WRONG, MACHINE.roles),
    "!done": (Say.KATA_DONE, (TESTER,)),
}
QUIT = "!q"
WAITING = "waiting"
_NAME = re.compile(r"""\bdef test_(\w+)|\b(?:test|it)\(\s*["'](.+?)["']|\bfn (\w+)\(\)|\bfunc Test(\w+)\(""")
_ASKS = {
    TESTER: "write one failing test, with stubs marked STUB:TDD where it needs them",
    CODER: "make the red tests pass; the tests stay as they are",
    REFACTORER: "improve the structure and keep the behaviour",
}


class Person(Protocol):
    """The person at the terminal."""

    def __call__(self, turn: YourTurn, /) -> str | None:
        """The line that was typed; None if there is no terminal."""


class HumanStep:
    def __init__(self, machine: Machine, position: Position, person: Person, notes: tuple[str, ...]) -> None:
        acting = machine.project_for(position.role)
        self._project = replace(acting, settings=replace(acting.settings, strikes=PATIENT))
        self._machine, self._position, self._role = machine, position, position.role
        self._person, self._notes = person, notes

    def take(self) -> Outcome | RunEnd:
        """Where the run ends the step stays open, with the person's edits in the tree."""
        if is_accepted(self._project):
            done = self._commit(None)
            return done if isinstance(done, StepCommit) else RunEnd(WAITING, join_reasons(done.reasons))
        self._prepare()
        why = ""
        while True:
            line = self._person(self._turn(why))
            changed = self._project.workspace.snapshot() != open_step(self._project).tree
            if line is None and not changed:
                return RunEnd(WAITING, why or f"the {self._role} is a person: {_ASKS[self._role]}")
            word, _, rest = (line or "").strip().partition(" ")
            if word == QUIT:
                return RunEnd(WAITING, "you stopped here")
            stop = self._stop_of(word, rest)
            refusal = None if stop is None else refuse_unfinished(self._project, stop)
            if stop is not None and refusal is None and not changed:
                # Ends the turn or refactor that was opened for the step.
                lay_back(self._project, open_step(self._project).tree, f"{self._role}: {stop.say}")
                return stop
            judged = refusal or self._judge((line or "").strip(), word, changed=changed)
            done = judged if isinstance(judged, Bad) else self._commit(judged)
            if isinstance(done, StepCommit):
                return done
            why = join_reasons(done.reasons)
            step = self._position.step
            self._project.record(StepRefused(step=step, attempt=0, reasons=done.reasons[:5]))
            self._machine.watch(Refused(step, self._role.name, 0, why))
            if line is None:
                return RunEnd(WAITING, why)

    def _turn(self, why: str) -> YourTurn:
        shows_reds = self._role is CODER and not why
        reds = describe_reds(open_reds(self._project, self._position.tests)) if shows_reds else ()
        typed = "then press Enter, with the commit's subject if you like"
        ends = f"or type: {', '.join(f'{word} WHY' for word in self._words)}, {QUIT}"
        again = (f"not yet: {why}",) if why else ()
        return YourTurn(
            self._position.step,
            self._role.name,
            (*again, _ASKS[self._role], *(() if why else self._notes), *reds, f"{typed}; {ends}"),
        )

    # -- before and after the edits -----------------------------------------------------------

    def _prepare(self) -> None:
        """Opens the phase of the role; edits that exist already are set aside and restored in it."""
        project, state = self._project, self._project.state()
        if self._role is TESTER or state.phase is not Phase.RED:
            return
        lay_back(project, open_step(project).tree, "brought back when the step has begun")
        laid = list(project.state().aside)[-1] if project.state().asides > state.asides else None
        if self._role is REFACTORER:
            _require_allowed(refactor.begin(project, uncovered=False))
        else:
            for red in open_reds(project, self._position.tests):
                _require_allowed(claim(project, [red.test_id], ["."], cwd=project.root))
        if laid is not None:
            _require_allowed(aside.restore(project, laid))

    def _judge(self, subject: str, word: str, *, changed: bool) -> Verified | Bad | None:
        if word in _WORDS:
            fits = "does not fit here: undo your changes first, or use a word of this role"
            return Bad("", (f"{word} {fits}",))
        if not changed:
            return Bad("", ("nothing has changed in the tree yet",))
        self._propose(subject)
        project, settings, start = self._project, self._machine.settings, open_step(self._project).tree
        match self._role.judge:
            case "red":
                return judge_written_tests(project, settings, start, [])
            case "settlement":
                return judge_implemented(project, settings, self._machine.kata(), [])
            case _:
                tree = project.workspace.snapshot()
                paths = [change.path for change in project.workspace.changes(start, tree)]
                after = project.workspace.read_many(tree, paths)
                return too_large(project, settings, start, after) or judge_restructured(
                    project, settings, start, []
                )

    def _propose(self, subject: str) -> None:
        state = self._project.state()
        reds = dict(summarise_red(red) for red in state.valid_reds if red.test_id in state.claims)
        usual = {
            TESTER: self._new_test() or "the next behaviour",
            CODER: f"make {', '.join(reds) or 'the tests'} pass",
            REFACTORER: "a better structure",
        }
        proposal = Proposal(self._role.commit_types[0], subject or usual[self._role], reds=reds)
        self._machine.propose(self._project, self._position.step, 0, proposal)

    def _new_test(self) -> str:
        """The words of the new test's name."""
        project, start = self._project, open_step(self._project).tree
        before, after = (test_texts_at(project, tree) for tree in (start, project.workspace.snapshot()))
        new = [
            line
            for path in after
            for line in set(after[path].splitlines()) - set(before.get(path, "").splitlines())
        ]
        names = [found for line in new for found in _NAME.findall(line)]
        return " ".join(re.split(r"[_\s]+", "".join(names[0]))).strip() if names else ""

    def _commit(self, found: Verified | None) -> StepCommit | Bad:
        match commit_step(self._machine, self._project, found):
            case StepCommit() as done:
                return done
            case refused:
                return Bad("", (f"{refused.why}: {refused.output.strip()}",), refused.output)

    @property
    def _words(self) -> tuple[str, ...]:
        own = (word for word, (_, roles) in _WORDS.items() if self._role in roles)
        return tuple(word for word in own if word != "!right" or self._position.finding)

    def _stop_of(self, word: str, why: str) -> RoleStop | None:
        """What the role says with a word instead of an edit."""
        if word not in self._words:
            return None
        return RoleStop(_WORDS[word][0], why.strip() or f"the {self._role} says so")


def _require_allowed(answer: object) -> None:
    if isinstance(answer, Deny):
        raise UserError(answer.reason, hint=answer.next)
