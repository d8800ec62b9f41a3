"""The points of a kata: what it asks for, item by item, and which of them no test was written for."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<text>\S.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TOLD = 70
_MOST = 12


def points_of(kata: str) -> tuple[str, ...]:
    """The items of its lists, those of the outermost level; a kata in prose has none."""
    found: list[tuple[int, str]] = []
    fenced = False
    for line in kata.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (item := _ITEM.fullmatch(line)):
            found.append((len(item["indent"].expandtabs()), item["text"].strip()))
    outermost = min((indent for indent, _ in found), default=0)
    return tuple(text for indent, text in found if indent == outermost)


def unshown_points(kata: str, shown: Collection[int]) -> tuple[str, ...]:
    """As `3 (one number is its value)`."""
    points = enumerate(points_of(kata), 1)
    return tuple(
        f"{number} ({shorten(text, _TOLD, placeholder=' …')})"
        for number, text in points
        if number not in shown
    )


def listed(points: Sequence[str]) -> str:
    """Some of them, as one text."""
    more = f", and {len(points) - _MOST} more" if len(points) > _MOST else ""
    return ", ".join(points[:_MOST]) + more
