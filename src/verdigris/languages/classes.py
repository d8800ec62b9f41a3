"""Compiles the path classes of a project from its settings and its languages' conventions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import suffixes_of
from verdigris.core.paths import Classes, Detected, PathClass, compile_glob, where
from verdigris.languages.conventions import SWITCHES, transient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.core.paths import Where
    from verdigris.core.settings import Settings, Stack
    from verdigris.languages.conventions import Usual


_OURS = r"\.tdd/(?:plans?|logs|evidence|cycle|holdout)/.*\Z"
"""What the drivers write for people, whatever the files there are called."""


def compile_classes(
    settings: Settings, detected: Mapping[Where, Detected], usual: Callable[[Stack], Usual]
) -> Classes:
    """`usual`: the conventions of a stack's language."""
    unprotected = [transient(), _OURS]
    tests = [usual(stack).runner for stack in settings.stacks]
    tests += map(compile_glob, settings.oracle_include)
    source = []
    for stack in settings.stacks:
        found, prefix, places = (
            detected.get(where(stack), Detected(flat=True)),
            _prefix(stack.root),
            usual(stack),
        )
        unprotected += [
            prefix + regex for regex in (*map(compile_glob, found.environments), places.transient)
        ]
        unprotected += [prefix + compile_glob(glob) for glob in (*stack.generated, *found.generated)]
        tests += [prefix + regex for regex in (places.tests, *map(compile_glob, (*stack.test, *found.tests)))]
        source += [_not_inner(stack, settings) + prefix + regex for regex in _source(stack, found, places)]
    rules = (
        (PathClass.SWITCH, SWITCHES),
        (PathClass.OTHER, _any(unprotected)),
        (PathClass.TEST, _any(tests)),
        (PathClass.SPEC, _any(map(compile_glob, settings.spec))),
        (PathClass.SOURCE, _any(source)),
    )
    return Classes(tuple((cls, regex) for cls, regex in rules if regex))


def _source(stack: Stack, found: Detected, places: Usual) -> list[str]:
    of_language = rf"(?=.*(?:{'|'.join(map(re.escape, suffixes_of(stack.language)))})\Z)"
    if stack.source:
        return [_source_glob(glob, of_language) for glob in stack.source]
    roots = [_source_glob(root + "/", of_language) for root in found.source]
    # Also modules and packages that do not exist yet.
    flat = rf"{of_language}(?!{places.not_source}).*\Z"
    return [*roots, flat] if found.flat else roots


def _source_glob(glob: str, of_language: str) -> str:
    """A folder holds the files of its language; a glob that ends in a suffix means just that."""
    names_files = re.search(r"\.\w+\Z", glob) is not None
    return compile_glob(glob) if names_files else of_language + compile_glob(glob)


def _not_inner(outer: Stack, settings: Settings) -> str:
    """A stack inside another of the same language decides for itself what its source is."""
    same = (s for s in settings.stacks if suffixes_of(s.language) == suffixes_of(outer.language))
    inner = [_prefix(stack.root) for stack in same if stack.root not in {outer.root, "."}]
    within = [prefix for prefix in inner if prefix.startswith(_prefix(outer.root))]
    return f"(?!{'|'.join(within)})" if within else ""


def _prefix(root: str) -> str:
    return "" if root == "." else re.escape(root) + "/"


def _any(regexes: Iterable[str]) -> str:
    return "|".join(dict.fromkeys(regexes))
