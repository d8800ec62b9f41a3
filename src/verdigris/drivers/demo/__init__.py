"""The scenes of the demo as values: the agent's wishes, edits and commands, and the kernel's answers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.core.verdict import Kind

_TAB = 4


@value
class Act:
    title: str
    about: str = ""


@value
class Wish:
    """The agent's intention, in a sentence."""

    text: str


@value
class EditScene:
    path: str
    lines: tuple[str, ...]
    """Added and removed lines, with `+` or `-` before them."""


@value
class CommandScene:
    text: str


@value
class AllowedScene:
    text: str


@value
class DeniedScene:
    rule: str
    reason: str
    next: str


@value
class RedScene:
    """A test that fails. `wrong`: why that proves nothing; empty if it fails for the right reason."""

    failure: str
    wrong: str = ""
    next: str = ""


@value
class Passing:
    text: str


@value
class PlainRun:
    """The test tool's own output, without Verdigris."""

    tool: str
    output: tuple[str, ...]
    green: bool


@value
class JudgedScene:
    kind: Kind
    what: str
    reasons: tuple[str, ...] = ()
    assertion: str = ""
    """The line of the test that the first reason names."""


@value
class Moral:
    """The lesson of a scene."""

    text: str


Scene: TypeAlias = (
    Act
    | Wish
    | EditScene
    | CommandScene
    | AllowedScene
    | DeniedScene
    | RedScene
    | Passing
    | PlainRun
    | JudgedScene
    | Moral
)


class DemoStage(Protocol):
    """Where the play is shown."""

    def show(self, scene: Scene, /) -> None: ...


def edit(path: str, before: str, after: str) -> EditScene:
    """The lines that differ, without blank ones."""
    old, new = (text.expandtabs(_TAB).splitlines() for text in (before, after))
    shown: list[str] = []
    for a, b, c, d in _differences(old, new):
        shown += [f"- {line}" for line in old[a:b] if line.strip()]
        shown += [f"+ {line}" for line in new[c:d] if line.strip()]
    return EditScene(path, tuple(shown))


def _differences(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Shifts an inserted block down past an equal line (`}`), so that it ends with its own."""
    for tag, a, b, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        c, d = start, end
        while tag == "insert" and d < len(new) and new[c] == new[d] and new[c].strip():
            c, d = c + 1, d + 1
        if tag != "equal":
            yield a, b, c, d
