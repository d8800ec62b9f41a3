"""Reads from what a CI printed which tests failed and how, and makes a signature of it.

Two runs that fail alike have the same signature, wherever and whenever they ran: it holds no times, folders,
line numbers and addresses. Where no tool's words are found, it is made of the line that tells the failure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from verdigris.runners.registry import built_in

_LONGEST = 200
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_GITHUB = re.compile(r"^[^\t\n]*\t[^\t\n]*\t\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ?", re.MULTILINE)
"""What `gh run view --log` puts before each line: job, step and time."""
_VARYING = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"), ""),
    (re.compile(r"\(?\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|m)\b\)?"), ""),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[\\/](?:[^\s:'\"<>|()\\/\[\]]+[\\/])+"), ""),
    (re.compile(r"(?<=\w):\d+(?::\d+)?\b"), ""),
    (re.compile(r"\bline \d+\b"), "line"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), ""),
)
_TELLING = re.compile(r"\b(?:error|fail(?:ed|ure)?|fatal|panic|exception|denied|not found)\b", re.IGNORECASE)


class FailedTest(NamedTuple):
    id: str
    kind: str

    def __str__(self) -> str:
        return f"{self.id} ({self.kind})" if self.kind else self.id


def read_failures(output: str) -> tuple[FailedTest, ...]:
    """Sorted, each once; empty where no tool's words are found."""
    text = _GITHUB.sub("", _COLOURS.sub("", output)).replace("\r", "")
    readers = (*(kind.read_log for kind in built_in() if kind.read_log), _read_type_checkers)
    return tuple(
        sorted({FailedTest(*map(_without_varying, found)) for read in readers for found in read(text)})
    )


def signature_of(failures: Iterable[FailedTest], output: str = "", code: int | None = None) -> str:
    """`output` and the exit code stand in where no failure was read."""
    named = sorted({str(one) for one in failures}) or [_telling_line(output) or f"exit code {code}"]
    whole = ", ".join(named)
    if len(whole) <= _LONGEST:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    first = named[0] if len(named[0]) <= _LONGEST else f"{named[0][:_LONGEST]}…"
    return f"{first} and {len(named) - 1} more [{digest}]"


def _telling_line(output: str) -> str:
    lines = [_without_varying(line) for line in _GITHUB.sub("", _COLOURS.sub("", output)).splitlines()]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or [line for line in reversed(lines) if line] or [""])[0][:_LONGEST]


def _without_varying(said: str) -> str:
    for pattern, instead in _VARYING:
        said = pattern.sub(instead, said)
    return " ".join(said.split())


_TYPE_CHECKERS = (
    re.compile(r"^(\S+?)(?:\(\d+,\d+\)|:\d+:\d+)(?: -|:) error (TS\d+)", re.MULTILINE),
    re.compile(r"^(\S+?):\d+(?::\d+)?: error: .*\[([a-z-]+)\]$", re.MULTILINE),
)
"""What tsc and mypy print, which are no test tools: the file, and the kind of the error."""


def _read_type_checkers(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _TYPE_CHECKERS:
        yield from ((found[1], found[2]) for found in pattern.finditer(text))
