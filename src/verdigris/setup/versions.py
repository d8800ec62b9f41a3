"""Compares versions of tools, also with the ranges that `engines` of a package names."""

from __future__ import annotations

import re

Version = tuple[int, ...]
_BOUND = re.compile(r"(\^|~|>=|<=|>|<|=)?\s*v?(\d+(?:\.(?:\d+|[x*]))*)")


def version(text: str) -> Version:
    """The first that stands in a text; empty where there is none."""
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def fits(found: Version, wanted: str) -> bool:
    """Whether one alternative between `||` holds; what is not understood holds."""
    choices = [_BOUND.findall(choice) for choice in wanted.split("||")]
    return not all(choices) or any(all(_holds(found, *bound) for bound in choice) for choice in choices)


def _holds(found: Version, sign: str, bound: str) -> bool:
    given = tuple(int(part) for part in bound.split(".") if part.isdigit())
    full = (*given, 0, 0)[:3]
    match sign:
        case ">=":
            return found >= full
        case "<":
            return found < full
        case ">":
            return found > full
        case "<=":
            return found <= full or found[: len(given)] == given
        case "^":
            fixed = 1 if full[0] else 2
            return found >= full and found[:fixed] == full[:fixed]
        case "~":
            return found >= full and found[:2] == full[:2]
        case _:
            return found[: len(given)] == given
