"""One line of text for a person: a coloured dot where it has one, and foreign characters made harmless."""

from __future__ import annotations

from typing import Literal

from verdigris.core.value import value

Dot = Literal["red", "green", "yellow"]


@value
class Line:
    text: str
    dot: Dot | None = None


def visible(text: str) -> str:
    r"""Control characters and bytes that are not UTF-8 are written out (`\n`, `\xff`).

    A name stays on its line, and no test can send commands to the terminal.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - where os.fsdecode puts bytes
        return f"\\x{code - 0xDC00:02x}"
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def block(text: str, *, most: int) -> list[Line]:
    """The last lines of a tool's output, indented."""
    lines = text.rstrip().splitlines()
    left_out = [Line(f"    … {counted(len(lines) - most, 'line')} left out")] if len(lines) > most else []
    return left_out + [Line("    " + line.expandtabs()) for line in lines[-most:]]
