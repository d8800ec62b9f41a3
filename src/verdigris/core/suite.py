"""What `suite` of a stack stands for, in the runner's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.core.settings import Stack


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


def _below(root: str, entry: str) -> str:
    return entry if root in {".", ""} else f"{root.rstrip('/')}/{entry}"
