"""Which path a command could not write, as it said itself; tools word this in many ways."""

# Loaded in every shell call that failed so, where every millisecond counts.

from __future__ import annotations

import re

TYPE_CHECKING = False  # `typing` costs as much as all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNS = (b"read-only file system", b"erofs", b"device or resource busy")
"""In lower case."""
CAUSE = 3
"""Lines by which a cause may stand below what it stopped, as some tools print it."""
_AROUND = " '\"`‘’“”"
_SIGN = re.compile("|".join(sign.decode() for sign in SIGNS), re.IGNORECASE)
_QUOTED = re.compile("['\"`‘“]([^'\"`‘’“”]+)['\"`’”]")


def is_told(said: bytes) -> bool:
    lower = said.lower()
    return any(sign in lower for sign in SIGNS)


def spelled_paths(said: bytes) -> Iterator[str]:
    """Spellings that may name it, likely ones first: quoted, or before the sign; most are no paths at all."""
    lines = [line.decode("utf-8", "surrogateescape") for line in said.splitlines()]
    for number, text in enumerate(lines):
        if not (sign := _SIGN.search(text)):
            continue
        yield from _QUOTED.findall(text)
        before = text[: sign.start()]
        for part in reversed(before.split(": ")):
            yield part.strip(_AROUND)
            yield part.rpartition(" ")[2].strip(_AROUND)
        for above in reversed(lines[max(0, number - CAUSE) : number]):
            yield from _QUOTED.findall(above)
