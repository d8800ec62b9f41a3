"""Finds runners by the name that `tdd.yaml` gives, those of third parties too, and the command for a test."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError
from verdigris.core.languages import runners_of
from verdigris.core.paths import compile_glob
from verdigris.core.test_ids import split_id
from verdigris.runners.protocol import RunnerKind as RunnerKind  # noqa: PLC0414 - where other packages find it

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.confinement.needs import FindNeeds
    from verdigris.core.settings import Stack


GROUP = "verdigris.runners"
"""The group of entry points. Each gives a RunnerKind; its name is the one for `runner:` in tdd.yaml."""
BUILT_IN = {
    "pytest": "python",
    "unittest": "python",
    "django": "python",
    "vitest": "node",
    "jest": "node",
    "node-test": "node",
    "cargo": "cargo",
    "go": "go",
    "junit": "junit",
}
"""The module of each runner that comes with Verdigris; it is loaded when somebody asks for the runner."""


def kind_of(name: str) -> RunnerKind:
    kind = _load_own(name) if name in BUILT_IN else _find_installed(name)
    if kind is None:
        raise ConfigError(
            f"no runner is called {name!r}",
            hint=f"use {', '.join(BUILT_IN)}, or install the package that brings it",
        )
    return kind


def built_in() -> tuple[RunnerKind, ...]:
    return tuple(map(kind_of, BUILT_IN))


def is_known(name: str) -> bool:
    return name in BUILT_IN or _find_installed(name) is not None


def is_in_interpreter(name: str) -> bool:
    return kind_of(name).in_interpreter


def runs(name: str, language: str) -> bool:
    """Whether a known runner has tests of this language."""
    return name in runners_of(language) or language in kind_of(name).languages


def need_finders(stacks: Iterable[Stack]) -> tuple[FindNeeds, ...]:
    finders = (kind_of(stack.runner).find_needs for stack in stacks)
    return tuple(dict.fromkeys(find for find in finders if find is not None))


def missing_download(output: str) -> str | None:
    """The command that downloads what a tool lacked; None if it lacked nothing."""
    return _find_move(output, [move for kind in built_in() for move in kind.downloads])


def download_advice(output: str) -> str | None:
    """The next move of a user whose tool lacked a download; None if it lacked nothing."""
    moves = [move for kind in built_in() for move in (*kind.downloads, *kind.missing)]
    advice = _find_move(output, moves)
    return f"a test run downloads nothing: {advice}, then run the tests again" if advice else None


def _find_move(output: str, moves: Iterable[tuple[str, str]]) -> str | None:
    return next((move for pattern, move in moves if re.search(pattern, output)), None)


@cache
def _load_own(name: str) -> RunnerKind:
    kinds: tuple[RunnerKind, ...] = import_module(f"verdigris.runners.{BUILT_IN[name]}").KINDS
    return next(kind for kind in kinds if kind.name == name)


@cache
def _find_installed(name: str) -> RunnerKind | None:
    """Looks for an entry point.

    It is called for an unknown name only: it takes time to search all packages.
    """
    from verdigris.seams import Seam

    kind = Seam(GROUP).find(name)
    if kind is not None and not (
        isinstance(kind, RunnerKind) and kind.name == name and (kind.find or kind.tool)
    ):
        raise ConfigError(
            f"the entry point {name!r} of {GROUP} is no runner of that name",
            hint="it must give a `verdigris.runners.registry.RunnerKind` of this name, with `find` or `tool`",
        )
    return kind


ARGS = "{args}"
Words = tuple[str, ...]


def fitting_command(stack: Stack, name: str) -> Words | None:
    """Finds the configured command for an id or a path relative to the worktree; None: the runner's own."""
    path = split_id(name).path
    return next(
        (words for pattern, words in stack.test_command_for if _fits(stack, pattern, name, path)), None
    )


def split_by_command(
    stack: Stack, names: Sequence[str], files: Iterable[str] = ()
) -> dict[Words | None, Words]:
    """Groups the names by the command that runs them; None is the runner's own command.

    A folder, or no name at all, goes to the runner's own command. If a pattern fits some of `files` in it,
    those also go to the command of that pattern, and the runner's own results for them do not count.
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
    return {words: tuple(filter(None, paths)) for words, paths in calls.items()}


def fill_command(words: Words, arguments: Sequence[str]) -> Words:
    """Replaces `{args}` by the arguments; within a word, by the arguments quoted for a shell."""
    argv: list[str] = []
    for word in words:
        if word == ARGS:
            argv += arguments
        else:
            argv.append(word.replace(ARGS, shlex.join(arguments)))
    return tuple(argv)


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
