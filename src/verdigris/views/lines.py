"""One line of text for a person, with control characters escaped."""

from __future__ import annotations

from typing import Literal

from verdigris.core.value import value

_NARROW = 20
Dot = Literal["red", "green", "yellow"]


@value
class Line:
    text: str
    dot: Dot | None = None
    code: bool = False
    """It is cut at the screen's width, not wrapped."""


def make_visible(text: str) -> str:
    r"""Escapes control characters and bytes that are not UTF-8 (`\n`, `\xff`).

    So a name stays on its line, and no test can send commands to the terminal.
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - where os.fsdecode puts bytes
        return f"\\x{code - 0xDC00:02x}"
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def wrap(line: Line, width: int) -> list[Line]:
    """Wraps at words, and indents the following lines."""
    room = width - (2 if line.dot else 0)
    text = make_visible(line.text)
    if len(text) <= room or room < _NARROW:
        return [line]
    if line.code:
        return [Line(f"{text[: room - 1]}…", line.dot, code=True)]
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    import textwrap

    parts = textwrap.wrap(
        text, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [Line(part, line.dot if number == 0 else None) for number, part in enumerate(parts)]


def time_of(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def block(text: str, *, most: int) -> list[Line]:
    """The last lines of a tool's output, indented."""
    lines = text.rstrip().splitlines()
    left_out = [Line(f"    … {count_of(len(lines) - most, 'line')} left out")] if len(lines) > most else []
    return left_out + [Line("    " + line.expandtabs()) for line in lines[-most:]]
