"""The ground of a path: what git has, and on top of it what was accepted and nobody has committed yet."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from verdigris.core.value import value


class Side(StrEnum):
    """Where the ground of a path is to be found."""

    HEAD = "head"
    TREE = "tree"
    MERGED = "merged"
    """What was accepted, laid onto HEAD; or HEAD, if the worktree is nearer to that."""
    BEFORE = "before"
    """As it was."""


@value
class Versions:
    """One path: the name of its content in each place, None where it is absent."""

    tree: str | None
    head: str | None
    accepted: str | None
    """In the tree that was accepted last."""
    base: str | None
    """In HEAD when that was accepted."""
    once_accepted: bool = False
    """A tree that was ground at this commit had what the worktree has now."""
    unearned: bool = False
    """An agent committed what HEAD has, and no verdict accepted it."""
    source: bool = False
    unattributed: bool = False
    """An agent may have written it: tests are open to it in red, so nobody knows whose change it is."""


def choose_side(path: Versions) -> Side:
    """A path that is clean is ground as it lies there: a person may have moved git in any way.

    Only tests that an agent committed, or may have taken back, are compared with what they were, until a
    verdict accepts them.
    """
    is_clean = path.tree == path.head
    if path.unearned and not (is_clean and path.source):
        return Side.BEFORE
    if is_clean:
        return Side.BEFORE if path.unattributed else Side.HEAD
    is_accepted = path.accepted != path.base
    if path.once_accepted or (is_accepted and path.tree == path.accepted):
        return Side.TREE
    return Side.MERGED if is_accepted and path.head != path.accepted else Side.HEAD


def is_nearer(text: bytes, near: bytes, other: bytes) -> bool:
    """Whether `text` has more lines in common with `one` than with `other`.

    A file may have been edited as it was accepted, or as another branch has it: nobody saw which.
    """
    lines = Counter(text.splitlines())
    apart = [
        sum(((lines - of).total(), (of - lines).total()))
        for of in map(Counter, (near.splitlines(), other.splitlines()))
    ]
    return apart[0] <= apart[1]
