"""Which paths a string among a tool's arguments names: itself, and the files of a patch."""

from __future__ import annotations

import re

_PATCH = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |(?:---|\+\+\+) (?:[ab]/)?|rename (?:from|to) )"
    r"(.+?)(?:\t.*)?\r?$",
    re.MULTILINE,
)


def mentioned(text: str) -> tuple[str, ...]:
    return (text, *_PATCH.findall(text)) if "\n" in text else (text,)
