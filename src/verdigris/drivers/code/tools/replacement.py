"""Replaces a text that stands in a file exactly once; a refusal tells how often, and what is near."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

_AROUND = 3
"""Lines shown on each side of the nearest one."""
_SHOWN = 6
"""Places that are named where a text stands several times."""
_MOST_LINES = 20_000
"""Lines among which the nearest is looked for."""
_ALIKE = 0.5


@value
class Mismatch:
    matches: int
    words: str
    """To the model: why nothing was replaced, with lines as they stand in the file."""


def replace_once(path: str, text: str, search: str, replacement: str) -> str | Mismatch:
    """No fuzziness, since the gate has to know the bytes; only line ends are taken as the file has them."""
    if not search:
        return Mismatch(0, "search is empty: quote the lines to be replaced; create_file makes a new file.")
    if "\r\n" in text and "\r\n" not in search:
        search, replacement = search.replace("\n", "\r\n"), replacement.replace("\n", "\r\n")
    count = text.count(search)
    if count == 1:
        if search == replacement:
            return Mismatch(1, "search and replace are the same: nothing would change.")
        return text.replace(search, replacement, 1)
    if count:
        return Mismatch(count, _describe_several(path, text, search, count))
    return Mismatch(0, _describe_nothing(path, text, search))


def _describe_several(path: str, text: str, search: str, count: int) -> str:
    starts: list[int] = []
    at = text.find(search)
    while at >= 0 and len(starts) < _SHOWN:
        starts.append(text.count("\n", 0, at) + 1)
        at = text.find(search, at + 1)
    lines = ", ".join(map(str, starts)) + (", …" if count > _SHOWN else "")
    return (
        f"{count} matches in {path}, at lines {lines}; exactly one is needed. "
        "Quote more lines around the one that you mean."
    )


def _describe_nothing(path: str, text: str, search: str) -> str:
    if not text.strip():
        return f"0 matches: {path} is empty."
    lines = text.splitlines()
    at = _nearest_line(lines, search)
    if at is None:
        return f"0 matches in {path}, and no line is like it ({len(lines)} lines). Read the file again."
    first, last = max(0, at - _AROUND), min(len(lines), at + _AROUND + len(search.splitlines()))
    shown = number_lines(lines[first:last], first + 1)
    return f"0 matches in {path}. The nearest lines, with their numbers:\n{shown}\nQuote them exactly."


def _nearest_line(lines: Sequence[str], search: str) -> int | None:
    """The line most like the first telling one of what was searched; among equals, where more fits."""
    wanted = [line.strip() for line in search.splitlines() if line.strip()]
    if not wanted:
        return None
    known = [line.strip() for line in lines[:_MOST_LINES]]
    close = difflib.get_close_matches(wanted[0], {line for line in known if line}, 1, _ALIKE)
    if not close:
        return None
    places = [at for at, line in enumerate(known) if line == close[0]]
    rest = set(wanted[1:])
    return max(places, key=lambda at: len(rest.intersection(known[at + 1 : at + 1 + len(wanted)])))


def number_lines(lines: Sequence[str], first: int) -> str:
    """As `read_file` shows them."""
    width = len(str(first + len(lines)))
    return "\n".join(f"{number:>{width}}\t{line}" for number, line in enumerate(lines, first))
