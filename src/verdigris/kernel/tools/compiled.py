"""Tests that are compiled first: by compilers alone, into a folder that is kept, before any of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.kernel.tools.runs import Place, Ran
    from verdigris.runners.protocol import Request


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
