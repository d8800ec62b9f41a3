"""One step's conversation with one role, tool calls included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.models.protocol import Ask, Message, Model, ModelReply
from verdigris.models.roles.answer import (
    RefusedAnswer,
    RoleAnswer,
    Say,
    find_test_bug,
    read_answer,
    strip_wrapping,
)
from verdigris.models.roles.check import EditPlan, RoleStop, check, plain
from verdigris.models.roles.feedback import earlier_attempts, refused_answer
from verdigris.models.roles.prompt import Task, again, edit_ask, first_ask
from verdigris.models.roles.tools import answer, why_not_read

if TYPE_CHECKING:
    from verdigris.models.roles.context import Material


_SHOWN = 60_000
"""Characters of the files that a plan wants to see."""
LOOKS = 2
"""Answers of one step that may be a plan, or ask for files, and cost no attempt."""
_ONLY_CALLS = (
    "You called a tool once more instead of answering, and no tool is left: answer with the JSON object"
    " alone; `read` asks for files."
)


@value
class Talk:
    material: Material
    task: Task
    base: Ask
    """The step's question, with all that was read and planned since; every attempt begins with it."""
    ask: Ask
    """What is to be asked next."""
    known: frozenset[str]
    """Files that the model has seen whole as they are."""
    exchanges: tuple[ToolExchange, ...] = ()
    """Every call so far, in order: for usage, sizes and prefix shares."""
    plan: str = ""
    """For people: `.tdd/plan/step-N-role.md`."""
    answered: str = ""
    """The last answer as the model wrote it."""
    looks: int = 0
    tried: tuple[str, ...] = ()
    """Why each attempt so far came to nothing."""


def begin(material: Material, task: Task, *, tools: bool = True) -> Talk:
    ask, told = first_ask(material, task, tools=tools)
    return Talk(material, task, ask, ask, told.complete)


def edit(model: Model, talk: Talk) -> tuple[Talk, EditPlan | RoleStop | RefusedAnswer]:
    """One attempt. What is Refused is said to the model already: `edit` again asks for the next answer."""
    while True:
        talk = converse(model, talk)
        answer = _read(talk)
        if isinstance(answer, RefusedAnswer) or talk.looks >= LOOKS:
            break
        if answer.verdict is not Say.EDIT or answer.edits:
            break  # it is more than a plan
        talk = _show_files(talk, answer)
    if isinstance(answer, RefusedAnswer):
        judged: EditPlan | RoleStop | RefusedAnswer = answer
    else:
        talk = talk if talk.plan else replace(talk, plan=answer.rationale)
        judged = check(answer, talk.task.role, talk.material, talk.known, returned=talk.task.returned)
    if isinstance(judged, RefusedAnswer):
        said = refused_answer(judged, talk.material)
        known = talk.known | frozenset(judged.unseen)
        talk = replace(say(talk, said, "; ".join(judged.reasons)), known=known)
    return talk, judged


def say(talk: Talk, said: str, why: str = "") -> Talk:
    """What the machine found out about the last edits (feedback); the next `edit` is another attempt.

    The attempts before the last one are told by their reasons alone, so that a long step stays short.
    """
    ask = again(talk.base, talk.answered, said + earlier_attempts(talk.tried))
    return replace(talk, ask=ask, tried=(*talk.tried, why or said))


def _read(talk: Talk) -> RoleAnswer | RefusedAnswer:
    """The first answer may be a plan in prose: only its words are used."""
    reply = talk.exchanges[-1].reply
    if reply.calls and not reply.text.strip():
        return RefusedAnswer((_ONLY_CALLS,))
    answer = read_answer(talk.answered, finish=reply.finish)
    if Say.TEST_IS_WRONG in talk.task.role.stops and (bug := find_test_bug(talk.answered, answer)):
        return RoleAnswer(Say.TEST_IS_WRONG, "", bug)  # to stop has to be the easiest move of all
    prose = strip_wrapping(talk.answered)
    if isinstance(answer, RefusedAnswer) and not (talk.looks or talk.tried) and prose and "{" not in prose:
        return RoleAnswer(Say.EDIT, prose)
    return answer


def _show_files(talk: Talk, answer: RoleAnswer) -> Talk:
    files, missing = _wanted_files(answer, talk)
    ask = edit_ask(talk.ask, talk.answered, files, missing)
    return replace(
        talk,
        base=ask if talk.ask == talk.base else talk.base,
        ask=ask,
        known=talk.known | files.keys(),
        plan=talk.plan or answer.rationale,
        looks=talk.looks + 1,
    )


def _wanted_files(answer: RoleAnswer, talk: Talk) -> tuple[dict[str, str], list[str]]:
    """The wanted files that exist, may be seen and fit; and why the others are left out."""
    found: dict[str, str] = {}
    missing: list[str] = []
    tree = talk.material.tree
    room = _SHOWN
    for path in map(plain, answer.read):
        text = tree.get(path)
        if path in talk.known:
            missing.append(f"{path} is shown whole above.")
        elif not text:
            missing.append(why_not_read(path, talk.material))
        elif len(text) > room:
            missing.append(f"{path} is too long to be shown as well.")
        else:
            found[path] = text
            room -= len(text)
    return found, missing


ROUNDS = 6
"""Of one step."""
CHARACTERS = 120_000
"""Of all that the tools give in one conversation."""
_CALLS = 16
"""Answered in one round."""
_ENOUGH = "You have read enough: no tool gives anything any more. Answer now."


@value
class ToolExchange:
    ask: Ask
    reply: ModelReply


def converse(model: Model, talk: Talk, *, rounds: int = ROUNDS, characters: int = CHARACTERS) -> Talk:
    """Asks, and carries out the calls of tools, until there is an answer; its own calls are not.

    After so many rounds of the step the tools are taken away, and stay so: the last question offers none.
    """
    rounds = max(0, rounds - sum(1 for each in talk.exchanges if each.reply.calls))
    ask, left = talk.ask, characters
    exchanges: list[ToolExchange] = []
    known = set(talk.known)
    while True:
        reply = model.ask(ask)
        exchanges.append(ToolExchange(ask, reply))
        if not reply.calls or not ask.tools:
            break
        over = len(exchanges) > rounds
        answers: list[Message] = []
        for number, call in enumerate(reply.calls):
            given = None if over or left <= 0 or number >= _CALLS else answer(call, talk.material, left)
            answers.append(Message("tool", _ENOUGH if given is None else given.text, call_id=call.id))
            if given is not None:
                left -= len(given.text)
                known |= {given.path} if given.path else set()
        ask = replace(
            ask,
            messages=(*ask.messages, Message("assistant", reply.text, reply.calls), *answers),
            tools=() if over else ask.tools,
        )
    return replace(
        talk,
        base=ask if talk.ask == talk.base else replace(talk.base, tools=ask.tools),
        ask=ask,
        known=frozenset(known),
        exchanges=(*talk.exchanges, *exchanges),
        answered=reply.text,
    )
