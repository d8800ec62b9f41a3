"""One step's talk with one role: the plan, the edits, and what is said to each attempt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.agents.roles.check import EditPlan, Stop, check
from verdigris.agents.roles.feedback import refused_answer
from verdigris.agents.roles.paths import plain
from verdigris.agents.roles.plan import Answer, Refused, Say, read_answer, read_plan
from verdigris.agents.roles.prompting import Task, again, edit_ask, plan_ask
from verdigris.agents.roles.toolloop import Exchange, converse
from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.agents.protocol import Ask, Model
    from verdigris.agents.roles.material import Material

_SHOWN = 60_000
"""Characters of the files that a plan wants to see."""


@value
class Talk:
    material: Material
    task: Task
    ask: Ask
    """What is to be asked next."""
    known: frozenset[str]
    """Files that the model has seen whole as they are."""
    exchanges: tuple[Exchange, ...] = ()
    """Every call so far, in order: for usage, sizes and prefix shares."""
    plan: str = ""
    """For people: `.tdd/plan/step-N-role.md`."""
    answered: str = ""
    """The last answer as the model wrote it."""
    ready: EditPlan | None = None
    """The edits, where the plan came with them: the next `edit` asks nothing."""


def begin(material: Material, task: Task, *, tools: bool = True) -> Talk:
    ask, told = plan_ask(material, task, tools=tools)
    return Talk(material, task, ask, told.complete)


def plan(model: Model, talk: Talk) -> tuple[Talk, Stop | None]:
    """The first question; where the role stops already, why. Else `edit` comes next."""
    talk = _asked(model, talk)
    answer = read_plan(talk.answered)
    talk = replace(talk, plan=answer.rationale)
    match check(answer, talk.task.role, talk.material, talk.known):
        case Stop() as stop:
            return talk, stop
        case EditPlan() as made:
            return replace(talk, ready=made), None
    files = _wanted(answer, talk)
    following = edit_ask(talk.ask, talk.answered, files)
    return replace(talk, ask=following, known=talk.known | files.keys()), None


def edit(model: Model, talk: Talk) -> tuple[Talk, EditPlan | Stop | Refused]:
    """One attempt. What is Refused is said to the model already: `edit` again asks for the next answer."""
    if talk.ready is not None:
        return replace(talk, ready=None), talk.ready
    talk = _asked(model, talk)
    finish = talk.exchanges[-1].reply.finish
    answer = read_answer(talk.answered, finish=finish)
    judged = answer if isinstance(answer, Refused) else _judged(answer, talk)
    if isinstance(judged, Refused):
        said = refused_answer(judged, talk.material)
        talk = replace(say(talk, said), known=talk.known | frozenset(judged.unseen))
    return talk, judged


def _judged(answer: Answer, talk: Talk) -> EditPlan | Stop | Refused:
    if answer.verdict is Say.EDIT and not answer.edits and (files := _wanted(answer, talk)):
        return Refused(("There are no edits yet, but files that you asked to see.",), tuple(files))
    return check(answer, talk.task.role, talk.material, talk.known)


def say(talk: Talk, said: str) -> Talk:
    """What the machine found out about the last edits (feedback); the next `edit` is another attempt."""
    return replace(talk, ask=again(talk.ask, talk.answered, said))


def _asked(model: Model, talk: Talk) -> Talk:
    conversed = converse(model, talk.ask, talk.material)
    return replace(
        talk,
        ask=conversed.ask,
        known=talk.known | frozenset(conversed.read),
        exchanges=(*talk.exchanges, *conversed.exchanges),
        answered=conversed.reply.text,
    )


def _wanted(answer: Answer, talk: Talk) -> dict[str, str]:
    """Those that exist, may be seen and are not known, as far as there is room."""
    found: dict[str, str] = {}
    tree = talk.material.tree
    room = _SHOWN
    for path in map(plain, answer.read):
        text = tree.get(path)
        if text and path not in talk.known and len(text) <= room:
            found[path] = text
            room -= len(text)
    return found
