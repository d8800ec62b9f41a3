"""Tests that are compiled first: by compilers alone, into a folder that is kept, before any of them runs."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.runs import Place, Ran
    from verdigris.runners.protocol import Request, Runner


@value
class Prepared:
    place: Place
    """In which the tests are to run, with what is compiled already."""
    failed: Ran | None = None
    """A build that did not come to its end: nothing is to be run."""
    opened: tuple[str, ...] = ()
    """Files of the worktree that compilers opened: some take data into the tests."""


class Compiler(Protocol):
    def prepared(self, place: Place, stack: Stack, request: Request, spare: str) -> Prepared:
        """`spare` is an empty folder of this call's own."""


@value
class Toolset:
    runner: Runner
    programs: tuple[str, ...]
    """Absolute paths: what is started, and what is read beside it."""
    lead: int = 1
    """How many words of a call name the program; the others are its arguments."""
    env: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    """Folders of the user's that are there: nothing that a run writes into them stays."""
    compiler: Compiler | None = None
