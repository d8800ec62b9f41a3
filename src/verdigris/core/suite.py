"""What `suite` of a stack stands for, in the runner's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.testids import split_id
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack

_HOLDS_TESTS = re.compile(r"^(?:async )?def test|^class \w+\(.*TestCase\b", re.MULTILINE)
"""At the beginning of a line: what a runner takes for tests, if it takes the file."""


@value
class Suite:
    names: tuple[str, ...]
    """Ids and paths, relative to the worktree; all tests of the stack where there is none."""
    marks: tuple[str, ...]
    """Arguments for the runner."""


def suite_of(stack: Stack) -> Suite:
    marks = [entry for entry in stack.suite if entry.startswith("-m")]
    names = tuple(_below(stack.root, entry) for entry in stack.suite if entry not in marks)
    return Suite(names, tuple(word for mark in marks for word in ("-m", mark.removeprefix("-m").strip())))


def unseen_files(report: TestReport, paths: Iterable[str]) -> tuple[str, ...]:
    """Of test files those of which a run of all tests says nothing."""
    seen = {split_id(native).path for native in (*report.collected, *report.others)}
    seen |= {error.path for error in report.errors}
    return tuple(path for path in paths if path not in seen)


def holds_tests(text: str) -> bool:
    return _HOLDS_TESTS.search(text) is not None


def _below(root: str, entry: str) -> str:
    return entry if root in {".", ""} else f"{root.rstrip('/')}/{entry}"
