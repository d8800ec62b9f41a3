"""Finds the source whose answer a Rust test could not unwrap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.rust.text import functions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import Failure

KINDS = frozenset({"panic", "Err"})
"""A panic that is no assertion's, and an error that the test returned."""
_GIVES_UP = re.compile(r"\.(?:unwrap|expect)(?:_err)?\s*\(|\b(?:panic|unreachable)!")
_CALL = re.compile(r"(?<!fn )\b([a-z_]\w*)\s*(?:::\s*<[^()]*>)?\s*\(")
_DEFINED = re.compile(r"\bfn\s+([a-z_]\w*)")


def find_definitions(sources: Mapping[str, str]) -> dict[str, str]:
    """By name, the file of source that defines a function."""
    return {name: path for path, text in sources.items() for name in _DEFINED.findall(text)}


def find_unwrapped(
    failure: Failure, text: str, test: str, known: Mapping[str, str]
) -> tuple[str, int] | None:
    """The source file that was asked before it failed, and the line of the test; None where none was.

    `text` is that of the test's file, `test` its full name, `known` as from `defined`.
    """
    lines = text.splitlines()
    first, last = _span(text, test, len(lines))
    if failure.kind == "panic":
        at = failure.place.line if failure.place else 0
        if not first <= at <= last or not _GIVES_UP.search(lines[at - 1]):
            return None
        last = at
    called = _CALL.findall("\n".join(lines[first - 1 : last]))
    return next(((known[name], last) for name in called if name in known), None)


def _span(text: str, test: str, end: int) -> tuple[int, int]:
    """Its lines, from its name to what follows it; (1, 0) where it is not found."""
    found = functions(text)
    for index, function in enumerate(found):
        if f"::{test}".endswith(f"::{function.name}"):
            return function.line, found[index + 1].line - 1 if index + 1 < len(found) else end
    return 1, 0
