"""Builds the prompt of a role: the stable part first, so that provider caches hit.

The system prompt (the game, the language, the form of an answer) is one text for a whole run, for all roles
and all questions. A provider's cache holds the beginning of a prompt, so what changed last is told last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from verdigris.core.value import replace, value
from verdigris.languages.registry import language_named
from verdigris.models.protocol import Ask, Message
from verdigris.models.request import estimate
from verdigris.models.roles import Role, Team, find_team, read_prompts
from verdigris.models.roles.answer import PARTS, SCHEMA_NAME, schema
from verdigris.models.roles.context import Material, by_weight
from verdigris.models.roles.tools import TOOLS


def guide(team: Team, language: str, runner: str = "", tools: tuple[str, ...] = ()) -> str:
    ways = language_named(language).role_words
    run_by = f"\nThe tests are run by {runner}." if runner else ""
    run_by += "".join(f"\n{tool}" for tool in tools)
    roles = (role.guide for role in team.roles)
    return "\n\n".join((team.game, *roles, team.closing, ways + run_by, _answer(team))) + "\n"


def _answer(team: Team) -> str:
    types = ", ".join(f"{' or '.join(role.commit_types)} ({role})" for role in team.roles)
    *says, last = team.says
    more = "".join(f'"{part}": {PARTS[part]}, ' for part in team.parts)
    words = {"types": types, "verdicts": f"{', '.join(says)} or {last}", "more": more, "brief": team.brief}
    return re.sub(
        r"\{(types|verdicts|more|brief)\}", lambda found: words[found[1]], read_prompts("answer")["form"]
    )


_LEAST = 120
"""The fewest tokens of a file that are worth showing."""
MOST_COMMITS = 30
"""The newest; what is older is in the files."""


@value
class PromptPart:
    text: str
    complete: frozenset[str]
    """Files that are shown whole."""


def tell(material: Material, room: int) -> PromptPart:
    """`room`: tokens that it may take."""
    tree = material.tree
    recent = material.history[-MOST_COMMITS:]
    newest = max(material.ages.values(), default=0)
    named = sorted(path for path, age in material.ages.items() if age == newest > 0)
    listing = f"All files ({len(tree)}):\n{clip(chr(10).join(sorted(tree)), room // 10)}"
    listing = listing if tree else "There is no file yet."
    history = f"# Recent commits\n\n{clip(chr(10).join(recent), room // 10)}" if recent else ""
    room -= estimate(listing) + estimate(history)
    shown: dict[str, str] = {}
    for path in by_weight(tree, material.classify, named):
        if room < _LEAST:
            break
        if path != material.kata_path:
            shown[path] = shown_file(path, tree[path] or "", room)
            room -= estimate(shown[path])
    complete = frozenset(path for path, text in shown.items() if text == shown_file(path, tree[path] or ""))
    ordered = sorted(shown, key=lambda path: (material.ages.get(path, 0), path))
    parts = ("# The project's files as they are now", *(shown[path] for path in ordered), listing, history)
    return PromptPart("\n\n".join(filter(None, parts)), complete)


def shown_file(path: str, text: str, room: int | None = None) -> str:
    """Shows a file with its name; cut, and marked as cut, where it takes more than `room` tokens."""
    kept = text if room is None else clip(text, room)
    note = (
        "" if kept == text else f" (only the first {kept.count(chr(10))} of {len(text.splitlines())} lines)"
    )
    return f"## {path}{note}\n{put_fences(kept)}"


def clip(text: str, room: int) -> str:
    """Whole lines from the start; the last line then says that there is more."""
    if estimate(text) <= room:
        return text
    kept, used = [], 0
    for line in text.splitlines(keepends=True):
        used += estimate(line)
        if used > room:
            break
        kept.append(line)
    return f"{''.join(kept)}… (cut here)"


def put_fences(text: str) -> str:
    """Puts a text between fences that do not occur in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


_KATA_PART = 0.4
"""Of the budget."""
_OWN = 8_000
"""Tokens of an answer that are shown again to the model that gave it."""


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
    """A sentence about how the tests stand."""
    returned: bool = False
    """Of a tester: its last test came back."""


def first_ask(material: Material, task: Task, *, tools: bool = True) -> tuple[Ask, PromptPart]:
    """The first question of a step, and the part of it that shows the project."""
    team = find_team(task.role.driver)
    system = guide(team, material.language, material.runner, material.tools)
    kata = f"# The {team.brief}\n\n{told_kata(material.kata, material.budget)}"
    told = tell(material, max(0, material.budget - estimate(system) - estimate(kata)))
    shared = f"{kata}\n\n{told.text}"
    asked = read_prompts("answer")["first question"]
    ask = Ask(
        (Message("system", system), Message("user", f"{shared}\n\n{_task(task)}\n\n{asked}\n")),
        schema(team.commit_types, team.says, team.parts),
        SCHEMA_NAME,
        TOOLS if tools else (),
    )
    return ask, told


def told_kata(kata: str, budget: int) -> str:
    """Returns as much of the kata as a role is shown."""
    return clip(kata.strip(), int(budget * _KATA_PART))


def edit_ask(asked: Ask, plan: str, files: Mapping[str, str], missing: Sequence[str]) -> Ask:
    """The question after a plan; `files`: what it wanted to see, `missing`: why other files are not shown."""
    shown = [shown_file(path, text) for path, text in files.items()]
    return again(asked, plan, "\n\n".join((*shown, *missing, read_prompts("answer")["after a plan"])) + "\n")


def again(asked: Ask, answer: str, said: str) -> Ask:
    """The same conversation, longer by an answer and by what is said to it."""
    # Some servers refuse an empty message, and junk may be of any length.
    own = clip(answer, _OWN) or "(no answer)"
    return replace(asked, messages=(*asked.messages, Message("assistant", own), Message("user", said)))


def _task(task: Task) -> str:
    reds = "\n".join(("Red now:", *task.reds)) if task.reds else ""
    head = f"# Your task\n\nYou are the {task.role}, in step {task.step}. {task.role.task}"
    return "\n\n".join(filter(None, (head, task.standing, reds, *task.notes)))
