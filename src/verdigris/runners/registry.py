"""The runners that `tdd.yaml` may name, also those of third parties; and the command that runs a test."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError
from verdigris.core.languages import runners_of
from verdigris.core.paths import compile_glob
from verdigris.core.test_ids import split_id
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Toolset


if TYPE_CHECKING:
    FindTool = Callable[[Stack, Path, Mapping[str, str]], Toolset]

GROUP = "verdigris.runners"
"""Of entry points: each gives a RunnerKind, by the name that `runner:` has in tdd.yaml."""


@value
class RunnerKind:
    """What the kernel must know of a runner before it calls it."""

    name: str
    """As `runner:` names it in tdd.yaml."""
    in_interpreter: bool = False
    """The user's Python interpreter runs it, with our reporter in it."""
    has_marks: bool = False
    """It can select tests by a mark (`-m MARK`)."""
    can_collect: bool = True
    """It can list its tests without running them."""
    takes: str = ""
    """Which files it takes for tests, told to who wrote one that it does not take."""
    loads_modules: bool = True
    """Of Node: what a test imports may be an ES module, whatever its own form."""
    has_templates: bool = False
    """The stack's `junit` keys say what its tool is."""
    is_package: bool = False
    """It is installed beside the project's own packages; else the interpreter brings it."""
    languages: tuple[str, ...] = ()
    """That it runs: of a third party's runner only."""
    find: FindTool | None = None
    """Looks a third party's tool up; ours stand in `verdigris.execution.tools`."""


_KINDS = (
    RunnerKind(
        "pytest",
        in_interpreter=True,
        has_marks=True,
        is_package=True,
        takes="it takes test_*.py and *_test.py, or what `python_files` in its configuration names",
    ),
    RunnerKind(
        "unittest",
        in_interpreter=True,
        takes="it takes test*.py in packages; `runner: pytest` in tdd.yaml takes *_test.py too",
    ),
    RunnerKind("vitest"),
    RunnerKind("jest", loads_modules=False),
    RunnerKind("node-test", can_collect=False),
    RunnerKind("cargo"),
    RunnerKind("go"),
    RunnerKind("junit", has_templates=True),
)
KINDS = {kind.name: kind for kind in _KINDS}


def kind_of(name: str) -> RunnerKind:
    kind = KINDS.get(name) or _find_installed(name)
    if kind is None:
        raise ConfigError(
            f"no runner is called {name!r}",
            hint=f"use {', '.join(KINDS)}, or install the package that brings it",
        )
    return kind


def is_known(name: str) -> bool:
    return name in KINDS or _find_installed(name) is not None


def is_in_interpreter(name: str) -> bool:
    return kind_of(name).in_interpreter


def runs(name: str, language: str) -> bool:
    """Whether a known runner has tests of this language."""
    return name in runners_of(language) or (name not in KINDS and language in kind_of(name).languages)


@cache
def _find_installed(name: str) -> RunnerKind | None:
    """Asked for an unknown name only: to look at all that is installed takes time."""
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=GROUP, name=name)), None)
    kind = None if found is None else found.load()
    if kind is not None and (not isinstance(kind, RunnerKind) or kind.name != name or kind.find is None):
        raise ConfigError(
            f"the entry point {name!r} of {GROUP} is no runner of that name",
            hint="it must give a `verdigris.runners.registry.RunnerKind` of this name, with `find`",
        )
    return kind


ARGS = "{args}"
Words = tuple[str, ...]


def fitting_command(stack: Stack, name: str) -> Words | None:
    """Finds the command for an id or a path from the worktree's root; None: the runner's own command."""
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
