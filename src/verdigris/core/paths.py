"""Path classes: switch, test, spec, source, other; globs; and how a path is classified."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.core.languages import known_suffixes
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack


class PathClass(StrEnum):
    SWITCH = "switch"
    TEST = "test"
    SPEC = "spec"
    SOURCE = "source"
    OTHER = "other"


_BELOW = r"(?:/.*)?"
_DEEP = r"(?:.*/)?"


def compile_glob(pattern: str) -> str:
    """Match the named file, or the named folder with everything below it; paths are relative, with `/`."""
    _refuse_foreign(pattern)
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise _broken_glob(pattern, "`..` leaves the folder", "write the path from the root down")
    if all(part == "**" for part in parts):
        return r"(?s:.*)\Z"
    while parts[-1] == "**":
        parts.pop()
    body = "".join(_DEEP if part == "**" else _part(pattern, part) + "/" for part in parts)
    return rf"(?s:{body[:-1]}{_BELOW})\Z"


def _refuse_foreign(pattern: str) -> None:
    """Refuse what other tools would read as syntax: taken literally it would silently protect nothing."""
    if not pattern.strip():
        raise _broken_glob(pattern, "it is empty", "remove it, or write `.` for everything")
    if pattern.startswith("/"):
        raise _broken_glob(pattern, "it is absolute", "write it relative, without the first `/`")
    if pattern.startswith("!"):
        raise _broken_glob(pattern, "negation is not supported", "name what is meant instead")
    if "\\" in pattern or "\0" in pattern:
        raise _broken_glob(
            pattern, "it holds a backslash or NUL", "use `/` between folders, `[*]` for a literal `*`"
        )
    if re.search(r"\{[^{}]*,[^{}]*\}", pattern):
        raise _broken_glob(pattern, "`{a,b}` is not supported", "write one glob for each alternative")


def _part(pattern: str, part: str) -> str:
    if "**" in part:
        raise _broken_glob(
            pattern, "`**` must stand alone between slashes", "write `**/*.py` rather than `**.py`"
        )
    out: list[str] = []
    at = 0
    while at < len(part):
        match part[at]:
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case "[":
                end = part.find("]", at + 3 if part[at + 1 : at + 2] in {"!", "^"} else at + 2)
                if end < 0:
                    raise _broken_glob(
                        pattern, "`[` is never closed", "close it, or write `[[]` for a literal `[`"
                    )
                out.append(_charset(pattern, part[at + 1 : end]))
                at = end
            case char:
                out.append(re.escape(char))
        at += 1
    # A lone `*` must not match the empty name.
    return "".join(out) if part.strip("*") else "[^/]+"


def _charset(pattern: str, inner: str) -> str:
    negated = inner[0] in "!^"
    items = re.findall(r".-.|.", inner[negated:], re.DOTALL)
    for item in items:
        if len(item) > 1 and item[0] > item[2]:
            raise _broken_glob(pattern, f"the range `{item}` is empty", "write ranges upwards: `[a-z]`")
    ends = ("-".join(map(re.escape, (item[0], item[2]) if len(item) > 1 else item)) for item in items)
    return f"(?!/)[{'^' if negated else ''}{''.join(ends)}]"


def _broken_glob(pattern: str, why: str, hint: str) -> ConfigError:
    return ConfigError(f"broken glob {pattern!r}: {why}", hint=hint)


_ORDER = tuple(PathClass)
FEW = 40
"""Frozen files that are named one by one; of more, the folders are."""
Where = tuple[str, str]
"""Root and language, by which a stack is identified."""


def where(stack: Stack) -> Where:
    return stack.root, stack.language


@value
class Detected:
    """The layout found in a stack's folder; all paths are relative to the stack's root."""

    flat: bool = False
    """No `src/`: packages and modules stand at the root."""
    source: tuple[str, ...] = ()
    """Source roots."""
    tests: tuple[str, ...] = ()
    """Globs of tests beyond the usual ones: the runner's `testpaths`, `python_files`, `include` …"""
    uncollected: tuple[str, ...] = ()
    """Packages in which the runner looks for no tests: files with the names of tests are source there."""
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
            _compile_rules(classes.rules, 0)
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
        return _first(path, _compile_rules(classes.rules, 0))
    patterns = _compile_rules(classes.rules, re.IGNORECASE)
    return min((_first(name, patterns) for name in _spellings(path)), key=_ORDER.index)


def class_of_folder(folder: str, keep: Callable[[str], PathClass]) -> PathClass:
    """The most protected class that a file of some language would have in it."""
    names = [folder, f"{folder}/x", *(f"{folder}/x{end}" for end in known_suffixes())]
    return min(map(keep, names), key=_ORDER.index)


def is_transient(path: str, classes: Classes) -> bool:
    """Whether a rule names it as unprotected: caches, environments, `generated` globs."""
    rules = _compile_rules(classes.rules, 0)
    return _first(path, rules) is PathClass.OTHER and any(
        cls is PathClass.OTHER and pattern.fullmatch(path) for cls, pattern in rules
    )


def with_frozen(classes: Classes, paths: Sequence[str]) -> Classes:
    """The same classes, except that those of `paths` that have no other class are test data."""
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
def _compile_rules(
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


NODE_MODULES = "node_modules"
ENVIRONMENTS = (".venv", "venv", "env", ".env")
"""Usual names of a Python environment."""
ENVIRONMENT_PARTS = ("bin", "include", "lib", "lib64", "share", "etc", "man", "conda-meta", "pyvenv.cfg")
"""Entries that a tool puts into an environment; other files there are the user's own."""
FILLED = (".tox", ".nox", ".eggs")
"""Folders that hold nothing but environments and packages of Python."""
CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
"""No language keeps source here: a source file in one was put there by hand."""


FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"


@value
class Entry:
    path: str
    """Relative to the worktree's root, with `/`; bytes that are not UTF-8 as surrogates."""
    mode: str
    """FILE, EXECUTABLE or LINK."""
    blob: str


@value
class Change:
    path: str
    old_mode: str | None
    old: str | None
    """The blob before; None when the path was absent."""
    new_mode: str | None
    new: str | None

    @property
    def added(self) -> bool:
        return self.old is None

    @property
    def deleted(self) -> bool:
        return self.new is None

    @property
    def after(self) -> Entry | None:
        return (
            None if self.new_mode is None or self.new is None else Entry(self.path, self.new_mode, self.new)
        )


def from_elsewhere(report: TestReport) -> tuple[str, ...]:
    """Reasons to trust no result: code other than the candidate's was tested."""
    advice = "install the project as editable, or remove that copy"
    return tuple(f"loaded {each}: {advice}" for each in report.outside)


def above(path: str) -> Iterable[str]:
    """The folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path
