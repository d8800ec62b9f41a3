"""Which class a path has: the compiled rules of one configuration, and their application."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.core.globs import compile_glob
from verdigris.core.languages import SUFFIXES, suffixes_of
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdigris.core.settings import Settings, Stack
    from verdigris.core.usual.forms import Usual

_ORDER = tuple(PathClass)
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


def compile_classes(settings: Settings, detected: Mapping[Where, Detected]) -> Classes:
    # Not above: what only classifies, as a gate does, needs none of it.
    from verdigris.core.usual import SWITCHES, TRANSIENT, usual

    transient = [TRANSIENT]
    tests = [usual(stack).runner for stack in settings.stacks]
    tests += map(compile_glob, settings.oracle_include)
    source = []
    for stack in settings.stacks:
        found, prefix, places = (
            detected.get(where(stack), Detected(flat=True)),
            _prefix(stack.root),
            usual(stack),
        )
        transient += [prefix + regex for regex in (*map(compile_glob, found.environments), places.transient)]
        transient += [prefix + compile_glob(glob) for glob in stack.generated]
        tests += [prefix + regex for regex in (places.tests, *map(compile_glob, (*stack.test, *found.tests)))]
        source += [_not_inner(stack, settings) + prefix + regex for regex in _source(stack, found, places)]
    rules = (
        (PathClass.SWITCH, SWITCHES),
        (PathClass.OTHER, _any(transient)),
        (PathClass.TEST, _any(tests)),
        (PathClass.SPEC, _any(map(compile_glob, settings.spec))),
        (PathClass.SOURCE, _any(source)),
    )
    return Classes(tuple((cls, regex) for cls, regex in rules if regex))


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


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
