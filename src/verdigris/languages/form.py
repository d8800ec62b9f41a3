"""What a language's scaffold consists of, and what it is run with."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack


@value
class Form:
    manifest: str
    """Of the files the one that is written first: by it a project is known."""
    files: Mapping[str, str]
    ignore: tuple[str, ...]
    """Lines of `.gitignore`; without a slash at the end where the machine's worktree may have a link."""


@value
class Equipment:
    stack: Stack
    before: tuple[str, ...] = ()
    """What a person does before the first test run, as commands or sentences."""


@value
class FoundPython:
    """The user's interpreter, as a scaffold needs to know it."""

    path: Path
    how: str
    packages: tuple[str, ...] | None
    """Where its packages lie; None where it does not say."""


FindPython: TypeAlias = "Callable[[], FoundPython | None]"
