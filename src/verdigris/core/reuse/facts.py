"""The facts that decide which tests keep their result: what modules say, how they differ, what tests ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import TestUse


@value
class ModuleDelta:
    """How two texts of a module differ."""

    bodies: frozenset[str] = frozenset()
    """Functions, by qualified name, that do something else when they are called."""
    names: frozenset[str] = frozenset()
    """Names that mean something else to who says them."""
    added: frozenset[str] = frozenset()
    """Functions that are new, or defined otherwise."""
    gone: frozenset[str] = frozenset()
    """Those that are no more, or defined otherwise."""
    classes: frozenset[str] = frozenset()
    """Classes of which more differs than bodies of functions."""
    notes: frozenset[str] = frozenset()
    """Of which functions and classes the documentation differs; an empty name is the module's."""
    variables: frozenset[str] = frozenset()
    """Of the names, those that only the module's own code can say as variables, unless others import them."""
    more: bool = False
    """What the module does when it is loaded may differ."""


@value
class ModuleWords:
    """Which words a module says."""

    functions: Mapping[str, frozenset[str]]
    """By qualified name."""
    outside: frozenset[str]
    """Where it is loaded."""
    imports: frozenset[str] = frozenset()
    """Where it imports; a star where it takes all names of a module."""
    bare: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By function, and under no name where it is loaded: words that are said as variables alone."""
    library: frozenset[str] = frozenset()
    """Of the imports, what is said only to import from the standard library."""
    made: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By qualified name: of which words it is made, where nothing is done but to make it."""
    examples: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By what is documented, where its documentation has examples: words of that."""

    @property
    def loading(self) -> frozenset[str]:
        """All that is said where it is loaded."""
        return self.outside.union(*self.made.values())


@value
class RunRecord:
    """What the tests of a tree used, by the names of functions: it holds wherever lines have moved to."""

    functions: tuple[tuple[str, str], ...]
    """File and qualified name."""
    sets: tuple[tuple[int, ...], ...]
    tests: Mapping[str, TestUse]
    common: Mapping[str, int]
    files: frozenset[str]
    """Whose code was run."""
    read: frozenset[str]
    listed: frozenset[str]


@value
class TreeChange:
    """The change from the recorded tree to the one that is asked about."""

    modules: Mapping[str, ModuleDelta]
    """By path: Python files on both sides that differ."""
    others: frozenset[str] = frozenset()
    """Paths of other files that differ, are new or gone."""
    unlisted: frozenset[str] = frozenset()
    """Of these, those that are new or gone."""
    tests: frozenset[str] = frozenset()
    """Python files that the runner looks for tests in; new ones too."""
    fresh: frozenset[str] = frozenset()
    """New ones among them."""
