"""Finds the source that returned the value which a test could not unwrap."""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import tree_of
from verdigris.languages.protocol import Unwraps
from verdigris.languages.rust.tests import declared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import Failure

_KINDS = frozenset({"panic", "Err"})
"""Failures that are no assertion's: a panic, and an error that the test returned."""
_GIVES_UP = re.compile(r"\.(?:unwrap|expect)(?:_err)?\s*\(|\b(?:panic|unreachable)!")
_CALL = re.compile(r"(?<!fn )\b([a-z_]\w*)\s*(?:::\s*<[^()]*>)?\s*\(")
_DEFINED = re.compile(r"\bfn\s+([a-z_]\w*)")


class RustUnwraps(Unwraps):
    def gave_up(self, failure: Failure) -> bool:
        return not failure.assertion and failure.kind in _KINDS

    def functions(self, sources: Mapping[str, bytes]) -> dict[str, str]:
        bare = {path: self.language.without_tests(data) for path, data in sources.items()}
        texts = {path: data.decode("utf-8", "surrogateescape") for path, data in bare.items()}
        return {name: path for path, text in texts.items() for name in _DEFINED.findall(text)}

    def subject_of(
        self, failure: Failure, text: str, function: str, known: Mapping[str, str]
    ) -> tuple[str, int] | None:
        """A source file that the test called before it failed, and the line where the test gave up."""
        lines = text.splitlines()
        first, last = _find_span(text, function)
        last = min(last, len(lines))
        if failure.kind == "panic":
            at = failure.place.line if failure.place else 0
            if not first <= at <= last or not _GIVES_UP.search(lines[at - 1]):
                return None
            last = at
        called = _CALL.findall("\n".join(lines[first - 1 : last]))
        return next(((known[name], last) for name in called if name in known), None)


def _find_span(text: str, test: str) -> tuple[int, int]:
    """The first line of a test and the last that may be its own; (1, 0) if it is not found."""
    functions = declared(tree_of("lib.rs", text.encode("utf-8", "surrogateescape"))[0])
    for function, below in zip_longest(functions, functions[1:]):
        if f"::{test}".endswith(f"::{function.test}"):
            return function.line, sys.maxsize if below is None else below.line - 1
    return 1, 0
