"""What a language finds in texts: values that every language speaks of alike."""

from __future__ import annotations

from verdigris.core.value import value


@value
class StubFinding:
    line: int
    why: str


@value
class Imported:
    """One module that a statement leads to."""

    line: int
    module: str
    """Dotted; relative ones begin with their dots."""
    name: str = ""
    """What is taken from it."""


@value
class Concern:
    kind: str
    path: str
    line: int
    what: str
    blocks: bool
    """No honest change has it: the verdict cannot be `accepted`."""
    literal: str = ""
    constant: bool = False
    """Of expected literals: see `Hit`."""


@value
class Weakening:
    kind: str
    """`removed`, `uncollected`, `skipped`, `deselected`, `hook`, `dropped`, `guarded`, `weaker`, `cases`,
    `changed`, `data` or `unreadable`."""
    path: str
    line: int
    before: str
    after: str


@value
class Mutant:
    path: str
    line: int
    what: str
    """What it says of the tests if all of them pass with it."""
    data: bytes
    """The file with the change in it."""
    weak: bool = False
    """It may well be no change of behaviour: a person is told, and the refactor is not refused."""


@value
class Mutated:
    """`untried`: what would have to be changed and cannot be."""

    mutants: tuple[Mutant, ...] = ()
    untried: tuple[str, ...] = ()
