"""Which class a path has: the compiled rules of one configuration, and their application."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.core.languages import SUFFIXES
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.settings import Stack

_ORDER = tuple(PathClass)
FEW = 40
"""Frozen files that are named one by one; of more, the folders are."""
Where = tuple[str, str]
"""Root and language: what tells a stack from the others."""


def where(stack: Stack) -> Where:
    return stack.root, stack.language


@value
class Detected:
    """What looking at a stack's folder told; all relative to the stack's root."""

    flat: bool = False
    """No `src/`: packages and modules stand at the root."""
    source: tuple[str, ...] = ()
    """Source roots."""
    tests: tuple[str, ...] = ()
    """Globs of tests beyond the usual ones: the runner's `testpaths` and `python_files`."""
    environments: tuple[str, ...] = ()
    """Folders that hold an interpreter's environment."""
    generated: tuple[str, ...] = ()
    """Globs of source that git ignores by name, and that a build writes: `_version.py`."""


@value
class Classes:
    """Ordered rules; the first whose regex matches the whole path decides."""

    rules: tuple[tuple[PathClass, str], ...]

    def to_json(self) -> list[list[str]]:
        return [[cls.value, regex] for cls, regex in self.rules]

    @classmethod
    def from_json(cls, data: Any) -> Classes:
        try:
            classes = cls(tuple((PathClass(name), _text(regex)) for name, regex in data))
            _compiled(classes.rules, 0)
        except (TypeError, ValueError, re.error):
            classes = cls(())
        if not classes.rules:
            raise ConfigError("the recorded path classes cannot be read", hint="run `tdd log verify`")
        return classes


def classify(path: str, classes: Classes, *, fold_case: bool = False) -> PathClass:
    """Classify a canonical path, relative to the worktree's root.

    Where the file system folds names, a path is as protected as the most protected name it may stand for.
    """
    if not fold_case:
        return _first(path, _compiled(classes.rules, 0))
    patterns = _compiled(classes.rules, re.IGNORECASE)
    return min((_first(name, patterns) for name in _spellings(path)), key=_ORDER.index)


def class_of_folder(folder: str, keep: Callable[[str], PathClass]) -> PathClass:
    """The most protected class that a file of some language would have in it."""
    names = [folder, f"{folder}/x", *(f"{folder}/x{end}" for ends in SUFFIXES.values() for end in ends)]
    return min(map(keep, names), key=_ORDER.index)


def is_transient(path: str, classes: Classes) -> bool:
    """Whether a rule says that nobody protects it: caches, environments, what `generated` names."""
    rules = _compiled(classes.rules, 0)
    return _first(path, rules) is PathClass.OTHER and any(
        cls is PathClass.OTHER and pattern.fullmatch(path) for cls, pattern in rules
    )


def with_frozen(classes: Classes, paths: Sequence[str]) -> Classes:
    """The same, and files of no other class are test data where they are among `paths`."""
    if not paths:
        return classes
    return Classes((*classes.rules, (PathClass.TEST, _regex(paths))))


def _regex(paths: Sequence[str]) -> str:
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    parts: list[str] = []
    for folder, inside in folders.items():
        whole = folder and len(paths) > FEW and len(inside) > 1
        parts += [rf"{re.escape(folder)}/[^/]*\Z"] if whole else [rf"{re.escape(path)}\Z" for path in inside]
    return "|".join(parts)


def _first(path: str, patterns: tuple[tuple[PathClass, re.Pattern[str]], ...]) -> PathClass:
    return next((cls for cls, pattern in patterns if pattern.fullmatch(path)), PathClass.OTHER)


@lru_cache(maxsize=8)
def _compiled(
    rules: tuple[tuple[PathClass, str], ...], flags: int
) -> tuple[tuple[PathClass, re.Pattern[str]], ...]:
    return tuple((cls, re.compile(regex, flags | re.DOTALL)) for cls, regex in rules)


def _spellings(path: str) -> frozenset[str]:
    import unicodedata

    forms = {path, unicodedata.normalize("NFC", path), unicodedata.normalize("NFD", path)}
    return frozenset(forms | {unicodedata.normalize("NFC", path.casefold())})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
