"""Carries out a person's verb in the first line of a prompt."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.storage.project import Project

USAGE = {
    "off": "tdd off WHY",
    "on": "tdd on",
    "revise": "tdd revise TEST_ID|PATH… --why WHY",
    "holdout": "tdd holdout add|release PATH…",
    "refactor": "tdd refactor begin [--uncovered]",
}


def words_of(prompt: str) -> list[str] | None:
    """The words behind `tdd` in the first line; None where it is no line of these verbs."""
    first = prompt.strip().split("\n", 1)[0].strip()
    try:
        words = shlex.split(first)
    except ValueError:
        words = first.split()
    if words[:1] != ["tdd"] or words[1:2] == [] or words[1] not in USAGE:
        return None
    # `tdd on` takes no words: with some it is the beginning of a sentence.
    return None if words[1] == "on" and words[2:] else words[1:]


def is_a_persons(text: str) -> bool:
    return words_of(text) is not None


def carry_out(project: Project, words: Sequence[str]) -> str:
    """What was done, or why not, in a line or two."""
    verb, *rest = words
    done = _VERBS[verb](project, rest)
    if isinstance(done, Deny):
        return "\n".join(done.lines())
    from verdigris.turns.claim_check import following

    state = project.state()
    return f"{done}; phase {state.phase}; next: {following(project, state)}"


def _usage(verb: str) -> UserError:
    return UserError(f"write it so, as the first line of a prompt: `{USAGE[verb]}`.")


def _off(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.switches import switch_off

    _, why = _with_why(rest)
    why = why or " ".join(rest)
    if not why:
        raise _usage("off")
    return switch_off(project, why) or f"the laws are off ({why})"


def _on(project: Project, _: Sequence[str]) -> str | Deny:
    from verdigris.turns.switches import switch_on

    return switch_on(project) or "the laws are on; the tree as it stands is the new baseline"


def _revise(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.switches import revise

    names, why = _with_why(rest)
    if not names or not why:
        raise _usage("revise")
    return f"revised: {', '.join(revise(project, tuple(names), why))}"


def _holdout(project: Project, rest: Sequence[str]) -> str | Deny:
    from verdigris.turns.holdout import hold_out, release

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
