"""A step that a person plays: asks for it, waits, and judges the worktree."""

from __future__ import annotations

import re
from typing import Protocol

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import StepRefused
from verdigris.core.state import Phase
from verdigris.core.value import replace, value
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
from verdigris.drivers.play import propose
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


@value
class Waiting:
    """The step stays open, with the person's edits in the tree."""

    why: str


class HumanStep:
    def __init__(self, machine: Machine, position: Position, person: Person, notes: tuple[str, ...]) -> None:
        acting = machine.project_for(position.role)
        self._project = replace(acting, settings=replace(acting.settings, strikes=PATIENT))
        self._machine, self._position, self._role = machine, position, position.role
        self._person, self._notes = person, notes

    def take(self) -> Outcome | Waiting:
        if is_accepted(self._project):
            done = self._commit(None)
            return done if isinstance(done, StepCommit) else Waiting(join_reasons(done.reasons))
        self._prepare()
        why = ""
        while True:
            line = self._person(self._turn(why))
            changed = self._project.workspace.snapshot() != open_step(self._project).tree
            if line is None and not changed:
                return Waiting(why or f"the {self._role} is a person: {_ASKS[self._role]}")
            word, _, rest = (line or "").strip().partition(" ")
            if word == QUIT:
                return Waiting("you stopped here")
            red = (
                refuse_unfinished(self._project, RoleStop(_WORDS[word][0], rest))
                if word in self._words
                else None
            )
            if word in self._words and not changed and red is None:
                return self._stop(word, rest)
            judged = red or self._not_judged(word, line, changed=changed)
            done = self._commit(judged) if not isinstance(judged, Bad) else judged
            if isinstance(done, StepCommit):
                return done
            why = join_reasons(done.reasons)
            step = self._position.step
            self._project.record(StepRefused(step=step, attempt=0, reasons=done.reasons[:5]))
            self._machine.watch(Refused(step, self._role.name, 0, why))
            if line is None:
                return Waiting(why)

    def _not_judged(self, word: str, line: str | None, *, changed: bool) -> Verified | Bad | None:
        return self._judge((line or "").strip()) if changed and word not in _WORDS else _not_yet(word)

    def _turn(self, why: str) -> YourTurn:
        reds = (
            describe_reds(open_reds(self._project, self._position.tests))
            if self._role is CODER and not why
            else ()
        )
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

    def _judge(self, subject: str) -> Verified | Bad | None:
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
        said = Proposal(
            self._role.commit_types[0],
            subject or usual[self._role],
            "",
            {},
            reds,
        )
        propose(self._machine, self._project, self._position.step, 0, said)

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
        found = tuple(word for word, (_, roles) in _WORDS.items() if self._role in roles)
        return found if self._position.finding else tuple(word for word in found if word != "!right")

    def _stop(self, word: str, rest: str) -> RoleStop:
        """Ends the turn or refactor that was opened for the step."""
        say = _WORDS[word][0]
        lay_back(self._project, open_step(self._project).tree, f"{self._role}: {say}")
        return RoleStop(say, rest.strip() or f"the {self._role} says so")


def _not_yet(word: str) -> Bad:
    if word in _WORDS:
        return Bad("", (f"{word} does not fit here: undo your changes first, or use a word of this role",))
    return Bad("", ("nothing has changed in the tree yet",))


def _require_allowed(answer: object) -> None:
    if isinstance(answer, Deny):
        raise UserError(answer.reason, hint=answer.next)
