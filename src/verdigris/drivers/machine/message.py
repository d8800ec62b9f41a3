"""What a commit of the machine says: the same for the same step, so no time, no duration, no chance in it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping  # noqa: TC003 - the codec reads annotations when it runs
from dataclasses import field
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.agents.roles.role import Role
    from verdigris.core.state import Red

WIDTH = 76
SUBJECT = 72
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_GOAL = 160


@value
class Proposal:
    """What a role says of its edits: kept in the log before they are written."""

    type: str
    subject: str
    rationale: str
    intents: Mapping[str, str] = field(default_factory=dict)
    """Path → what the change is for."""
    reds: Mapping[str, str] = field(default_factory=dict)
    """Of the implementor: test id → the failure that it had."""


@value
class Verified:
    """What the kernel found."""

    verdict: str
    lines: tuple[str, ...]
    tests: tuple[str, ...] = ()
    reds: Mapping[str, str] = field(default_factory=dict)
    oracle: str = ""


def message(
    role: Role, step: int, goal: str, proposal: Proposal, paths: Sequence[str], verified: Verified
) -> str:
    intents = proposal.intents
    sections = (
        ("Context", (f"Role: {role.capitalize()}", f"Step: {step}", f"Kata goal: {goal}")),
        ("Rationale", _paragraphs(proposal.rationale)),
        ("Diff summary", (f"{path}: {intents[path]}" if intents.get(path) else path for path in paths)),
        ("Verification", verified.lines),
    )
    body = "\n\n".join(f"{name}:\n{_bullets(lines)}" for name, lines in sections)
    trailers = "\n".join(f"{name}: {flat(text)}" for name, text in _trailers(role, step, verified))
    return f"{_headline(proposal)}\n\n{body}\n\n{trailers}\n"


def _headline(proposal: Proposal) -> str:
    line = f"{proposal.type}: {flat(proposal.subject)}"
    return line if len(line) <= SUBJECT else line[: SUBJECT - 1].rstrip() + "…"


def _trailers(role: Role, step: int, verified: Verified) -> Iterator[tuple[str, str]]:
    yield "TDD-Role", role
    yield "TDD-Step", str(step)
    yield from (("TDD-Test", test) for test in verified.tests)
    yield from (("TDD-Red", f"{failure} ({test})") for test, failure in verified.reds.items())
    yield "TDD-Verdict", verified.verdict
    if verified.oracle:
        yield "TDD-Oracle", verified.oracle


def told_red(red: Red) -> tuple[str, str]:
    """Its id, and kind and place of its failure: a message may hold addresses and times."""
    kind = red.failure.partition(":")[0] or red.status
    place = f" at {red.place}" if red.place and not red.place.startswith("/") else ""
    return red.test_id, f"{kind}{place}"


def goal_of(kata: str) -> str:
    """The kata's first sentence; its title where it has no other text."""
    title = ""
    for block in re.split(r"\n\s*\n", kata):
        lines = [line.strip() for line in block.strip().splitlines()]
        heading = next((line for line in lines if line.startswith("#")), "")
        title = title or heading.lstrip("#").strip()
        prose = " ".join(line for line in lines if line and not re.match(r"#|```|---|===|[|<!]", line))
        if prose:
            return textwrap.shorten(_SENTENCE.split(prose)[0].lstrip("-*> "), _GOAL, placeholder=" …")
    return title or "as described"


def _paragraphs(text: str) -> Iterator[str]:
    """Each paragraph, and each item of a list, is a line of its own."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+[.)])\s)", text.strip()):
        if line := flat(re.sub(r"^\s*(?:[-*]|\d+[.)])\s+", "", block)):
            yield line


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(
        textwrap.fill(
            flat(line),
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    )


def flat(text: str) -> str:
    """On one line, and of characters that can be read: ids may hold any bytes."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)
