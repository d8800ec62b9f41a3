"""What a check found, as a value."""

from __future__ import annotations

from typing import Literal

from verdigris.core.value import value

Level = Literal["ok", "warn", "fail"]


@value
class Finding:
    name: str
    level: Level
    what: str
    fix: str = ""
    """The way out; empty where nothing is wrong."""
    details: tuple[str, ...] = ()


def failed(name: str, what: str, fix: str | None) -> Finding:
    return Finding(name, "fail", what, fix or "see `tdd doctor --json`")
