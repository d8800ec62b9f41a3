"""Reads from what a CI printed which tests failed and how, and makes a signature of it.

Two runs that fail alike have the same signature, wherever and whenever they ran: it holds no times, folders,
line numbers and addresses. Where no tool's words are found, it is made of the line that tells the failure.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Failure|Exit|Interrupt|Warning)|Failed)\b"
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
    found: set[FailedTest] = set()
    for read in _READERS:
        found |= {FailedTest(_without_varying(one.id), _without_varying(one.kind)) for one in read(text)}
    return tuple(sorted(found))


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


def _kind(message: str) -> str:
    message = message.strip()
    if message.startswith("assert"):
        return "AssertionError"
    found = _EXCEPTION.match(message)
    return found[1] if found else ""


# -- tools ------------------------------------------------------------------------------------

_PYTEST = re.compile(r"^(FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - (.*))?$", re.MULTILINE)
_UNITTEST = re.compile(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
_VITEST = re.compile(r"^ *FAIL +(?:\|[^|\n]+\| +)?(\S+(?: > .+)?)\n+((?:[\w.]*Error\b)?)", re.MULTILINE)
_JEST = re.compile(r"^ {2}● (.+? › .+)$", re.MULTILINE)
_TAP = re.compile(r"^ *not ok \d+ -? ?(.+?)(?: #.*)?$", re.MULTILINE)
_CARGO = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
_RUSTC = re.compile(r"^error\[(E\d+)\]:.*\n +--> ([^:\n]+)", re.MULTILINE)
_GO = re.compile(r"^ *--- FAIL: (\S+)", re.MULTILINE)
_GO_BUILD = re.compile(r"^FAIL\t(\S+) \[(build failed|setup failed)\]", re.MULTILINE)
_TSC = re.compile(r"^(\S+?)(?:\(\d+,\d+\)|:\d+:\d+)(?: -|:) error (TS\d+)", re.MULTILINE)
_MYPY = re.compile(r"^(\S+?):\d+(?::\d+)?: error: .*\[([a-z-]+)\]$", re.MULTILINE)


def _pytest(text: str) -> Iterator[FailedTest]:
    for found in _PYTEST.finditer(text):
        kind = _kind(found[3] or "") or ("error" if found[1] == "ERROR" else "")
        if "::" in found[2] or found[2].endswith(".py"):
            yield FailedTest(found[2], kind)


def _unittest(text: str) -> Iterator[FailedTest]:
    for found in _UNITTEST.finditer(text):
        name = found[3] if found[3].endswith(f".{found[2]}") else f"{found[3]}.{found[2]}"
        yield FailedTest(name, "AssertionError" if found[1] == "FAIL" else "error")


def _vitest(text: str) -> Iterator[FailedTest]:
    for found in _VITEST.finditer(text):
        if " > " in found[1] or found[2]:
            yield FailedTest(found[1], found[2])


def _go_tests(text: str) -> Iterator[FailedTest]:
    """The innermost ones: a test that fails because a part of it does says nothing more."""
    names = {found[1] for found in _GO.finditer(text)}
    for name in names:
        if not any(other.startswith(f"{name}/") for other in names):
            yield FailedTest(name, "panic" if f"panic: test {name}" in text else "")


def _cargo(text: str) -> Iterator[FailedTest]:
    for found in _CARGO.finditer(text):
        asserted = re.search(
            rf"thread '{re.escape(found[1])}'[^\n]* panicked at[^\n]*\n?[^\n]*assertion", text
        )
        yield FailedTest(found[1], "assertion" if asserted else "panic")


def _by(pattern: re.Pattern[str]) -> Callable[[str], Iterator[FailedTest]]:
    """The first group is the id, the second, where there is one, the kind."""

    def read_failures_by(text: str) -> Iterator[FailedTest]:
        for found in pattern.finditer(text):
            yield FailedTest(found[1], found[2] if pattern.groups > 1 else "")

    return read_failures_by


def _rustc(text: str) -> Iterator[FailedTest]:
    for found in _RUSTC.finditer(text):
        yield FailedTest(found[2], found[1])


_READERS: tuple[Callable[[str], Iterator[FailedTest]], ...] = (
    _pytest,
    _unittest,
    _vitest,
    _by(_JEST),
    _by(_TAP),
    _cargo,
    _rustc,
    _go_tests,
    _by(_GO_BUILD),
    _by(_TSC),
    _by(_MYPY),
)
