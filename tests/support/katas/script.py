"""A whole run of the machine as its models would answer it: honest turns, role by role."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.openai_steps import Request
from verdigris.drivers.machine.history import CODER, REFACTORER, TESTER
from verdigris.models.roles import Role, read_prompts

_ASKED = read_prompts("answer")["first question"]
_TASK = re.compile(r"You are the (\w+), in step (\d+)\.")


@dataclass(frozen=True, slots=True)
class Turn:
    role: Role
    why: str
    subject: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    intents: Mapping[str, str] = field(default_factory=dict)
    points: tuple[int, ...] = ()
    stop: str = ""
    """The verdict, if it is not `edit`."""

    @property
    def answer(self) -> str:
        if self.stop:
            return _answer(self.stop, reason=self.why)
        edits = [
            {
                "path": path,
                "action": "upsert",
                "intent": self.intents.get(path, self.subject),
                "content": text,
                "to": None,
            }
            for path, text in self.files.items()
        ]
        kind = self.role.commit_types[0]
        points = list(self.points)
        return _answer(
            "edit", rationale=self.why, type=kind, subject=self.subject, points=points, edits=edits
        )


@dataclass
class Script:
    """The turns in order, from step 1; each method adds one role's turn."""

    turns: list[Turn] = field(default_factory=list)
    tests: str = ""
    """The present text of the kata's test file."""
    test_file: str = ""

    def test(
        self,
        subject: str,
        why: str,
        case: str,
        stubs: Mapping[str, str] | None = None,
        *,
        points: tuple[int, ...] = (),
    ) -> None:
        """One more case in the test file."""
        self.tests += case
        files = {self.test_file: self.tests, **(stubs or {})}
        intents = dict.fromkeys(stubs or {}, "a stub, so that the test can be run")
        self.turns.append(Turn(TESTER, why, subject, files, intents, points))

    def implement(self, subject: str, why: str, files: Mapping[str, str]) -> None:
        self.turns.append(Turn(CODER, why, subject, files))

    def refactor(self, subject: str, why: str, files: Mapping[str, str]) -> None:
        self.turns.append(Turn(REFACTORER, why, subject, files))

    def nothing(self, why: str) -> None:
        self.turns.append(Turn(REFACTORER, why, stop="nothing-to-do"))

    def done(self, why: str) -> None:
        self.turns.append(Turn(TESTER, why, stop="kata-done"))

    @property
    def commits(self) -> list[str]:
        """The subjects of the commits that the script makes."""
        return [f"{turn.role.commit_types[0]}: {turn.subject}" for turn in self.turns if not turn.stop]


def served(script: Script) -> Callable[[Request], str]:
    """The answers of a server that plays the script; an unexpected request fails."""

    def answered(request: Request) -> str:
        role, step = _TASK.findall(request.text)[-1]
        turn = script.turns[int(step) - 1]
        assert turn.role.name == role, f"step {step} is the {turn.role.name}'s"
        assert _ASKED in request.last, f"step {step} was refused: {request.last}"
        return turn.answer

    return answered


def _answer(verdict: str, **said: Any) -> str:
    blank = {"reason": "", "rationale": "", "read": [], "type": "", "subject": "", "points": [], "edits": []}
    return json.dumps({"verdict": verdict, **blank, **said}, ensure_ascii=False)
