"""At a session's start and at each prompt: states the laws and the phase, and carries out a person's verb."""

from __future__ import annotations

import os
import re
import shlex
import time
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.agents import process_in
from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.records import Actor
from verdigris.core.value import replace
from verdigris.gates.calls import HookCall, Reply
from verdigris.storage.calls.callers import forget_old_callers, note_session
from verdigris.storage.calls.open_calls import open_call
from verdigris.turns.claim_check import own_view
from verdigris.turns.completion import begin_session
from verdigris.turns.next_move import following_move
from verdigris.turns.tripwire import recall
from verdigris.turns.tripwire.authors import what_to_wait_for
from verdigris.turns.tripwire.calls import look_between_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


USAGE = {
    "off": "tdd off WHY",
    "on": "tdd on",
    "revise": "tdd revise TEST_ID|PATH… --why WHY",
    "holdout": "tdd holdout add|release PATH…",
    "refactor": "tdd refactor begin [--uncovered]",
}


_COMMAND = re.compile(rf"tdd ({'|'.join(USAGE)})(?= |\Z)(.*)")
_IDIOM = re.compile(r" (?:the|of|topic|limits|and|or)\b|.*[,;:?](?: |\Z)", re.IGNORECASE)
"""A reason that begins or goes on like this may be a sentence: "tdd off the record, what is this?"."""


def first_line(prompt: str) -> str:
    return prompt.strip().split("\n", 1)[0].strip().replace("\t", " ")


def command_in(prompt: str) -> list[str] | None:
    """The words behind `tdd` in the first line; None if the line is not exactly one of these commands."""
    if (line := _COMMAND.fullmatch(first_line(prompt))) is None:
        return None
    verb, rest = line.groups()
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    return [verb, *words] if _is_command(verb, rest, words) else None


def _is_command(verb: str, rest: str, words: Sequence[str]) -> bool:
    """Whether the words behind a verb are those that it takes; a verb alone is an incomplete command."""
    _, why = _with_why(words)
    match verb, words:
        case "off", _:
            return bool(why) or not _IDIOM.match(rest)
        case "on", _:
            return not words
        case _, []:
            return True
        case "revise", _:
            return bool(why)
        case "holdout", [first, *_]:
            return first in {"add", "release"}
        case _:
            return list(words) in (["begin"], ["begin", "--uncovered"])


def is_a_persons(text: str) -> bool:
    return command_in(text) is not None


def _about_prose(prompt: str) -> str:
    """Says that a line which begins as a command was not carried out."""
    line = _COMMAND.match(first_line(prompt))
    if line is None:
        return ""
    form = "tdd off --why WHY" if line[1] == "off" else USAGE[line[1]]
    return f"[tdd] the first line was read as prose, and nothing was done. As a command it is `{form}`."


def carry_out(project: Project, words: Sequence[str]) -> str:
    """What was done, or why not, in a line or two."""
    verb, *rest = words
    done = _VERBS[verb](project, rest)
    if isinstance(done, Deny):
        return "\n".join(done.lines())
    state = project.state()
    return f"{done}; phase {state.phase}; next: {following_move(project, state)}"


def _usage(verb: str) -> UserError:
    return UserError(f"that line is incomplete: write `{USAGE[verb]}` as the first line of a prompt.")


