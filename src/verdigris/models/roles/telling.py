"""The project as a role is told it: every file once, as it is now, and a line for each commit.

A provider's cache holds the beginning of a prompt, so what changed last is told last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.models.counting import estimate
from verdigris.models.roles.selection import by_weight

if TYPE_CHECKING:
    from verdigris.models.roles.material import Material, Tree

_LEAST = 120
"""Tokens of a file that are worth telling."""
MOST_COMMITS = 30
"""The newest; what is older is in the files."""


@value
class Told:
    text: str
    complete: frozenset[str]
    """Files that are told whole."""


def tell(material: Material, room: int) -> Told:
    """`room`: tokens that it may take."""
    tree = material.tree
    recent = material.history[-MOST_COMMITS:]
    newest = max(material.ages.values(), default=0)
    named = sorted(path for path, age in material.ages.items() if age == newest > 0)
    listing = _listing(tree, room // 10)
    history = f"# Recent commits\n\n{clipped(chr(10).join(recent), room // 10)}" if recent else ""
    texts = _Texts(room - estimate(listing) - estimate(history))
    for path in by_weight(tree, material.classify, named):
        if texts.room < _LEAST:
            break
        if path != material.kata_path:
            texts.add(path, tree[path] or "")
    paths = sorted(texts.told, key=lambda path: (material.ages.get(path, 0), path))
    parts = ("# The project's files as they are now", *(texts.told[path] for path in paths), listing, history)
    return Told("\n\n".join(filter(None, parts)), frozenset(texts.complete))


def _listing(tree: Tree, room: int) -> str:
    if not tree:
        return "There is no file yet."
    return f"All files ({len(tree)}):\n{clipped(chr(10).join(sorted(tree)), room)}"


@dataclass(slots=True)
class _Texts:
    """Files as they are told, as long as there is room."""

    room: int
    told: dict[str, str] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)

    def add(self, path: str, text: str) -> None:
        shown = shown_file(path, text, self.room)
        self.room -= estimate(shown)
        self.told[path] = shown
        if shown == shown_file(path, text):
            self.complete.add(path)


def shown_file(path: str, text: str, room: int | None = None) -> str:
    """With its name; cut, and marked as cut, where it takes more than `room` tokens."""
    kept = text if room is None else clipped(text, room)
    note = (
        "" if kept == text else f" (only the first {kept.count(chr(10))} of {len(text.splitlines())} lines)"
    )
    return f"## {path}{note}\n{fenced(kept)}"


def clipped(text: str, room: int) -> str:
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


def fenced(text: str, language: str = "") -> str:
    """Between fences that do not occur in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"
