"""Decides which examples of documentation (doctests) keep their result: their words stand in texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import field, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.module_facts import ModuleDelta, ModuleWords


@value
class ExampleRerun:
    ids: frozenset[str] = field(default_factory=frozenset)
    """Known examples that may notice something."""
    names: frozenset[str] = field(default_factory=frozenset)
    """Those that are new."""
    gone: frozenset[str] = field(default_factory=frozenset)


def is_example(native: str) -> bool:
    """Names of test functions have no dots; examples are called as what they document, with its module."""
    return "." in native.partition("::")[2].partition("[")[0]


def plan_examples(
    tests: Iterable[str],
    modules: Mapping[str, ModuleDelta],
    words: Mapping[str, ModuleWords],
    sought: frozenset[str],
) -> ExampleRerun:
    """`sought`: names that mean something else, and words that may find them. An example whose place is not
    found is run.
    """
    ids: set[str] = set()
    gone: set[str] = set()
    homes: dict[str, set[tuple[str, str]]] = {}
    known: set[tuple[str, str]] = set()
    for native in filter(is_example, tests):
        file, _, dotted = native.partition("::")
        places = list(_find_places(dotted, words))
        here = [(path, name) for path, name, _ in places if name in words[path].examples]
        if len(here) == 1:
            path, name = here[0]
            module = next(said for at, _, said in places if at == path)
            known.add((path, name))
            homes.setdefault(path, set()).add((file, module))
            differs = path in modules and name in modules[path].notes
            ids |= {native} if differs or words[path].examples[name] & sought else set()
        elif not here and sum(_is_gone(modules.get(path), name) for path, name, _ in places) == 1:
            gone.add(native)
        else:
            ids.add(native)
    fresh = {
        f"{file}::{module}{'.' if name else ''}{name}"
        for path in modules.keys() & homes.keys()
        for name in words[path].examples
        if (path, name) not in known
        for file, module in homes[path]
    }
    return ExampleRerun(frozenset(ids), frozenset(fresh), frozenset(gone))


def _find_places(dotted: str, words: Mapping[str, ModuleWords]) -> Iterator[tuple[str, str, str]]:
    """Files that may hold what is called so: with its qualified name there, and that of the module."""
    for path in words:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        for first in range(len(parts)):
            module = ".".join(parts[first:])
            if f"{dotted}.".startswith(f"{module}."):
                yield path, dotted[len(module) + 1 :], module
                break


def _is_gone(delta: ModuleDelta | None, name: str) -> bool:
    return delta is not None and name in delta.gone | delta.notes
