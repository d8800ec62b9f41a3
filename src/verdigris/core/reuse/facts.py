"""The facts that decide which tests keep their result: words and changes of modules, functions that ran."""

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
    """Functions, by qualified name, that act differently when they are called."""
    names: frozenset[str] = frozenset()
    """Names whose meaning changed for code that uses them."""
    added: frozenset[str] = frozenset()
    """Functions that are new, or whose definition changed."""
    gone: frozenset[str] = frozenset()
    """Functions that are gone, or whose definition changed."""
    classes: frozenset[str] = frozenset()
    """Classes in which more changed than the bodies of methods."""
    notes: frozenset[str] = frozenset()
    """Functions and classes whose documentation changed; the empty name stands for the module."""
    variables: frozenset[str] = frozenset()
    """Those of the names that only the module's own code can use as variables, unless others import them."""
    more: bool = False
    """The module may act differently when it is loaded."""


@value
class ModuleWords:
    """The words that a module says: its identifiers and attributes."""

    functions: Mapping[str, frozenset[str]]
    """By qualified name."""
    outside: frozenset[str]
    """Words of the code that runs when it is loaded."""
    imports: frozenset[str] = frozenset()
    """Words of its import statements; `*` if it imports all names of a module."""
    bare: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Words that are used only as variables: by function; under the empty name, of the code outside."""
    library: frozenset[str] = frozenset()
    """Those of the imports that come only from the standard library."""
    made: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By qualified name, the words of a definition that does nothing else."""
    examples: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Words of the examples in documentation, by the name of what is documented."""

    @property
    def loading(self) -> frozenset[str]:
        """All words of the code that runs when it is loaded."""
        return self.outside.union(*self.made.values())


@value
class RunRecord:
    """The functions that the tests of a tree ran, by name: it stays valid when lines move."""

    functions: tuple[tuple[str, str], ...]
    """File and qualified name."""
    sets: tuple[tuple[int, ...], ...]
    tests: Mapping[str, TestUse]
    common: Mapping[str, int]
    files: frozenset[str]
    """Files whose code was run."""
    read: frozenset[str]
    listed: frozenset[str]


@value
class TreeChange:
    """The change from the recorded tree to the next one."""

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
