"""Chooses the command that runs a test: `test_command_for`, or the stack's own runner."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from verdigris.core.paths import compile_glob
from verdigris.core.test_ids import split_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.settings import Stack

ARGS = "{args}"
Words = tuple[str, ...]


def fitting_command(stack: Stack, name: str) -> Words | None:
    """For an id or a path, both from the worktree's root; None: the runner's own command."""
    path = split_id(name).path
    return next(
        (words for pattern, words in stack.test_command_for if _fits(stack, pattern, name, path)), None
    )


def split_by_command(
    stack: Stack, names: Sequence[str], files: Iterable[str] = ()
) -> dict[Words | None, Words]:
    """The calls that these names make; none of the runner's own where each has a command.

    A folder, or no name at all, is for the runner; of `files`, those in it that a pattern fits go to its
    command as well, and what the runner says of them does not count.
    """
    calls: dict[Words | None, dict[str, None]] = {}
    for name in names or ("",):
        calls.setdefault(fitting_command(stack, name) if name else None, {})[name] = None
    broad = [name for name in calls.get(None, ()) if "::" not in name]
    for file in files:
        if (words := fitting_command(stack, file)) and any(_holds(folder, file) for folder in broad):
            calls.setdefault(words, {})[file] = None
    for pattern, words in stack.test_command_for:
        if "::" in pattern and any(_holds(folder, split_id(_below(stack, pattern)).path) for folder in broad):
            calls.setdefault(words, {})[_below(stack, pattern)] = None
    return {words: tuple(filter(None, asked)) for words, asked in calls.items()}


def fill_command(words: Words, arguments: Sequence[str]) -> Words:
    """`{args}` alone becomes the arguments; within a word it becomes them as a shell would read them."""
    made: list[str] = []
    for word in words:
        if word == ARGS:
            made += arguments
        else:
            made.append(word.replace(ARGS, shlex.join(arguments)))
    return tuple(made)


def reports(words: Words) -> bool:
    """Whether the command writes JUnit XML instead of running our reporter."""
    return not any(ARGS in word for word in words)


def _fits(stack: Stack, pattern: str, name: str, path: str) -> bool:
    wanted = _below(stack, pattern)
    if "::" in pattern:
        return name == wanted or name.startswith((f"{wanted}[", f"{wanted}::", f"{wanted}/", f"{wanted} › "))
    return re.fullmatch(compile_glob(wanted), path) is not None


def _holds(folder: str, file: str) -> bool:
    return folder in {"", ".", file} or file.startswith(f"{folder.rstrip('/')}/")


def _below(stack: Stack, pattern: str) -> str:
    return pattern if stack.root in {".", ""} else f"{stack.root.rstrip('/')}/{pattern}"
