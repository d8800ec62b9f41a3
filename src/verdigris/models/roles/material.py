"""What a role may know, as values: the kata, the files as they are, and a line for each commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.models.roles.showable import secret

if TYPE_CHECKING:
    from verdigris.core.pathclass import PathClass

Tree: TypeAlias = Mapping[str, str | None]
"""Path → text; None for a file that is no text (binary, a link, or too large to hold)."""

BUDGET = 24_000
"""Tokens of a prompt's common part, where nothing else is configured."""
FLOOR = 3_000
"""Below this a role sees too little to do anything sensible."""


@value
class Material:
    """The same for all roles; only facts that are committed, so that no role sees what another thought."""

    kata: str
    classify: Callable[[str], PathClass]
    language: str = "python"
    runner: str = ""
    kata_path: str = ""
    files: Tree = field(default_factory=dict)
    """The project as it is committed."""
    ages: Mapping[str, int] = field(default_factory=dict)
    """Path → the number of the commit that changed it last, of those since the machine began; else 0."""
    history: tuple[str, ...] = ()
    """One line a commit since the machine began, the oldest first."""
    tools: tuple[str, ...] = ()
    """The commands that format and check what a role writes."""
    withheld: frozenset[str] = frozenset()
    """Held-out tests: neither shown nor written, also where a name of theirs turns up."""
    budget: int = BUDGET

    @property
    def tree(self) -> Tree:
        return self.open(self.files)

    def open(self, tree: Tree) -> Tree:
        """Without what nobody may see."""
        return {path: text for path, text in tree.items() if not self.closed(path)}

    def closed(self, path: str) -> bool:
        """Secrets, held-out tests, and what the machine noted: the plans of the other roles among it."""
        return secret(path) or path in self.withheld or path.startswith(".tdd/")


def shrunk(material: Material, factor: float = 0.6) -> Material:
    """For the next try after a server found a prompt too long; UserError where nothing is left to cut."""
    smaller = int(material.budget * factor)
    if smaller < FLOOR:
        raise UserError(
            f"the model's context is too small: even {material.budget} tokens of kata, files and history are "
            "more than it takes",
            hint="shorten the kata, split large files, or configure a model with a longer context",
        )
    return replace(material, budget=smaller)
