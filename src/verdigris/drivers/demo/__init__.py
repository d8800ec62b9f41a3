"""The scenes of the demo: what the agent wishes, writes and runs, and what the kernel answers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Literal, Protocol

from verdigris.core.value import value

_TAB = 4

SceneKind = Literal[
    "act",
    "wish",
    "edit",
    "command",
    "quiet",
    "plain",
    "moral",
    "denied",
    "red",
    "wrong-red",
    "rejected",
    "accepted",
]
"""`quiet`: the kernel has nothing against it; `plain`: the test tool's own answer, without Verdigris."""


@value
class Scene:
    kind: SceneKind
    text: str = ""
    code: tuple[str, ...] = ()
    """Lines of a file: of an edit with `+` or `-` before them."""
    more: tuple[str, ...] = ()
    """Sentences below the first one."""
    next: str = ""


class DemoStage(Protocol):
    """Where the play is shown."""

    def show(self, scene: Scene, /) -> None: ...


def edit(before: str, after: str) -> Scene:
    """The lines that differ, without blank ones."""
    old, new = (text.expandtabs(_TAB).splitlines() for text in (before, after))
    shown: list[str] = []
    for a, b, c, d in _differences(old, new):
        shown += [f"- {line}" for line in old[a:b] if line.strip()]
        shown += [f"+ {line}" for line in new[c:d] if line.strip()]
    return Scene("edit", code=tuple(shown))


def _differences(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Shifts an inserted block down past an equal line (`}`), so that it ends with its own."""
    for tag, a, b, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        c, d = start, end
        while tag == "insert" and d < len(new) and new[c] == new[d] and new[c].strip():
            c, d = c + 1, d + 1
        if tag != "equal":
            yield a, b, c, d
