"""Which Go stacks a project has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.settings import Stack
from verdigris.languages.folders import FoundStacks, holding, holds_suffix, outermost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.languages.folders import Folder


def find_stacks(known: Sequence[Folder]) -> FoundStacks:
    """Each module is its own: `./...` ends where another module begins, in a workspace (`go.work`) too."""
    modules = holding(known, ["go.mod"])
    outer = outermost(modules)
    places = [m for m in modules if m in outer or holds_suffix(known, m, ("_test.go",))]
    return FoundStacks(tuple(Stack(root=place, language="go", runner="go") for place in places))
