"""Which files and names of tests a Node tool is told, so that exactly the asked ones count."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.node.nodeids import split_node_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.runners.protocol import Request

NOTHING = "(?!)"
"""A pattern that no name matches: every test is collected and none runs."""
_ARGUMENT = 100_000
"""Bytes of one pattern; Linux takes 128 KiB for one argument."""
_PLAIN = re.compile(r"[^A-Za-z0-9_]")
_BETWEEN = " (?:> )?"
"""Between the names of a test: vitest 5 joins them with ` > `, the others with a space."""


@value
class Batch:
    """One call: files and folders relative to the worktree, and the pattern of names; none means all."""

    paths: tuple[str, ...]
    pattern: str | None = None


def by_path(names: Sequence[str]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Per path the tests that are asked of it; none where all of it is."""
    found: dict[str, list[tuple[str, ...]]] = {}
    whole: set[str] = set()
    for name in names:
        test = split_node_id(name)
        path = posixpath.normpath(test.path or ".")
        asked = found.setdefault(path, [])
        if test.names:
            asked.append(test.names)
        else:
            whole.add(path)
    return {path: () if path in whole else tuple(dict.fromkeys(asked)) for path, asked in found.items()}


def is_chosen(asked: Mapping[str, tuple[tuple[str, ...], ...]], path: str, names: tuple[str, ...]) -> bool:
    """`asked` as from `by_path`; nothing asked means all."""
    if not asked:
        return True
    parts = path.split("/")
    folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
    if "." in asked or any(folder in asked for folder in folders):
        return True
    return path in asked and (not asked[path] or names in asked[path])


def batches(request: Request) -> tuple[Batch, ...]:
    """One where that can be: names of tests would hide the rest of the files that are asked whole."""
    asked = by_path(request.names)
    if request.collect_only:
        return (Batch(tuple(asked), NOTHING),)
    whole = tuple(path for path, names in asked.items() if not names)
    some = {path: names for path, names in asked.items() if names}
    return (*([Batch(whole)] if whole or not some else ()), *_named(some))


def _named(asked: Mapping[str, tuple[tuple[str, ...], ...]]) -> Iterator[Batch]:
    paths: dict[str, None] = {}
    patterns: dict[str, None] = {}
    size = 0
    for path, names in asked.items():
        for each in names:
            pattern = name_pattern(each)
            if patterns and size + len(pattern) > _ARGUMENT:
                yield Batch(tuple(paths), _any_of(patterns))
                paths, patterns, size = {}, {}, 0
            size += 0 if pattern in patterns else len(pattern) + 1
            paths[path] = patterns[pattern] = None
    if patterns:
        yield Batch(tuple(paths), _any_of(patterns))


def _any_of(patterns: Iterable[str]) -> str:
    return f"^(?:{'|'.join(patterns)})$"


def name_pattern(names: Sequence[str]) -> str:
    """Matches the full name of one test, for a JavaScript RegExp without flags."""
    between = _BETWEEN if all(names) else f"(?:{_BETWEEN})?"
    return between.join(escaped(name) for name in names)


def escaped(text: str) -> str:
    """ASCII only: an argument then means the same in every locale."""
    return _PLAIN.sub(lambda found: _units(found[0]), text)


def _units(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def stack_folder(request: Request) -> str:
    return posixpath.normpath(posixpath.join(request.worktree, request.stack_root))


def full_path(request: Request, path: str) -> str:
    return posixpath.normpath(posixpath.join(request.worktree, path))
