"""vitest, jest and node:test, which run in Node.js: their facts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from verdigris.runners.protocol import Harness, RunnerKind

if TYPE_CHECKING:
    from collections.abc import Iterator

_OLDEST_NODE = (18,)
_VITEST_LINE = r"^ *FAIL +(?:\|[^|\n]+\| +)?(\S+(?: > .+)?)\n+((?:[\w.]*Error\b)?)"
_JEST_LINE = r"^ {2}● (.+? › .+)$"
_TAP_LINE = r"^ *not ok \d+ -? ?(.+?)(?: #.*)?$"


def read_vitest_log(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(_VITEST_LINE, text, re.MULTILINE):
        if " > " in found[1] or found[2]:
            yield found[1], found[2]


def read_jest_log(text: str) -> Iterator[tuple[str, str]]:
    yield from ((found[1], "") for found in re.finditer(_JEST_LINE, text, re.MULTILINE))


def read_tap_log(text: str) -> Iterator[tuple[str, str]]:
    yield from ((found[1], "") for found in re.finditer(_TAP_LINE, text, re.MULTILINE))


def _name_parts(native: str) -> tuple[str, ...]:
    from verdigris.core.test_ids import split_id
    from verdigris.languages.registry import reader_of

    path = split_id(native).path
    return (path, *reader_of(path).name_parts(native))


def _vitest_name(native: str) -> str:
    return " > ".join(_name_parts(native))


def _jest_name(native: str) -> str:
    """Its lines do not name what is around a test."""
    return _name_parts(native)[-1]


_IMAGE = "node:22"
_INSTALL = ("if [ -f package-lock.json ]; then npm ci; else npm install; fi",)
_MISSING = ((r"Cannot find (?:module|package) '", "install the packages"),)
KINDS = (
    RunnerKind(
        "vitest",
        package="vitest",
        oldest=(2,),
        oldest_program=_OLDEST_NODE,
        read_log=read_vitest_log,
        missing=_MISSING,
        harness=Harness(
            "parse_log_vitest",
            _vitest_name,
            lambda files: f"npx vitest run --reporter=verbose {shlex.join(files)}",
            _IMAGE,
            _INSTALL,
        ),
    ),
    RunnerKind(
        "jest",
        loads_modules=False,
        package="jest",
        oldest=(29,),
        oldest_program=_OLDEST_NODE,
        read_log=read_jest_log,
        missing=_MISSING,
        harness=Harness(
            "parse_log_jest",
            _jest_name,
            lambda files: f"npx jest --verbose {shlex.join(files)}",
            _IMAGE,
            _INSTALL,
        ),
    ),
    RunnerKind(
        "node-test",
        can_collect=False,
        oldest_program=_OLDEST_NODE,
        read_log=read_tap_log,
        missing=_MISSING,
    ),
)
