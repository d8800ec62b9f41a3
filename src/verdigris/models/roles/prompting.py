"""What is asked of a role: what stays the same first, then the project as it is, its own task last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.models.counting import estimate
from verdigris.models.protocol import Ask, Message
from verdigris.models.roles.guide import guide
from verdigris.models.roles.plan import SCHEMA, SCHEMA_NAME
from verdigris.models.roles.role import Role
from verdigris.models.roles.telling import Told, clipped, shown_file, tell
from verdigris.models.roles.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.models.roles.material import Material

_KATA_PART = 0.4
"""Of the budget."""
_OWN = 8_000
"""Tokens of an answer that are shown again to the model that gave it."""

_TASKS = {
    Role.TESTER: "Write the next failing test.",
    Role.IMPLEMENTOR: "Make the red tests pass with the smallest honest change, and keep the others green.",
    Role.REFACTORER: "Improve the structure and keep the behaviour, or say nothing-to-do.",
}
ASK = (
    "If you are sure, answer with the edits now. Otherwise leave `edits` empty, plan in `rationale`, and list"
    " in `read` the files that you want to see first. If you stop instead of editing, give that verdict."
)
EDIT = "Now the edits of this plan, complete, as one JSON object."


@value
class Task:
    """What is a role's own in one step."""

    role: Role
    step: int
    reds: tuple[str, ...] = ()
    """The tests that shall become green, with their failures (feedback.failing)."""
    notes: tuple[str, ...] = ()
    """What else it has to know: a finding that sends the step back, the limits of a refactor."""
    standing: str = ""
    """How the tests stand, in words."""
    returned: bool = False
    """Of a tester: its last test came back."""


def first_ask(material: Material, task: Task, *, tools: bool = True) -> tuple[Ask, Told]:
    """The first question of a step, and what it told."""
    system = guide(material.language, material.runner, material.tools)
    kata = f"# The kata\n\n{told_kata(material.kata, material.budget)}"
    told = tell(material, max(0, material.budget - estimate(system) - estimate(kata)))
    shared = f"{kata}\n\n{told.text}"
    ask = Ask(
        (Message("system", system), Message("user", f"{shared}\n\n{_task(task)}\n\n{ASK}\n")),
        SCHEMA,
        SCHEMA_NAME,
        TOOLS if tools else (),
    )
    return ask, told


def told_kata(kata: str, budget: int) -> str:
    """As much of it as a role is shown."""
    return clipped(kata.strip(), int(budget * _KATA_PART))


def edit_ask(asked: Ask, plan: str, files: Mapping[str, str], missing: Sequence[str] = ()) -> Ask:
    """The question after a plan; `files`: what it wanted to see, `missing`: why other files are not shown."""
    shown = [shown_file(path, text) for path, text in files.items()]
    return again(asked, plan, "\n\n".join((*shown, *missing, EDIT)) + "\n")


def again(asked: Ask, answer: str, said: str) -> Ask:
    """The same conversation, longer by an answer and by what is said to it."""
    # Some servers refuse an empty message, and junk may be of any length.
    own = clipped(answer, _OWN) or "(no answer)"
    return replace(asked, messages=(*asked.messages, Message("assistant", own), Message("user", said)))


def _task(task: Task) -> str:
    reds = "\n".join(("Red now:", *task.reds)) if task.reds else ""
    head = f"# Your task\n\nYou are the {task.role}, in step {task.step}. {_TASKS[task.role]}"
    return "\n\n".join(filter(None, (head, task.standing, reds, *task.notes)))
