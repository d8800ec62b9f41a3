"""`Expectations`: how a language writes assertions, so that they can be changed and honest code fails."""

# A default has the arguments of what takes its place:
# ruff: noqa: ARG002

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.probes import Edit


class Expectations:
    """The defaults hold where a language has no such thing."""

    opposite_words: ClassVar[Mapping[str, str]] = {}
    """Where another word says the opposite of the same arguments."""
    member: re.Pattern[str] | None = None
    """How a member of an enumeration is written."""
    has_inner_calls: bool = False
    """An assertion is one node that holds all that is compared; else only its sides are."""

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        """What an assertion compares, the likeliest to be the expected value first."""
        return iter(())

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """The literals that a name goes through if it is this scope that binds it to a table; else None."""
        return None

    def is_callback(self, holder: Node | None) -> bool:
        """Whether a function that stands there is called by what it is given to."""
        return False

    def items(self, side: Sequence[Node]) -> list[Node]:
        """The items of a list that may be shorter."""
        return []

    def nearby(self, node: Node) -> Node | None:
        """The expected number of an assertion with a tolerance that is known to be small."""
        return None

    def negated(self, node: Node) -> tuple[Edit, ...] | None:
        """The opposite assertion."""
        return None

    def spoilt(self, node: Node, dice: Random) -> tuple[Edit, ...] | None:
        """Where types do not matter: any value as another one of its kind, made when the test comes to it."""
        return None