def _off(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.person import switch_off

    _, why = _with_why(rest)
    why = why or " ".join(rest)
    if not why:
        raise _usage("off")
    return switch_off(project, why) or f"the laws are off ({why})"


def _on(project: Project, _: Sequence[str]) -> str | Deny:
    from verdigris.turns.person import switch_on

    return switch_on(project) or "the laws are on; the tree as it stands is the new baseline"


def _revise(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.person import revise

    names, why = _with_why(rest)
    if not names or not why:
        raise _usage("revise")
    return f"revised: {', '.join(revise(project, tuple(names), why))}"


def _holdout(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.person import hold_out, release

    if len(rest) < len(("add", "PATH")) or rest[0] not in {"add", "release"}:
        raise _usage("holdout")
    move = hold_out if rest[0] == "add" else release
    paths = move(project, rest[1:], cwd=project.root)
    return paths if isinstance(paths, Deny) else f"{rest[0]}: {', '.join(paths)}"


def _refactor(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.refactor import begin

    if list(rest) not in (["begin"], ["begin", "--uncovered"]):
        raise _usage("refactor")
    begun = begin(project, uncovered="--uncovered" in rest)
    return begun if isinstance(begun, Deny) else "the refactor is open"


def _with_why(rest: Sequence[str]) -> tuple[list[str], str]:
    """The words before `--why`, and the reason behind it."""
    for index, word in enumerate(rest):
        if word == "--why" or word.startswith("--why="):
            first = [word.removeprefix("--why=")] if "=" in word else []
            return list(rest[:index]), " ".join([*first, *rest[index + 1 :]])
    return list(rest), ""


_VERBS: dict[str, Callable[[Project, Sequence[str]], str | Deny]] = {
    "off": _off,
    "on": _on,
    "revise": _revise,
    "holdout": _holdout,
    "refactor": _refactor,
}


LAWS = """\
[tdd] Verdigris holds this repository to red → green:
1. Write one failing test, then edit source. Before that edit the tests that you changed are run, over stubs
   of what source lacks, and the edit claims those that are red for the right reason. `tdd test ID` shows it.
2. A failure that was there before this change is claimed by name: `tdd claim ID`.
3. From claim to verdict tests and their configuration are frozen. A wrong test is reported, never edited:
   `tdd test-bug FILE:LINE WHY` is always a good move.
4. Stopping ends the turn with a verdict; so does `tdd settle`. A refusal names the next allowed move.
   Comments, docstrings and formatting are free. To restructure with behaviour as it is: `tdd refactor begin`.
5. Git moves that bring other files go through `tdd sync`: `tdd sync -- switch main`, `tdd sync -- pull`.
   `tdd status` shows where you are."""
LAWS_OF_A_CYCLE = """\
[tdd] Verdigris holds this repository to a cycle: plan, failing tests, validation, freeze, code, evidence.
1. A stage is one actor's work, and opens when the kernel has seen that the one before is done:
   `tdd cycle status`.
2. Stage plan: only the plan is written. Red: tests that carry `@scenario: ID` and fail on an assertion, and
   stubs marked STUB:TDD. Validate: held-out tests below .tdd/holdout/, nothing else. Green: source.
3. Tests run by `tdd test`; a run of your own proves nothing. Whoever wrote a test does not validate it.
4. A wrong test is reported, never edited: `tdd cycle test-bug FILE:LINE WHY` is always a good move.
   The spec of the cycle is superseded, never edited.
5. A refusal names the next allowed move."""
MAYBE_NOBODY = (
    "[tdd] not done: a shell call of the agent is open, and no sandbox here keeps it from speaking for you. "
    "next: end it, then say this again"
)
UNCONFINED = (
    "[tdd] This system allows no sandbox: what a shell command changes in protected files is put back after "
    "the call."
)


def start(project: Project, call: HookCall) -> Reply:
    """What changed before the session is a person's doing: the first call is compared with that."""
    memory = recall(project)
    news = memory.messages.get(project.context, ()) if memory else ()
    look_between_calls(project)
    forget_old_callers(str(project.repo.private), time.time())
    begin_session(project, call.session)
    state = project.state()
    left = [*(f"[tdd] {text}" for text in news), *_describe_open_turn(state)]
    suite = [f"[tdd] {state.suite}"] if state.suite else []
    confined = [] if call.confinable else [UNCONFINED]
    lines = [_laws(state), *confined, *suite, *left, describe_standing(project)]
    hindered = suite if state.hindrance is not None and state.hindrance.blocks else []
    return Reply(text="\n".join(lines), note="\n".join((*hindered, *left)))


def subagent_start(project: Project, call: HookCall) -> Reply:
    """States the laws to a subagent, which does not see what its session was told."""
    return Reply(text=f"{_laws(project.state())}\n{describe_standing(project, session=call.session)}")


def _laws(state: WorktreeState) -> str:
    return LAWS if state.open_cycle is None else LAWS_OF_A_CYCLE


def describe_standing(project: Project, session: str = "") -> str:
    """Phase, reds, claims and next move in a line. `session`: the one that a subagent belongs to.

    The same bytes for the same state and tree, so that provider caches hit.
    """
    state = own_view(project, project.state(), session)
    reds = f"; red: {', '.join(red.test_id for red in state.valid_reds)}" if state.valid_reds else ""
    claims = f"; claimed: {', '.join(state.claims)}" if state.claims else ""
    claims += f"; {state.refactor.refused}" if state.refactor and state.refactor.refused else ""
    move = following_move(project, state, session=session, wait=what_to_wait_for(project))
    return f"[tdd] phase {state.phase}{reds}{claims}; next: {move}"


def _describe_open_turn(state: WorktreeState) -> list[str]:
    if state.refactor is not None:
        refused = f": {state.refactor.refused}" if state.refactor.refused else ""
        return [f"[tdd] a refactor is still open{refused}. Its edits are in the tree."]
    if state.turn is None:
        return []
    return [f"[tdd] a turn is still open: it claims {', '.join(state.claims)}. Its edits are in the tree."]


def prompt(project: Project, call: HookCall) -> Reply:
    """Carries out a command in the first line; if more lines follow, the prompt goes on to the model."""
    note_session(str(project.repo.private), call.session, process_in(os.environ))
    begin_session(project, call.session)
    words = command_in(call.prompt)
    if words is None:
        return Reply(text=describe_standing(project), note=_about_prose(call.prompt))
    if call.nested:
        return Reply(
            "answered", "[tdd] not done: only a person may say that, and this client was started by an agent."
        )
    if not call.confinable and open_call(str(project.repo.private)) is not None:
        return Reply("answered", MAYBE_NOBODY)
    person = replace(project, actor=Actor("person", "prompt", call.actor.client))
    try:
        text = f"[tdd] {carry_out(person, words)}"
    except VerdigrisError as error:
        text = f"[tdd] not done: {error.message} {error.hint or ''}".rstrip()
    more = call.prompt.strip().partition("\n")[2].strip()
    return Reply(text=text) if more else Reply("answered", text)
