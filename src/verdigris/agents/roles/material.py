"""What a role may know, as values: the kata, the project where the telling begins, and each commit since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from verdigris.agents.roles.showable import secret
from verdigris.core.errors import UserError
from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.core.pathclass import PathClass

Tree: TypeAlias = Mapping[str, str | None]
"""Path → text; None for a file that is no text (binary, a link, or too large to hold)."""

BUDGET = 24_000
"""Tokens of a prompt's common part, where nothing else is configured."""
FLOOR = 3_000
"""Below this a role sees too little to do anything sensible."""


@value
class Commit:
    message: str
    texts: Tree
    """What it added or changed, as it reads afterwards."""
    gone: tuple[str, ...] = ()
    """What it deleted, or moved away."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset((*self.texts, *self.gone))


@value
class Material:
    """The same for all roles; only facts that are committed, so that no role sees what another thought."""

    kata: str
    classify: Callable[[str], PathClass]
    language: str = "python"
    runner: str = ""
    kata_path: str = ""
    ground: Tree = field(default_factory=dict)
    """The project where the run began."""
    commits: tuple[Commit, ...] = ()
    """Every one since, the oldest first."""
    withheld: frozenset[str] = frozenset()
    """Held-out tests: neither shown nor written, also where a name of theirs turns up."""
    budget: int = BUDGET

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The ground, then the project after each commit."""
        found = [self.open(self.ground)]
        for commit in self.commits:
            found.append(after(found[-1], self.open(commit.texts), commit.gone))
        return tuple(found)

    @property
    def tree(self) -> Tree:
        return self.trees[-1]

    def open(self, tree: Tree) -> Tree:
        """Without what nobody may see."""
        return {path: text for path, text in tree.items() if not self.closed(path)}

    def closed(self, path: str) -> bool:
        """Secrets, held-out tests, and what the machine noted: the plans of the other roles among it."""
        return secret(path) or path in self.withheld or path.startswith(".tdd/")


def after(tree: Tree, texts: Tree, gone: tuple[str, ...]) -> Tree:
    left = frozenset(gone)
    return {path: text for path, text in {**tree, **texts}.items() if path not in left}


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
