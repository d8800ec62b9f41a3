"""A whole run of the machine as its models would answer it: honest turns, role by role.

`NAME.txt` holds such a run: `=== KIND: SUBJECT` begins a turn, then come its reason, the points that a test
is about, and its files. `--- + PATH` adds to the end of a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.openai_steps import Request
from support.pages import files_in, sections
from verdigris.drivers.machine.history import CODER, REFACTORER, TESTER
from verdigris.models.roles import Role, read_prompts

_ASKED = read_prompts("answer")["first question"]
_TASK = re.compile(r"You are the (\w+), in step (\d+)\.")
_ROLES = {
    "test": TESTER,
    "implement": CODER,
    "refactor": REFACTORER,
    "nothing-to-do": REFACTORER,
    "kata-done": TESTER,
}
"""The role by the kind of a turn; the last two kinds are verdicts without an edit."""


@dataclass(frozen=True, slots=True)
class Turn:
    kind: str
    subject: str
    why: str
    points: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """A tester's first file is the test, the others are stubs."""

    @property
    def role(self) -> Role:
        return _ROLES[self.kind]

    @property
    def stop(self) -> bool:
        """Whether the turn has a verdict instead of an edit."""
        return not self.subject

    @property
    def answer(self) -> str:
        if self.stop:
            return _answer(self.kind, reason=self.why)
        commit_type, points = self.role.commit_types[0], list(self.points)
        edits = [
            {"path": path, "action": "upsert", "intent": self._intent(number), "content": text, "to": None}
            for number, (path, text) in enumerate(self.files.items())
        ]
        return _answer(
            "edit", rationale=self.why, type=commit_type, subject=self.subject, points=points, edits=edits
        )

    def _intent(self, number: int) -> str:
        is_stub = self.kind == "test" and number > 0
        return "a stub, so that the test can be run" if is_stub else self.subject


@dataclass(frozen=True, slots=True)
class Script:
    """The turns in order, from step 1."""

    turns: tuple[Turn, ...]

    @property
    def commits(self) -> list[str]:
        """The subjects of the commits that the script makes."""
        return [f"{turn.role.commit_types[0]}: {turn.subject}" for turn in self.turns if not turn.stop]


def read_script(name: str) -> Script:
    page = Path(__file__).with_name(f"{name}.txt").read_text("utf-8")
    texts: dict[str, str] = {}
    return Script(tuple(_read_turn(heading, body, texts) for heading, body in sections(page, "===")))


def _read_turn(heading: str, body: str, texts: dict[str, str]) -> Turn:
    """`texts`: the files as the turns before left them; this turn's are added."""
    kind, _, subject = heading.partition(": ")
    why, *points = body.partition("\n--- ")[0].strip().split("\npoints: ")
    files = {}
    for path, text in files_in(body).items():
        name = path.removeprefix("+ ")
        files[name] = texts[name] = text if name == path else texts[name] + text
    return Turn(
        kind, subject, why, tuple(int(point) for words in points for point in words.split(", ")), files
    )


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
