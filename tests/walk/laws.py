"""What holds after each step of a walk, as functions from what was seen to what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from walk.handwriting import marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from walk.place import Answer, Sight

LAYS_ON = frozenset({"claim", "restore", "stub"})
"""Verbs that may write into a clean tree: they lay a person's edits on again, or write what was asked for."""
_COMMAND = re.compile(r"`((?:tdd|git) [^`]*)`")
_IN_BRACKETS = re.compile(r" \([^()]*\)")
_PLACEHOLDER = re.compile(r"\b(ID|LINE|PATH|TEST|TEST_ID|FILE|NAME|GIT)\b")
FIRST_MOVE = re.compile(r"\bwrite (one|a) failing test\b")


class Violation(AssertionError):
    """A law does not hold; walks that violate it in the same way have the same `kind`."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}\n{detail}")
        self.kind = kind


@dataclass(frozen=True)
class Wrong:
    kind: str
    detail: str = ""


def crashes(answer: Answer) -> Iterator[Wrong]:
    """A verb says what is the matter; it does not break."""
    if answer.code in {0, 1, 2, 3, 4} and "Traceback" not in answer.err:
        return
    yield Wrong(f"crash: tdd {_verb(answer)}", answer.said)


def undone_commits(
    before: Sight, after: Sight, answer: Answer, allowed: frozenset[str], agents: frozenset[str]
) -> Iterator[Wrong]:
    """No verb takes a line away that HEAD has and the person left alone.

    `allowed`: lines that the edits take away which a claim or a restore may lay on again. `agents`: lines
    that an agent committed or took away by a commit.
    """
    verb = _verb(answer)
    if verb == "sync" or (verb == "restore" and "." in answer.argv[-1]):
        return  # a person asked for it
    for path, text in before.committed.items():
        there = marks(text) & marks(before.files.get(path, ""))
        gone = (
            there - marks(after.files.get(path, "")) - (allowed if verb in LAYS_ON else frozenset()) - agents
        )
        if gone:
            yield Wrong(f"undone: tdd {verb}", f"{answer.said}\n{path} lost {sorted(gone)}")
    if before.head != after.head or before.branch != after.branch:
        yield Wrong(f"head moved: tdd {verb}", answer.said)
    if before.clean and not after.clean and verb not in LAYS_ON and not after.changed_marks <= agents:
        yield Wrong(f"dirty: tdd {verb}", f"{answer.said}\n{after.status}")


def unclaimed_though_clean(sight: Sight, status: Mapping[str, Any]) -> Iterator[Wrong]:
    if sight.clean and status["unclaimed"]:
        yield Wrong("clean tree is unclaimed", f"{status['unclaimed']}\nnext: {status['next']}")


def different_next(answer: Answer, status: Mapping[str, Any]) -> Iterator[Wrong]:
    """The verb that just answered names the move that `tdd status` names; a denial names what it lacked."""
    if not answer.refused and answer.next is not None and not is_same_move(answer.next, status["next"]):
        detail = f"{answer.said}\ntdd status says: {status['next']}"
        yield Wrong(f"another next: {' '.join(answer.argv[:2])} ({gist(status['next'])})", detail)


def is_same_move(told: str, move: str) -> bool:
    """A footer cuts a long move short."""
    return move.startswith(told[:-1]) if told.endswith("…") else told == move


def is_done(status: Mapping[str, Any]) -> bool:
    """Whether nothing is open."""
    return FIRST_MOVE.search(status["next"]) is not None and not still_open(status)


def still_open(status: Mapping[str, Any]) -> list[str]:
    """What stands open, whatever `next` says."""
    found = [name for name in ("claims", "test_bugs", "unclaimed", "drift") if status[name]]
    found += ["suspended"] if status["suspended"] else []
    found += [status["phase"]] if status["phase"] != "red" else []
    return found + [note for note in status["notes"] if note.endswith("in progress")]


def command_of(move: str) -> str | None:
    """The first command that a move names; what stands in brackets is another way."""
    found = _COMMAND.search(_IN_BRACKETS.sub("", move))
    return found[1] if found else None


def is_sentence(move: str) -> bool:
    """Whether a person has something to do before the command, if there is one."""
    return not re.match(r"(run )?`", move)


def is_alternative(move: str) -> bool:
    """Whether the command stands for those who do not do what the sentence asks for."""
    found = _COMMAND.search(move)
    return found is not None and re.search(r"[,;] or ", move[: found.start()]) is not None


def has_placeholder(command: str) -> bool:
    return _PLACEHOLDER.search(command) is not None


def gist(move: str) -> str:
    """A move without what differs from walk to walk."""
    plain = re.sub(r"tests/test_\w+\.py(::\w+|:\d+)*", "TEST", move)
    plain = re.sub(r"\b[ab]\.py", "SOURCE", plain)
    plain = re.sub(r"(TEST[ ,]*)+(and \d+ more)?", "TEST ", plain)
    return re.sub(r"\b([ab])\d+\b", r"\1N", plain)[:70].strip()


def _verb(answer: Answer) -> str:
    return answer.argv[1] if len(answer.argv) > 1 else answer.argv[0]
