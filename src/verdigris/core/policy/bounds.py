"""Decides whether a path lies within what a program of the loop may write."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.paths import Classes, PathClass

if TYPE_CHECKING:
    from verdigris.core.settings import Bounds


def deny_beyond(bounds: Bounds, path: str, cls: PathClass) -> Deny | None:
    """None where the program may write it; whether the phase allows it is asked elsewhere."""
    if is_measuring(bounds, path):
        return Deny(
            "program-measure",
            f"{path} is part of what measures the program {bounds.program}, so nobody writes it meanwhile.",
            "leave it as it is, and change what it measures",
        )
    if _matches(bounds.closed, path):
        return Deny(
            "program-closed",
            f"the program {bounds.program} says not to modify {path}.",
            "leave it as it is, and reach the goal without it",
        )
    if is_within(bounds, path, cls):
        return None
    return Deny(
        "outside-program",
        f"{path} is none of the targets of the program {bounds.program}.",
        "change the targets only; a person may add it to the list below `## Target` in its program.md",
    )


def is_closed(bounds: Bounds, path: str) -> bool:
    """Whether it measures the program, or the program says not to modify it."""
    return is_measuring(bounds, path) or _matches(bounds.closed, path)


def is_measuring(bounds: Bounds, path: str) -> bool:
    return _matches(bounds.measuring, path)


def is_within(bounds: Bounds, path: str, cls: PathClass) -> bool:
    """Whether the program may change it."""
    if is_closed(bounds, path):
        return False
    if not bounds.targets or _matches(bounds.targets, path):
        return True
    return bounds.tests and cls is PathClass.TEST


def bound_classes(classes: Classes, bounds: Bounds) -> Classes:
    """What measures the program is as protected as a switch, in every phase; what it says not to modify is
    specification. Tests stay tests: they have to be run, claimed and compared as such.
    """
    more = ((PathClass.SWITCH, bounds.measuring), (PathClass.SPEC, bounds.closed))
    last = max((at for at, (cls, _) in enumerate(classes.rules, 1) if cls is PathClass.TEST), default=0)
    added = tuple(rule for rule in more if rule[1])
    return Classes((*classes.rules[:last], *added, *classes.rules[last:]))


def _matches(regex: str, path: str) -> bool:
    return bool(regex) and _compile(regex).fullmatch(path) is not None


@lru_cache(maxsize=8)
def _compile(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.DOTALL)
